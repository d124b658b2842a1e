"""A process that does one run of the campaign after the other: several of them use all cores."""

import os
import shutil
import signal
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random

from benchmarks.faults import results
from benchmarks.faults.plan import Entry
from benchmarks.faults.results import Result
from benchmarks.faults.steady import KillOutcome
from conf.signals import interrupted_once

Find = Callable[[str], Entry]
"""Finds a fault by its name; a function of a module, because only its name goes to the process."""

ENDS_WITHIN_S = 180.0
"""The longest clean-up after a signal: a run waits for its threads and kills its jobs."""


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """One run, done or not."""

    fault: str
    number: int
    seed: int
    code: str

    @property
    def key(self) -> tuple[str, int, int, str]:
        """Return the key of its result."""
        return self.fault, self.number, self.seed, self.code

    @property
    def dice(self) -> Random:
        """Return the same dice for the same fault, number and seed."""
        return Random(f"{self.seed}/{self.fault}/{self.number}")


@dataclass(frozen=True, slots=True)
class RunSetup:
    """What the runs of a campaign share."""

    find: Find
    state: Path
    bootstrap_servers: str
    at_once: int


class FaultWorker:
    """A worker process; `pipe` can be read when its run is over."""

    def __init__(self, setup: RunSetup) -> None:
        """Start the process; it waits for a run."""
        self.run: PlannedRun | None = None
        self._setup, self._began_at, self._began, self._commit = setup, "", 0.0, ""
        self._start()

    def _start(self) -> None:
        context = get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self._process = context.Process(target=_work, args=(theirs, self._setup))
        with _ctrl_c_ignored():
            self._process.start()
        theirs.close()

    @property
    def seconds(self) -> float:
        """Return how long its run has taken until now."""
        return round(time.monotonic() - self._began, 1)

    def begin(self, run: PlannedRun) -> None:
        """Begin a run."""
        self.run, self._commit = run, results.commit()
        self._began_at, self._began = datetime.now(UTC).isoformat(timespec="seconds"), time.monotonic()
        self.pipe.send(run)

    def result(self) -> Result:
        """Return the result of the run that is over; after a process that died, start another one."""
        assert self.run is not None
        try:
            outcome = self.pipe.recv()
        except EOFError:
            self._process.join()
            outcome = KillOutcome(
                wrong=[f"the process of the run died with exit code {self._process.exitcode}"]
            )
            self._start()
        run, self.run = self.run, None
        return Result(
            fault=run.fault,
            group=self._setup.find(run.fault).group,
            number=run.number,
            seed=run.seed,
            code=run.code,
            commit=self._commit,
            machine=results.machine(),
            began_at=self._began_at,
            seconds=self.seconds,
            at_once=self._setup.at_once,
            n=len(outcome.hits) or 1,
            wrong=outcome.wrong,
            hits=outcome.hits,
            records=outcome.records,
            looks=outcome.looks,
        )

    def stop(self) -> None:
        """Ask the process to end, in the middle of a run too; `join` waits for it."""
        self._process.terminate()

    def join(self) -> None:
        """Wait until the process has ended, with everything that it started."""
        self._process.join(ENDS_WITHIN_S)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()


@contextmanager
def workers(n: int, setup: RunSetup) -> Iterator[list[FaultWorker]]:
    """Yield `n` workers; they are stopped at the end, and what they started too."""
    started = list[FaultWorker]()
    try:
        for _ in range(n):
            started.append(FaultWorker(setup))
        yield started
    finally:
        for worker in started:
            worker.stop()
        for worker in started:
            worker.join()


def outcome_of(run: PlannedRun, setup: RunSetup) -> KillOutcome:
    """Do a run; if anything was wrong its folder stays."""
    folder = setup.state / "runs" / f"{run.fault}-{run.seed}-{run.number}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        outcome = setup.find(run.fault).run(setup.bootstrap_servers, folder, run.dice)
    except Exception:  # noqa: BLE001 (one fault that breaks must not end hours of others; it counts as wrong)
        outcome = KillOutcome(wrong=[f"the run itself failed: {traceback.format_exc()[-600:]}"])
    if not outcome.wrong:
        shutil.rmtree(folder)
    return outcome


def _work(pipe: Connection, setup: RunSetup) -> None:
    """Do runs until SIGTERM, or until the campaign is gone; Ctrl-C reaches only the campaign."""
    os.setsid()
    try:
        with interrupted_once():
            while True:
                pipe.send(outcome_of(pipe.recv(), setup))
    except (EOFError, BrokenPipeError, KeyboardInterrupt):
        return


@contextmanager
def _ctrl_c_ignored() -> Iterator[None]:
    """Start a process that ignores Ctrl-C until it has a session of its own."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
