"""
Steady work with kills in it: a producer publishes, ingest and gold follow, and die again and again.

A reader polls all the while. At the end everything is taken in, and every row held against the ledger and
against a twin that reads the same topics undisturbed.
"""

import random
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from deltalake import DeltaTable

from jobs.fail_points import POINTS
from jobs.ingest import checkpoint_of, topic_of
from jobs.ingest_batch import SOURCES
from jobs.ingest_checkpoint import unread
from schemas.bronze import BRONZE
from schemas.gold import GOLD as GOLD_TABLES
from schemas.silver import SILVER
from tests.faults import lines, oracles
from tests.faults.job import GOLD, INGEST, LOOK_EVERY_S, VICTIMS, Job
from tests.faults.poller import Poller
from tests.faults.site import Site, Written

LINES_PER_S = 100
BATCH = 2_000
COMES_TO_WORK_S = 240.0
"""So long a job may take from its start to its first finished batch, on two busy cores."""

ENDS_BY_ITSELF_S = 120.0
TAKES_THE_REST_S = 300.0
STARTING_S, WORKING_S = 10.0, 12.0
START_SHARE = 0.25
"""This share of the random kills falls into the start, the others behind the first finished batch."""

OPTIONS = {INGEST: (), GOLD: ("--follow",)}
OF_JOB = {INGEST: (*BRONZE, *SILVER), GOLD: GOLD_TABLES}
ALL = (*BRONZE, *SILVER, *GOLD_TABLES)
CHECKPOINT_EVERY = {"delta.checkpointInterval": "5"}
"""A table meets its Delta checkpoint in each round, not once in minutes."""

