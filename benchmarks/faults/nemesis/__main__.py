"""
`python -m benchmarks.faults.nemesis`: overlapping random faults, and every oracle after each round.

It needs root, which mounts a small disk in memory, and a C compiler, for the libraries that cut the power,
step clocks and slow the disk down.
"""

import math
import shutil
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from benchmarks import pages
from benchmarks.faults.campaign import EXIT_OPTIONS, EXIT_STOPPED, EXIT_WRONG, PAGE
from benchmarks.faults.edge.three_brokers import ThreeBrokers
from benchmarks.faults.nemesis import results
from benchmarks.faults.nemesis.round import RoundOutcome, play
from benchmarks.faults.page import NEMESIS
from conf.exit_codes import WrongUseError
from conf.instants import seconds_of
from conf.progress import Progress
from conf.settings import PROJECT
from engine.process.signals import interrupt_on_signals

RESULTS = PROJECT / "docs" / "nemesis.jsonl"


def main(
    *,
    for_: Annotated[
        str, typer.Option("--for", help="How long faults are injected; checks come on top.")
    ] = "2h",
    round_: Annotated[
        str, typer.Option("--round", help="How long until everything is healed and checked.")
    ] = "10m",
    seed: Annotated[
        int | None, typer.Option(help="Draws the schedule of the faults; default: another one each time.")
    ] = None,
    page: Annotated[bool, typer.Option(help="Add the run to docs/faults.md and docs/nemesis.jsonl.")] = True,
    state: Annotated[
        Path, typer.Option(help="Folder of the brokers, the log of faults, and what a failed round left.")
    ] = PROJECT / ".state" / "nemesis",
) -> None:
    """
    Overlap random faults of all kinds; after each round heal, let the jobs catch up, and ask every oracle.

    Kills, SIGSTOP, a full disk, lost brokers, clock steps, torn files, power cuts and a slow disk hit ingest,
    build-gold and maintain, which are started again whenever they end. Needs root and a C compiler.

    Exit code 1 if anything was lost, doubled or otherwise wrong, 2 for wrong options, 130 when stopped.

    Example: `make nemesis`

    Example: `make nemesis ARGS="--for 2m --seed 7 --no-page"`
    """
    progress = Progress()
    try:
        for_s = seconds_of("--for", for_, is_positive=True)
        round_s = seconds_of("--round", round_, is_positive=True)
    except WrongUseError as error:
        progress.say(str(error))
        raise typer.Exit(EXIT_OPTIONS) from error
    seed = time.time_ns() % 1_000_000 if seed is None else seed
    began_at, outcomes, wrong = datetime.now(UTC), list[RoundOutcome](), list[str]()
    progress.say(f"seed {seed}; faults are logged in {state / 'faults.jsonl'}")
    shutil.rmtree(state, ignore_errors=True)
    state.mkdir(parents=True)
    interrupt_on_signals()
    try:
        with progress:
            _rounds(state.resolve(), seed, for_s, round_s, outcomes, progress)
    except KeyboardInterrupt:
        progress.say("stopped; everything is healed")
        raise typer.Exit(EXIT_STOPPED) from None
    except Exception as error:  # noqa: BLE001 (what was found before must be reported)
        wrong.append(f"the nemesis itself failed: {error!r}")
    run = results.run_of(outcomes, wrong, seed=seed, began_at=began_at, for_s=for_s)
    if page:
        pages.write(PAGE, {NEMESIS: results.section(results.add(RESULTS, run))})
    excused = (f"explained {n} times: {end}" for end, n in run.excused.items())
    print("\n".join([run.summary, *excused, *(run.wrong or ["nothing lost, doubled or wrong"])]))
    raise typer.Exit(EXIT_WRONG if run.wrong else 0)


def _rounds(  # noqa: PLR0913, PLR0917 (the options of a run, and what it adds to)
    state: Path, seed: int, for_s: float, round_s: float, outcomes: list[RoundOutcome], progress: Progress
) -> None:
    """Start the cluster and play the rounds; add what each found to `outcomes`."""
    progress.show("starting three brokers")
    (state / "brokers").mkdir()
    cluster = ThreeBrokers(state / "brokers")
    try:
        for number in range(math.ceil(for_s / round_s)):
            length_s = min(round_s, for_s - number * round_s)
            outcome = play(cluster, state / f"round-{number}", f"{seed}/{number}", length_s, progress.show)
            outcomes.append(outcome)
            n = f"{len(outcome.wrong)} wrong" if outcome.wrong else "nothing wrong"
            said = f"round {seed}/{number}: {len(outcome.faults)} faults, {n}"
            progress.say("\n".join([said, *outcome.wrong]))
    finally:
        cluster.stop()


if __name__ == "__main__":
    typer.run(main)
