"""
Steady work with kills: a producer publishes, ingest and gold follow, and are killed repeatedly.

A concurrent reader polls the tables. At the end the jobs catch up, and every row is compared with the ledger
and with a twin, which reads the same topics undisturbed.
"""

import random
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.faults import oracles
from benchmarks.faults.job import GOLD, INGEST, LOOK_EVERY_S, MAINTAIN, Job, says_jvm_gone
from benchmarks.faults.kills import HAS_MAINTENANCE, Hit, Kill, hit_of, is_in_task, of_job
from benchmarks.faults.lines import all_lines
from benchmarks.faults.oracles import INGESTED
from benchmarks.faults.poller import Poller
from benchmarks.faults.site import JobsWarehouse, Site, checkpoint_often
from conf.settings import Settings
from engine.gold.stream import STREAM
from engine.ingest.checkpoints import unread
from engine.ingest.positions import checkpoint_of, topics_of
from engine.ingest.sources import QUERIES
from schemas.gold.broker_rtt_baseline import BROKER_RTT_BASELINE

LINES_PER_S = 60
BATCH = 2_000
COMES_TO_WORK_S = 600.0
"""The longest time from a job's start to its first finished batch, on two busy cores."""

ENDS_BY_ITSELF_S = 120.0
TAKES_THE_REST_S = 900.0
MAINTAINED_EVERY_S = 10.0
KILLED, FAILED = -9, 1
STREAMS = {INGEST: (), GOLD: ("--follow",)}
OF_JOB = {INGEST: INGESTED, GOLD: STREAM.gold}
ALL = (*INGESTED, *STREAM.gold)
MAY_BE_EMPTY = (BROKER_RTT_BASELINE,)
"""Tables without rows, because all lines are older than the first hour with a baseline."""

OFTEN_MERGED = "[maintain]\nbronze_days = 0\nsilver_days = 0\ncompact_from_files = 4\n"


@dataclass(frozen=True, slots=True)
class KillOutcome:
    """The result of a stretch of work with kills."""

    wrong: list[str]
    hits: list[dict[str, Any]] = field(default_factory=list)
    records: int = 0
    looks: int = 0


def stretch(bootstrap_servers: str, folder: Path, dice: random.Random, kills: Sequence[Kill]) -> KillOutcome:
    """Do all kills in one stretch of work, and return the failures and the kills."""
    site = Site(bootstrap_servers, folder)
    written = site.warehouse("killed", batch=BATCH, more=OFTEN_MERGED if HAS_MAINTENANCE else "")
    work = _Work(site, written, dice)
    try:
        wrong, hits = work.through(kills)
        wrong += against_twin(site, written)
        return KillOutcome(wrong, [asdict(hit) for hit in hits], len(site.ledger), work.poller.looks)
    finally:
        site.close()


def against_twin(site: Site, written: JobsWarehouse, *, is_tidied: bool = False) -> list[str]:
    """Compare the warehouse with the ledger, its logs and an undisturbed twin; return the failures."""
    wrong, twin = list[str](), site.warehouse("twin", batch=1_000_000)
    for run, code, output in (
        ("the rest of gold", *written.build_gold()),
        ("the twin's ingest", *twin.ingest()),
        ("the twin's gold", *twin.build_gold()),
    ):
        wrong += [f"{run} ended with exit code {code}: {last_line(output)}"] if code else []
    return [
        *wrong,
        *oracles.lost_or_doubled(written.root, site.ledger),
        *oracles.unbalanced(written.root),
        *oracles.bad_log(written.root, ALL, is_tidied=is_tidied),
        *oracles.unbalanced_books(written.root),
        *oracles.other_than_twin(written.root, twin.root, ALL, may_be_empty=MAY_BE_EMPTY),
    ]


