"""
`python -m benchmarks.faults.campaign`: run the faults, one after the other, and write docs/faults.md.

A run that is done has a line in docs/faults.jsonl and is not repeated for the same seed and code. What is
less than the whole campaign has its lines in the state's folder.
"""

import random
import shutil
import time
import traceback
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from benchmarks import pages
from benchmarks.faults import page, plan, results
from benchmarks.faults.plan import Entry
from benchmarks.faults.results import Result
from benchmarks.faults.steady import KillOutcome
from conf.progress import Progress
from conf.settings import PROJECT
from engine.process.signals import interrupt_on_signals
from lab import cluster
from lab.errors import LabError

PAGE, RESULTS = (PROJECT / "docs" / name for name in ("faults.md", "faults.jsonl"))
EXIT_WRONG, EXIT_OPTIONS, EXIT_STOPPED = 1, 2, 130


@dataclass(frozen=True, slots=True)
class Planned:
    """One run to do, or one that was done."""

    entry: Entry
    number: int
    seed: int
    code: str

    @property
    def key(self) -> tuple[str, int, int, str]:
        """What its result is found by."""
        return self.entry.name, self.number, self.seed, self.code

    @property
    def dice(self) -> random.Random:
        """The same throws for the same fault, number and seed."""
        return random.Random(f"{self.seed}/{self.entry.name}/{self.number}")


def main(  # noqa: PLR0913 (the options of a program)
    *,
    only: Annotated[list[str] | None, typer.Option(help="Run these faults alone.")] = None,
    times: Annotated[int, typer.Option(help="Runs of each fault, instead of the planned number.")] = 0,
    seed: Annotated[int, typer.Option(help="Another seed is another campaign.")] = 4,
    short: Annotated[bool, typer.Option("--short", help="A few kills; writes no page.")] = False,
    list_only: Annotated[bool, typer.Option("--list", help="List the faults, and run none.")] = False,
    state: Annotated[Path, typer.Option(help="The lab, and what is left of a run that went wrong.")] = PROJECT
    / ".state"
    / "faults",
    results_file: Annotated[
        Path | None,
        typer.Option(
            "--results", help="Where results are kept: docs/faults.jsonl for the whole, else in the state."
        ),
    ] = None,
) -> None:
    """
    Run the campaign of faults; what is done already is not repeated.

    Exit code 1 when anything was wrong, 2 for wrong options, 130 when stopped.

    Example: `make faults`

    Example: `make faults ARGS="--only random-kills --times 1 --seed 7"`
    """
    progress = Progress()
    entries = plan.short() if short else plan.whole()
    unknown = sorted(set(only or ()) - {entry.name for entry in entries})
    if unknown or times < 0:
        progress.say(
            f"no such fault: {', '.join(unknown)}; `--list` names them" if unknown else "--times < 0"
        )
        raise typer.Exit(EXIT_OPTIONS)
    entries = [entry for entry in entries if not only or entry.name in only]
    if list_only:
        for entry in entries:
            print(f"{entry.name:24} {times or entry.times:3} x {entry.n:2}   {entry.group}")
        return
    runs = [planned for entry in entries for planned in _runs(entry, times or entry.times, seed)]
    is_whole = not (short or only or times)
    file = results_file or (RESULTS if is_whole else state / "results.jsonl")
    found = _all(runs, state.resolve(), file.resolve(), progress)
    if is_whole:
        counted = {result.key for result in found}
        before = [result for result in results.read(file) if result.key not in counted]
        pages.write(PAGE, {page.NEMESIS: ""}, head=page.page(found, seed, before))
    print(results.table(found))
    raise typer.Exit(EXIT_WRONG if any(result.wrong for result in found) else 0)


def _runs(entry: Entry, times: int, seed: int) -> list[Planned]:
    code = results.code_version(*entry.files)
    return [Planned(entry, number, seed, code) for number in range(times)]


def _all(runs: list[Planned], state: Path, file: Path, progress: Progress) -> list[Result]:
    """Do what is not done yet; give the results of all."""
    done = {result.key: result for result in results.read(file)}
    to_do = [planned for planned in runs if planned.key not in done]
    progress.say(f"{len(runs)} runs, {len(runs) - len(to_do)} done before; about {_left(to_do, done)} to go")
    try:
        if to_do:
            with broker(state) as bootstrap_servers:
                for nth, planned in enumerate(to_do):
                    result = _one(planned, state, bootstrap_servers)
                    results.add(file, result)
                    done[result.key] = result
                    _tell(result, _left(to_do[nth + 1 :], done), progress)
    except KeyboardInterrupt:
        progress.say("stopped; the run that was under way begins again next time")
        raise typer.Exit(EXIT_STOPPED) from None
    except LabError as error:
        progress.say(str(error))
        raise typer.Exit(EXIT_WRONG) from error
    return [done[planned.key] for planned in runs]


def _one(planned: Planned, state: Path, bootstrap_servers: str) -> Result:
    entry = planned.entry
    folder = state / "runs" / f"{entry.name}-{planned.seed}-{planned.number}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    began_at, began = datetime.now(UTC).isoformat(timespec="seconds"), time.monotonic()
    try:
        outcome = entry.run(bootstrap_servers, folder, planned.dice)
    except Exception:  # noqa: BLE001 (one fault that breaks must not end hours of others; it counts as wrong)
        outcome = KillOutcome(wrong=[f"the run itself failed: {traceback.format_exc()[-600:]}"])
    if not outcome.wrong:
        shutil.rmtree(folder)
    return Result(
        fault=entry.name,
        group=entry.group,
        number=planned.number,
        seed=planned.seed,
        code=planned.code,
        commit=results.commit(),
        began_at=began_at,
        seconds=round(time.monotonic() - began, 1),
        n=len(outcome.hits) or 1,
        wrong=outcome.wrong,
        hits=outcome.hits,
        records=outcome.records,
        looks=outcome.looks,
    )


@contextmanager
def broker(state: Path) -> Iterator[str]:
    """Run a telemetry broker for the campaign, beside the smallest lab there is."""
    quiet: list[str] = []
    lab = cluster.start(
        state / "lab", brokers=1, request_log=False, client_log=False, fresh=True, say=quiet.append
    )
    interrupt_on_signals()
    try:
        yield lab.telemetry_bootstrap_servers
    finally:
        cluster.stop(lab.state, say=quiet.append)


def _left(to_do: list[Planned], done: dict[tuple[str, int, int, str], Result]) -> str:
    """Estimate what the runs to come take, from those done on this machine."""
    took = defaultdict[str, list[float]](list)
    for result in done.values():
        took[result.fault].append(result.seconds)
    seconds = sum(
        sum(known) / len(known) if (known := took[planned.entry.name]) else planned.entry.expected_s
        for planned in to_do
    )
    return f"{seconds / 60:.0f} minutes"


def _tell(result: Result, left: str, progress: Progress) -> None:
    state = "all well" if not result.wrong else f"{len(result.wrong)} wrong"
    progress.say(
        f"{result.fault} {result.number}: {result.n} done, {state}, {result.seconds:.0f} s; {left} left"
    )
    for finding in result.wrong:
        progress.say(f"  {finding}")


if __name__ == "__main__":
    typer.run(main)