MOMENTS_MS = {"tasks-running": 300, "checkpoint-begun": 15}
"""Points that are followed by work worth being killed in: half of their kills come up to so much later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kill:
    """One kill to do: at a fail point, or so long after the start or after the first finished batch."""

    word: str
    fail_at: str = ""
    victim: str = "all"
    after_s: float = 0.0
    is_at_work: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One kill done: when it hit after the job's start, after how many finished batches, whether in one."""

    word: str
    how: str
    victim: str
    after_s: float
    batches: int
    is_in_batch: bool


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a stretch with kills came to."""

    wrong: list[str]
    hits: list[dict[str, Any]] = field(default_factory=list)
    records: int = 0
    looks: int = 0


def random_kills(dice: random.Random, *, ingest: int, gold: int) -> list[Kill]:
    """Draw kills of both jobs, a quarter of them into the start."""

    def draw(word: str) -> Kill:
        is_at_work = dice.random() >= START_SHARE
        after_s = dice.uniform(0.2, WORKING_S if is_at_work else STARTING_S)
        victim = dice.choices(VICTIMS, weights=(2, 1, 1))[0]
        return Kill(word=word, victim=victim, after_s=after_s, is_at_work=is_at_work)

    return [draw(word) for word, n in ((INGEST, ingest), (GOLD, gold)) for _ in range(n)]


def named_kills(dice: random.Random) -> list[Kill]:
    """Give one kill for each named point, in some order, now and then a moment behind it."""
    kills = []
    for point in POINTS:
        after_ms = dice.choice([0, dice.randrange(1, MOMENTS_MS[point])]) if point in MOMENTS_MS else 0
        nth = 1 if point.startswith("checkpoint") else dice.randint(1, 3)
        kills.append(
            Kill(word=job_of(point), fail_at=f"{point}:{nth}" + (f"+{after_ms}" if after_ms else ""))
        )
    dice.shuffle(kills)
    return kills


def job_of(point: str) -> str:
    """Tell which job comes to a fail point."""
    return GOLD if point.startswith("gold") else INGEST


def stretch(bootstrap_servers: str, folder: Path, dice: random.Random, kills: Sequence[Kill]) -> Outcome:
    """Do all kills in one stretch of work, and tell what is wrong after it."""
    site = Site(bootstrap_servers, folder)
    written = site.warehouse("killed", batch=BATCH)
    work = _Work(site, written, dice)
    try:
        wrong, hits = work.through(kills)
        wrong += against_twin(site, written)
        return Outcome(wrong, [asdict(hit) for hit in hits], len(site.ledger), work.poller.looks)
    finally:
        site.close()


def against_twin(site: Site, written: Written) -> list[str]:
    """Hold everything that was written against the ledger, the logs, and a warehouse written undisturbed."""
    wrong, twin = list[str](), site.warehouse("twin", batch=1_000_000)
    for whose, code, told in (
        ("the rest of gold", *written.build_gold()),
        ("the twin's ingest", *twin.ingest()),
        ("the twin's gold", *twin.build_gold()),
    ):
        wrong += [f"{whose} ended with exit code {code}: {_last_line(told)}"] if code else []
    return [
        *wrong,
        *oracles.lost_or_doubled(written.root, site.ledger),
        *oracles.unbalanced(written.root),
        *oracles.bad_log(written.root, ALL),
        *oracles.other_than_twin(written.root, twin.root, ALL),
    ]


class _Work:
    """One warehouse at work: its producer, its poller, and both jobs with the kills meant for them."""

    def __init__(self, site: Site, written: Written, dice: random.Random) -> None:
        self._site, self._written, self._dice = site, written, dice
        self._enough, self._stop_publishing = threading.Event(), threading.Event()
        self._jobs = dict[str, Job]()
        self._wrong, self._hits = list[str](), list[Hit]()
        self.poller = Poller(written.root, Path(written.settings.warehouse.checkpoints))

    def through(self, kills: Sequence[Kill]) -> tuple[list[str], list[Hit]]:
        """Kill, let both jobs take in the rest, stop them."""
        told = lines.steady(self._site.folder / "logs", self._dice)
        with ThreadPoolExecutor(3) as threads:
            published = threads.submit(
                self._site.publish, told, per_s=LINES_PER_S, until=self._stop_publishing
            )
            self.poller.start()
            try:
                chains = [threads.submit(self._chain, word, _of(word, kills)) for word in OPTIONS]
                for chain in chains:
                    chain.result()
                self._stop_publishing.set()
                published.result()
                self._take_the_rest()
            finally:
                self._enough.set()
                self._stop_publishing.set()
                for job in self._jobs.values():
                    job.bury()
        return [*self._wrong, *self.poller.finish()], self._hits

    def _chain(self, word: str, kills: Sequence[Kill]) -> None:
        for kill in kills:
            job = self._start(word, kill.fail_at)
            self._hits += [self._by_point(job, kill) if kill.fail_at else self._by_chance(job, kill)]
            if self._enough.is_set():
                return
            job.bury()
            self._wrong += oracles.bad_log(self._written.root, self._there(word))
        self._start(word)

    def _start(self, word: str, fail_at: str = "") -> Job:
        for table in self._there(word):
            _checkpoint_often(oracles.where(self._written.root, table))
        self._jobs[word] = Job(self._written.conf, word, *OPTIONS[word], fail_at=fail_at)
        return self._jobs[word]

    def _there(self, word: str) -> list[Any]:
        logs = {table: oracles.where(self._written.root, table) / "_delta_log" for table in OF_JOB[word]}
        return [table for table, log in logs.items() if any(log.glob("*.json"))]

    def _by_point(self, job: Job, kill: Kill) -> Hit:
        if not self._wait(lambda: job.code is not None, COMES_TO_WORK_S):
            self._wrong.append(f"{kill.word} did not come to {kill.fail_at}")
        elif job.code != -9:
            self._tell_end(job, f"before {kill.fail_at}")
        return _hit(job, kill, kill.fail_at.partition(":")[0])

    def _by_chance(self, job: Job, kill: Kill) -> Hit:
        if kill.is_at_work and not self._wait(
            lambda: job.batches > 0 or job.code is not None, COMES_TO_WORK_S
        ):
            self._wrong.append(f"{kill.word} finished no batch within {COMES_TO_WORK_S:g} s of its start")
        self._wait(lambda: job.code is not None, kill.after_s)
        if job.code is not None:
            self._tell_end(job, "before it was killed")
        hit = _hit(job, kill, "random")
        with suppress(ProcessLookupError):
            job.kill(kill.victim)
        if kill.victim == "jvm" and not self._wait(lambda: job.code is not None, ENDS_BY_ITSELF_S):
            self._wrong.append(f"{kill.word} lived on for {ENDS_BY_ITSELF_S:g} s without its JVM")
        elif kill.victim == "jvm" and job.code == 0:
            self._wrong.append(f"{kill.word} lost its JVM and called that success")
        return hit

    def _take_the_rest(self) -> None:
        """Wait until the ingest has read everything, then stop both jobs."""
        settings = self._written.settings

        def is_read() -> bool:
            of = ((topic_of(settings, source), checkpoint_of(settings, source)) for source in SOURCES)
            return all(unread(settings.telemetry, topic, checkpoint) == 0 for topic, checkpoint in of)

        if not self._wait(is_read, TAKES_THE_REST_S, every_s=1.0):
            self._wrong.append(f"ingest did not take the rest within {TAKES_THE_REST_S:g} s")
        for job in self._jobs.values():
            if job.code is not None or job.stop() != 0:
                self._tell_end(job, "instead of stopping")

    def _tell_end(self, job: Job, when: str) -> None:
        self._wrong.append(f"{job.word} ended {when} with exit code {job.code}: {_last_line(job.said)}")

    def _wait(self, is_so: Callable[[], bool], for_s: float, every_s: float = LOOK_EVERY_S) -> bool:
        deadline = time.monotonic() + for_s
        while not (so := is_so()) and time.monotonic() < deadline and not self._enough.wait(every_s):
            pass
        return so


def _hit(job: Job, kill: Kill, how: str) -> Hit:
    return Hit(
        word=kill.word,
        how=how,
        victim="python" if kill.fail_at else kill.victim,
        after_s=round(time.monotonic() - job.started_at, 1),
        batches=job.batches,
        is_in_batch=job.is_in_batch,
    )


def _of(word: str, kills: Sequence[Kill]) -> list[Kill]:
    return [kill for kill in kills if kill.word == word]


def _checkpoint_often(where: Path) -> None:
    log = DeltaTable(str(where))
    if CHECKPOINT_EVERY.items() - log.metadata().configuration.items():
        log.alter.set_table_properties(CHECKPOINT_EVERY)


def _last_line(told: str) -> str:
    return next((line for line in reversed(told.splitlines()) if line.strip()), "without a word")[:300]