class _Work:
    """One warehouse at work: its producer, its poller, and its jobs with their kills."""

    def __init__(self, site: Site, written: JobsWarehouse, dice: random.Random) -> None:
        self._site, self._written, self._dice = site, written, dice
        self._enough, self._stop_publishing = threading.Event(), threading.Event()
        self._jobs, self._started = dict[str, Job](), list[Job]()
        self._wrong, self._hits = list[str](), list[Hit]()
        self.poller = Poller(written.root, Path(written.settings.warehouse.checkpoints))

    def through(self, kills: Sequence[Kill]) -> tuple[list[str], list[Hit]]:
        """Do the kills, let both jobs catch up, stop them; return failures and kills."""
        self.poller.start()
        try:
            with ThreadPoolExecutor(4) as threads:
                try:
                    self._do(kills, threads)
                finally:  # The threads end when these are set, and the block waits for them.
                    self._enough.set()
                    self._stop_publishing.set()
        finally:
            for job in self._started:
                job.bury()
            wrong = self.poller.finish()
        return [*self._wrong, *wrong], self._hits

    def _do(self, kills: Sequence[Kill], threads: ThreadPoolExecutor) -> None:
        endless = all_lines.steady(self._site.folder / "logs", self._dice)
        publish = self._site.publish
        published = threads.submit(publish, endless, per_s=LINES_PER_S, until=self._stop_publishing)
        # Without new lines no job makes progress, so a failed producer ends every wait.
        published.add_done_callback(lambda done: self._enough.set() if done.exception() else None)
        chains = [threads.submit(self._chain, word, of_job(word, kills)) for word in STREAMS]
        chains += [threads.submit(self._maintain, of_job(MAINTAIN, kills))]
        for chain in chains:
            chain.result()
        self._stop_publishing.set()
        published.result()
        self._take_the_rest()

    def _chain(self, word: str, kills: Sequence[Kill]) -> None:
        for kill in kills:
            job = self._start(word, kill.fail_at)
            self._hits += [self._by_point(job, kill) if kill.fail_at else self._by_chance(job, kill)]
            if self._enough.is_set():
                return
            if job.code is None:  # It did not die, which is noted; the next job needs its lease.
                job.kill()
            self._wrong += oracles.bad_log(self._written.root, self._there(word))
        self._start(word)

    def _maintain(self, kills: Sequence[Kill]) -> None:
        """Merge files while the streams run, until each kill has happened."""
        for kill in kills:
            deadline = time.monotonic() + COMES_TO_WORK_S
            while time.monotonic() < deadline and not self._enough.wait(MAINTAINED_EVERY_S):
                job = self._start(MAINTAIN, kill.fail_at)
                job.ended(ENDS_BY_ITSELF_S)
                if job.code == KILLED:
                    self._hits.append(hit_of(job, kill, kill.fail_at.partition(":")[0]))
                    break
            else:
                self._wrong.append(f"maintain did not come to {kill.fail_at}")

    def _start(self, word: str, fail_at: str = "") -> Job:
        for table in self._there(word) if word in OF_JOB else ():
            checkpoint_often(oracles.where(self._written.root, table))
        self._jobs[word] = Job(self._written.conf, word, *STREAMS.get(word, ()), fail_at=fail_at)
        before = [job for job in self._started if job.word == word]
        self._started.append(self._jobs[word])
        # Checked during the next start: the new job must tolerate a JVM that still writes.
        if not self._wait(lambda: not any(job.has_left_its_jvm for job in before), ENDS_BY_ITSELF_S):
            self._wrong.append(f"{word} died, and its JVM lived on for {ENDS_BY_ITSELF_S:g} s")
        return self._jobs[word]

    def _there(self, word: str) -> list[Any]:
        logs = {table: oracles.where(self._written.root, table) / "_delta_log" for table in OF_JOB[word]}
        return [table for table, log in logs.items() if any(log.glob("*.json"))]

    def _by_point(self, job: Job, kill: Kill) -> Hit:
        if not self._wait(lambda: job.code is not None, COMES_TO_WORK_S):
            self._wrong.append(f"{kill.word} did not come to {kill.fail_at}")
        elif job.code != (FAILED if is_in_task(kill) else KILLED):
            self._note_end(job, f"before {kill.fail_at}")
        return hit_of(job, kill, kill.fail_at.partition(":")[0])

    def _by_chance(self, job: Job, kill: Kill) -> Hit:
        if kill.is_at_work and not self._wait(
            lambda: job.batches > 0 or job.code is not None, COMES_TO_WORK_S
        ):
            self._wrong.append(f"{kill.word} finished no batch within {COMES_TO_WORK_S:g} s of its start")
        self._wait(lambda: job.code is not None, kill.after_s)
        if job.code is not None:
            self._note_end(job, "before it was killed")
        hit = hit_of(job, kill, "random")
        job.kill(kill.victim)
        if kill.victim != "jvm" or job.code == KILLED:
            return hit
        if not self._wait(lambda: job.code is not None, ENDS_BY_ITSELF_S):
            self._wrong.append(f"{kill.word} lived on for {ENDS_BY_ITSELF_S:g} s without its JVM")
        elif job.code != FAILED or not says_jvm_gone(last_line(job.output)):
            self._note_end(job, "without its JVM")
        return hit

    def _take_the_rest(self) -> None:
        """Wait until the ingest has read everything, then stop both jobs."""
        settings = self._written.settings
        if not self._wait(lambda: has_read_all(settings), TAKES_THE_REST_S, every_s=1.0):
            self._wrong.append(f"ingest did not take the rest within {TAKES_THE_REST_S:g} s")
        for job in (self._jobs[word] for word in STREAMS):
            if job.code is not None or job.stop() != 0:
                self._note_end(job, "instead of stopping")

    def _note_end(self, job: Job, when: str) -> None:
        self._wrong.append(f"{job.word} ended {when} with exit code {job.code}: {last_line(job.output)}")

    def _wait(self, is_done: Callable[[], bool], for_s: float, every_s: float = LOOK_EVERY_S) -> bool:
        deadline = time.monotonic() + for_s
        while not (done := is_done()) and time.monotonic() < deadline and not self._enough.wait(every_s):
            pass
        return done


def has_read_all(settings: Settings) -> bool:
    """Return whether the ingest has read each record that the topics hold now."""
    topics = (
        (topic, checkpoint_of(settings, query)) for query in QUERIES for topic in topics_of(settings, query)
    )
    return all(unread(settings.telemetry, topic, checkpoint) == 0 for topic, checkpoint in topics)


def last_line(output: str) -> str:
    """Return the last line of what a job printed."""
    return next((line for line in reversed(output.splitlines()) if line.strip()), "no output")[:300]
