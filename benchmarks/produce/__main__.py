"""`python -m benchmarks.produce`: record the arms, compare with the brokers' own log, write docs/truth.md."""

from pathlib import Path
from typing import Annotated

import typer

from benchmarks import pages
from benchmarks.produce.arms import ARMS, record
from benchmarks.produce.judge import is_met, judge
from benchmarks.truth.record import made_on
from conf.settings import PROJECT
from conf.signals import interrupt_on_signals

PAGE = PROJECT / "docs" / "truth.md"
NAMES = tuple(arm.name for arm in ARMS)


def main(
    state: Annotated[Path, typer.Option(help="Recordings; arms done before are kept.")] = PROJECT
    / ".state"
    / "verify-produce",
    *,
    only: Annotated[list[str] | None, typer.Option(help=f"Record only these: {', '.join(NAMES)}.")] = None,
) -> None:
    """
    Compare who released each PRODUCE request with what the leaders log at DEBUG: about 20 minutes.

    The exit code is 0 if every target is met, else 1. The page is written if all arms are recorded.

    Example: `python -m benchmarks.produce`

    Example: `python -m benchmarks.produce --only slow-link`
    """
    interrupt_on_signals()  # SIGTERM must not leave a lab behind
    if unknown := set(only or ()) - set(NAMES):
        message = f"{', '.join(sorted(unknown))}: no such arm. The arms are {', '.join(NAMES)}."
        raise typer.BadParameter(message)
    wanted = [arm for arm in ARMS if not only or arm.name in only]
    results = []
    for arm in wanted:
        record(arm, state / arm.name)
        for whole_ms in (False, True):
            judged = judge(arm, state / arm.name, whole_ms=whole_ms)
            results.append((arm, judged, whole_ms, is_met(arm, judged, whole_ms=whole_ms)))
            print(f"  {'whole ms' if whole_ms else 'fine clock'}: {judged}", flush=True)
    if len(wanted) == len(ARMS):
        text = pages.render("truth/produce", results=results)
        pages.write(PAGE, {"produce": f"{text}\n{made_on(state)}\n"})
        print(f"written: {PAGE}")
    raise typer.Exit(0 if all(met for *_, met in results) else 1)


if __name__ == "__main__":
    typer.run(main)
