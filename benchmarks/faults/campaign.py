"""
`python -m benchmarks.faults.campaign`: run the faults, several at once, and write docs/faults.md.

A run that is done has a line in docs/faults.jsonl and is not repeated for the same seed and code. What is
less than the whole campaign has its lines in the state's folder, unless `--results` names another file.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import wait
from pathlib import Path
from typing import Annotated

import typer

from benchmarks import pages
from benchmarks.faults import page, plan, results
from benchmarks.faults.plan import Entry
from benchmarks.faults.results import Result
from benchmarks.faults.worker import FaultWorker, Find, PlannedRun, RunSetup, workers
from conf.progress import Progress
from conf.settings import PROJECT
from conf.signals import interrupted_once
from lab import cluster
from lab.errors import LabError

PAGE, RESULTS = (PROJECT / "docs" / name for name in ("faults.md", "faults.jsonl"))
EXIT_WRONG, EXIT_OPTIONS, EXIT_STOPPED = 1, 2, 130
AT_ONCE = 2
SHOWN_EVERY_S = 60.0


def main(  # noqa: PLR0913 (the options of a program)
    *,
    only: Annotated[list[str] | None, typer.Option(help="Run these faults alone; repeatable.")] = None,
    times: Annotated[int, typer.Option(help="Runs of each fault, instead of the planned number.")] = 0,
    seed: Annotated[int, typer.Option(help="Another seed is another campaign.")] = 4,
    short: Annotated[bool, typer.Option("--short", help="A few kills; writes no page.")] = False,
    list_only: Annotated[bool, typer.Option("--list", help="List the faults, and run none.")] = False,
    at_once: Annotated[
        int, typer.Option(min=1, help="Runs that share the machine; one for each core.")
    ] = AT_ONCE,
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

    A campaign may take several sessions, on several machines: results in docs/faults.jsonl of the same seed
    and code add up. Once all are there, the whole campaign only writes the page.

    Exit code 1 when anything was wrong, 2 for wrong options, 130 when stopped.

    Example: `make faults`

    Example: `make faults ARGS="--only random-kills --results docs/faults.jsonl"`
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
    runs = [run for entry in entries for run in _runs(entry, times or entry.times, seed)]
    is_whole = not (short or only or times)
    file = results_file or (RESULTS if is_whole else state / "results.jsonl")
    found = _all(runs, state.resolve(), file.resolve(), progress, at_once=at_once)
    if is_whole:
        counted = {result.key for result in found}
        before = [result for result in results.read(file) if result.key not in counted]
        pages.write(PAGE, {page.NEMESIS: ""}, head=page.page(found, seed, before))
    print(results.table(found))
    raise typer.Exit(EXIT_WRONG if any(result.wrong for result in found) else 0)


def _runs(entry: Entry, times: int, seed: int) -> list[PlannedRun]:
    code = code_of(entry)
    return [PlannedRun(entry.name, number, seed, code) for number in range(times)]


def code_of(entry: Entry) -> str:
    """Return the digest of all files that a run of a fault depends on."""
    return results.code_version(*plan.EVERY_RUN, *entry.files)


def _all(  # noqa: PLR0913 (what to run, where, and how)
    runs: list[PlannedRun],
    state: Path,
    file: Path,
    progress: Progress,
    *,
    at_once: int,
    find: Find = plan.entry_of,
) -> list[Result]:
    """Do what is not done yet; return the results of all. A run that was wrong once stays wrong."""
    before = results.read(file)
    done = {result.key: result for result in sorted(before, key=lambda result: bool(result.wrong))}
    to_do = [run for run in runs if run.key not in done]
    at_once = min(at_once, len(to_do))
    pace = _Pace(before, find)
    progress.say(f"{len(runs)} runs, {len(runs) - len(to_do)} done before; {pace.left(to_do, [], at_once)}")

    def keep(result: Result, left: str) -> None:
        if code_of(find(result.fault)) != result.code:
            progress.say(
                f"{result.fault}: its code was changed meanwhile; the run does not count, begin again"
            )
            raise typer.Exit(EXIT_WRONG)
        results.add(file, result)
        done[result.key] = result
        n = sum(run.key in done for run in runs)
        progress.say(f"{n} of {len(runs)}: {_summary(result)}; {left}")
        for finding in result.wrong:
            progress.say(f"  {finding}")

    try:
        if to_do:
            with broker(state) as servers, workers(at_once, RunSetup(find, state, servers, at_once)) as crew:
                _do(to_do, crew, pace, keep, progress.say)
    except KeyboardInterrupt:
        progress.say("stopped; the runs that were under way begin again next time")
        raise typer.Exit(EXIT_STOPPED) from None
    except LabError as error:
        progress.say(str(error))
        raise typer.Exit(EXIT_WRONG) from error
    return [done[run.key] for run in runs]


def _do(
    to_do: Sequence[PlannedRun],
    crew: Sequence[FaultWorker],
    pace: "_Pace",
    keep: Callable[[Result, str], None],
    say: Callable[[str], None],
) -> None:
    """Let the workers do the runs in order; `keep` gets each result, and how long the others take."""
    waiting = deque(to_do)
    while True:
        for worker in crew:
            if waiting and worker.run is None:
                worker.begin(waiting.popleft())
        busy = [worker for worker in crew if worker.run]
        if not busy:
            return
        ready = wait([worker.pipe for worker in busy], SHOWN_EVERY_S)
        for worker in busy:
            if worker.pipe in ready:
                result = worker.result()
                pace.note(result)
                keep(result, pace.left(waiting, crew, len(crew)))
        if not ready:
            now = ", ".join(f"{worker.run.fault} for {worker.seconds:.0f} s" for worker in busy if worker.run)
            say(f"  {now}; {pace.left(waiting, crew, len(crew))}")


class _Pace:
    """Estimates what runs take: from former runs of the same fault, and from the pace of the runs since."""

    def __init__(self, former: Iterable[Result], find: Find) -> None:
        self._took, self._find = defaultdict[str, list[float]](list), find
        for result in former:
            self._took[result.fault].append(result.seconds)
        self._seconds = self._expected_s = 0.0

    def note(self, result: Result) -> None:
        """Note how long a run took."""
        self._seconds += result.seconds
        self._expected_s += self._former_s(result.fault)

    def left(self, waiting: Iterable[PlannedRun], crew: Iterable[FaultWorker], at_once: int) -> str:
        """Return how long the runs take that wait, and the rest of those that are under way."""
        rests = [self._of(run) for run in waiting]
        rests += [max(0.0, self._of(worker.run) - worker.seconds) for worker in crew if worker.run]
        return f"about {sum(rests) / max(1, at_once) / 60:.0f} minutes left"

    def _of(self, run: PlannedRun) -> float:
        pace = self._seconds / self._expected_s if self._expected_s else 1.0
        return pace * self._former_s(run.fault)

    def _former_s(self, fault: str) -> float:
        known = self._took.get(fault)
        return sum(known) / len(known) if known else self._find(fault).expected_s


def _summary(result: Result) -> str:
    state = "all well" if not result.wrong else f"{len(result.wrong)} wrong"
    return f"{result.fault} {result.number}, n = {result.n}, {state}, {result.seconds:.0f} s"


@contextmanager
def broker(state: Path) -> Iterator[str]:
    """Run a telemetry broker for the campaign, next to the smallest lab; a signal stops it once."""
    quiet: list[str] = []
    with interrupted_once():
        lab = cluster.start(
            state / "lab", brokers=1, request_log=False, client_log=False, fresh=True, say=quiet.append
        )
        try:
            yield lab.telemetry_bootstrap_servers
        finally:
            cluster.stop(lab.state, say=quiet.append)


if __name__ == "__main__":
    typer.run(main)
