"""
Power cuts: ingest, gold and `maintain` work on a disk that loses everything that was not synced.

At random moments the jobs stand still, and what a cut would leave is copied and audited later. Then the power
is cut: the jobs must start again by themselves. At the end every row is compared with the ledger and with a
twin whose power was never cut.
"""

import random
import shutil
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path

from benchmarks.faults import oracles
from benchmarks.faults.job import GOLD, INGEST, LOOK_EVERY_S, MAINTAIN, Job, standing_still
from benchmarks.faults.kills import START_SHARE, Hit
from benchmarks.faults.lines import all_lines
from benchmarks.faults.power.audit import wrong_after_cut
from benchmarks.faults.power.disk import PowerDisk
from benchmarks.faults.site import CHECKPOINT_EVERY, JobsWarehouse, Site, checkpoint_often
from benchmarks.faults.steady import (
    ALL,
    BATCH,
    COMES_TO_WORK_S,
    LINES_PER_S,
    OFTEN_MERGED,
    KillOutcome,
    against_twin,
)
from engine.delta.log_state import log_state

RESTARTED, AUDITED = "power cut, restarted", "power cut, audited"
WORKING_S, COPIES = 5.0, 4
"""Seconds until the power is cut, at most, and copies of what a cut before would leave."""

GOLD_SHARE = 0.5
"""The share of cuts that hit gold too."""

OFTEN = f"""min_offsets_per_trigger = 50
max_trigger_delay_s = 1
[build_gold]
trigger = "1 second"
{OFTEN_MERGED}"""
"""Settings for many small commits, so that a cut hits many places within seconds."""

SECONDS = 300
"""Length of the telemetry that is published again and again: 12,000 lines."""

LEAST_LINES = 6_000
"""Lines that are published at least, so that each table has rows to compare."""


def power_cuts(n: int, bootstrap_servers: str, folder: Path, dice: random.Random) -> KillOutcome:
    """Cut the power `n` times; return the failures, and these cuts with the `COPIES` before each."""
    site, stop = Site(bootstrap_servers, folder), threading.Event()
    written = site.warehouse("cut", batch=BATCH, more=OFTEN)
    work = _PowerWork(site, written, PowerDisk(written.conf.parent, folder / "power"), dice)
    with ThreadPoolExecutor(1) as threads:
        lines = all_lines.steady(folder / "logs", dice, seconds=SECONDS)
        published = threads.submit(site.publish, lines, per_s=LINES_PER_S, until=stop)
        try:
            for _ in range(n):
                work.until_the_cut()
        finally:
            stop.set()
        published.result()
        # Early cuts leave few lines: perf summaries and ISR changes come after some thousands.
        site.publish(islice(lines, max(0, LEAST_LINES - len(site.ledger))))
    wrong = work.wrong + ([] if work.disk.lost else ["no cut took anything: the library recorded nothing"])
    code, output = written.ingest()
    wrong += [f"the last ingest ended with exit code {code}: {output[-500:]}"] if code else []
    wrong += against_twin(site, written)
    site.close()
    return KillOutcome(wrong, [asdict(hit) for hit in work.hits], len(site.ledger))


@dataclass(slots=True)
class _PowerWork:
    """One warehouse at work on a disk whose power is cut."""

    site: Site
    written: JobsWarehouse
    disk: PowerDisk
    dice: random.Random
    wrong: list[str] = field(default_factory=list)
    hits: list[Hit] = field(default_factory=list)
    jobs: list[Job] = field(default_factory=list)

    def until_the_cut(self) -> None:
        """Start the jobs, copy what cuts would leave, kill the jobs, audit the copies, cut the power."""
        self.jobs, copies = [], list[Path]()
        *earlier, last = sorted(self.dice.uniform(0.2, WORKING_S) for _ in range(COPIES + 1))
        try:
            self._start_all()
            began = time.monotonic()
            for moment in earlier:
                self._wait(lambda: False, began + moment - time.monotonic())
                copies.append(self.site.folder / f"left-{len(copies)}")
                with standing_still(self.jobs):
                    self.disk.leave(copies[-1], self.dice)
                self._note(AUDITED)
            self._wait(lambda: False, began + last - time.monotonic())
            self._note(RESTARTED)
            self.wrong += [
                f"{job.word} ended with exit code {job.code} after a power cut: {job.output.strip()[-500:]}"
                for job in self.jobs
                if job.code is not None and (job.word, job.code) != (MAINTAIN, 0)
            ]
        finally:
            for job in self.jobs:
                job.bury()
        for copy in copies:
            self.wrong += wrong_after_cut(self.written, copy, self.site.ledger)
            shutil.rmtree(copy)
        self.disk.cut(self.dice)
        checkpoint_whole_often(self.written.root)
        self.disk.seal()

    def _start_all(self) -> None:
        """Start the jobs; except for some starts, wait until the streams have finished a batch."""
        self._start(INGEST)
        # Gold cannot read a table of silver that only the ingest can repair.
        self._wait(lambda: self.jobs[0].has_jvm, COMES_TO_WORK_S)
        if self.dice.random() < GOLD_SHARE:
            self._start(GOLD, "--follow")
        if self.dice.random() < START_SHARE:
            return
        if not self._wait(lambda: all(job.batches for job in self.jobs), COMES_TO_WORK_S):
            self.wrong.append("a job finished no batch after a power cut")
        self._start(MAINTAIN)

    def _start(self, word: str, *options: str) -> None:
        self.jobs.append(Job(self.written.conf, word, *options, variables=self.disk.variables))

    def _note(self, how: str) -> None:
        ingest = self.jobs[0]
        after_s = round(time.monotonic() - ingest.started_at, 1)
        batches, is_in_batch = ingest.batches, ingest.is_in_batch
        hit = Hit(
            word=INGEST, how=how, victim="all", after_s=after_s, batches=batches, is_in_batch=is_in_batch
        )
        self.hits.append(hit)

    def _wait(self, is_done: Callable[[], bool], for_s: float) -> bool:
        """Wait for something, or until a stream ends."""
        deadline = time.monotonic() + for_s
        while not (done := is_done()) and time.monotonic() < deadline:
            if any(job.code is not None for job in self.jobs if job.word != MAINTAIN):
                return False
            time.sleep(LOOK_EVERY_S)
        return done


def checkpoint_whole_often(root: Path, every: int = CHECKPOINT_EVERY) -> None:
    """Let each whole table write Delta checkpoints often; a commit on top of a torn one would break it."""
    for table in ALL:
        state = log_state(oracles.where(root, table))
        if state.version >= 0 and not (state.torn or state.hole or state.confusing):
            checkpoint_often(state.where, every)
