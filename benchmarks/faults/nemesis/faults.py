"""The faults of a nemesis: context managers that yield what they hit ('': nothing) and heal at their end."""

import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random

from confluent_kafka import Producer

from benchmarks.faults.edge.three_brokers import ThreeBrokers
from benchmarks.faults.full_disk import fill, free
from benchmarks.faults.job import GOLD, INGEST, LOOK_EVERY_S, MAINTAIN, VICTIMS, standing_still
from benchmarks.faults.nemesis.host import JobHost
from benchmarks.faults.nemesis.schedule import FaultKind
from benchmarks.faults.nemesis.supervisor import STREAMS, WORDS, Supervisor, is_at_work
from benchmarks.faults.power.cuts import checkpoint_whole_often
from benchmarks.faults.power.disk import PowerDisk
from benchmarks.faults.site import JobsWarehouse
from benchmarks.faults.state import tears
from benchmarks.faults.state.torn import HOW, Damage, is_of_newest_batch
from schemas.bronze import BRONZE, REQUEST_LOG
from schemas.fields import Table
from schemas.gold.fetch_latency import FETCH_LATENCY
from schemas.silver.not_kept import SKIPPED
from schemas.silver.requests import REQUESTS

COLLECTOR = "collector"
MINUTE_S, HOUR_S, DAY_S = 60.0, 3_600.0, 86_400.0
STEPS_S = (-10 * DAY_S, -HOUR_S, -MINUTE_S, MINUTE_S, HOUR_S, 10 * DAY_S)
COLLECTOR_STEPS_S = (-5 * DAY_S, -HOUR_S, -MINUTE_S, MINUTE_S, HOUR_S / 2)
"""A broker refuses records an hour ahead of its clock, and deletes segments of 7-day-old records."""

CHECKPOINT_EVERY = 20
"""In versions. A writer keeps the newest three checkpoints, and a reader may be stopped for half a minute."""

COMES_TO_WORK_S = 30.0
"""How long a fault waits for a stream that has finished a batch since its start."""

LEFT_PAGES = (0, 2, 5, 15, 60)
SLOW_S = (0.02, 0.1, 0.5)


class SteppedProducer(Producer):
    """A producer on a host whose clock is `step_s` ahead: Kafka's timestamps are the producer's."""

    step_s = 0.0

    def step_clock(self, seconds: float) -> None:
        """Set the clock so much ahead of this machine's; 0: step back."""
        self.step_s = seconds

    def produce(self, *arguments: object, **options: object) -> None:
        """Produce with a timestamp of that clock."""
        timestamp = round((time.time() + self.step_s) * 1e3)
        super().produce(*arguments, timestamp=timestamp, **options)


@dataclass(slots=True, kw_only=True)
class FaultTargets:
    """What the faults of a round hit."""

    cluster: ThreeBrokers
    producer: SteppedProducer
    written: JobsWarehouse
    disk: Path
    power: PowerDisk
    hosts: Mapping[str, JobHost]
    supervisor: Supervisor
    left_pages: int | None = None  # of the full disk; None: it is not full
    at_disk: threading.Lock = field(default_factory=threading.Lock)
    _taken: set[str] = field(default_factory=set)  # what a fault has now
    _at_taken: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def taking(self, names: Sequence[str]) -> Iterator[str]:
        """Yield the first of these that no other fault has, and keep it during the block; '' without any."""
        with self._at_taken:
            name = next((name for name in names if name not in self._taken), "")
            self._taken.add(name)
        try:
            yield name
        finally:
            self._taken.discard(name)

    def running(self) -> list[str]:
        """Return the jobs that run now."""
        jobs = ((word, self.supervisor.jobs.get(word)) for word in WORDS)
        return [word for word, job in jobs if job is not None and job.code is None]

    def synced(self, folder: Path) -> None:
        """Sync a folder with all files, so that a power cut does not undo what a fault did there."""
        command = ["find", str(folder), "-exec", "sync", "{}", "+"]
        subprocess.run(command, check=True, env=os.environ | self.power.variables)


Fault = Callable[[FaultTargets, Random], AbstractContextManager[str]]


@contextmanager
def killed(targets: FaultTargets, dice: Random) -> Iterator[str]:
    """Kill a job, its JVM or both."""
    word, victim = dice.choice(list(WORDS)), dice.choice(VICTIMS)
    was = targets.supervisor.kill(word, victim)
    yield f"{word} ({victim}), {was}" if was else ""


@contextmanager
def stopped(targets: FaultTargets, dice: Random) -> Iterator[str]:
    """Stop a job with its JVM, and let it go on."""
    word = dice.choice(STREAMS)
    job = targets.supervisor.jobs.get(word)
    with standing_still([job] if job else []) as is_there:
        yield word if is_there else ""


@contextmanager
def full_disk(targets: FaultTargets, dice: Random) -> Iterator[str]:
    """Fill the disk of warehouse and checkpoints up to a few pages, and free it."""
    left = dice.choice(LEFT_PAGES)
    with targets.taking(["disk"]) as is_free:
        if not is_free:
            yield ""
            return
        with targets.at_disk:
            fill(targets.disk, left)
            targets.left_pages = left
        try:
            yield f"{left} pages left"
        finally:
            with targets.at_disk:
                targets.left_pages = None
                free(targets.disk)


@contextmanager
def broker_lost(targets: FaultTargets, dice: Random) -> Iterator[str]:
    """Freeze a broker, or kill it and start it again."""
    ids = targets.cluster.ids
    with targets.taking([f"broker {broker_id}" for broker_id in dice.sample(ids, len(ids))]) as broker:
        if not broker:
            yield ""
            return
        broker_id = int(broker.removeprefix("broker "))
        if dice.random() < 0.5:
            with targets.cluster.frozen(broker_id):
                yield f"{broker} frozen"
            return
        targets.cluster.kill(broker_id)
        try:
            yield f"{broker} killed"
        finally:
            targets.cluster.start(broker_id)


@contextmanager
def clock_stepped(targets: FaultTargets, dice: Random) -> Iterator[str]:
    """Step the clock of a job that runs or of the collector, and step it back."""
    hosts = [*targets.running(), COLLECTOR]
    with targets.taking([f"clock of {host}" for host in dice.sample(hosts, len(hosts))]) as clock:
        if not clock:
            yield ""
            return
        name = clock.removeprefix("clock of ")
        step_s = dice.choice(COLLECTOR_STEPS_S if name == COLLECTOR else STEPS_S) * dice.uniform(0.5, 1.0)
        step = targets.producer.step_clock if name == COLLECTOR else targets.hosts[name].step_clock
        step(step_s)
        try:
            yield f"{name} {step_s:+.0f} s"
        finally:
            step(0.0)


@contextmanager
def torn(targets: FaultTargets, dice: Random) -> Iterator[str]:
    """Kill a stream at work, and tear a file of its state that its next start repairs."""
    with targets.taking(["a file"]) as is_free:  # two tears before the next start may be beyond repair
        word, how = _at_work(targets, dice) if is_free else "", dice.choice(HOW)
        if not word:
            yield ""
            return
        with targets.supervisor.dead(word, MAINTAIN):
            damage = dice.choice(repairable(word, targets.written))
            try:
                file = damage(targets.written, how)
                hit = f"{file.relative_to(targets.disk)} {how}"
                targets.synced(file.parent.parent)
            except FileNotFoundError:  # a power cut has taken it
                hit = ""
        yield hit


def _at_work(targets: FaultTargets, dice: Random) -> str:
    """Wait for a stream that has finished a batch since its start; return '' if there is none in time."""
    give_up_at = time.monotonic() + COMES_TO_WORK_S
    while time.monotonic() < give_up_at:
        if words := [word for word in STREAMS if is_at_work(targets.supervisor.jobs.get(word))]:
            return dice.choice(words)
        time.sleep(LOOK_EVERY_S)
    return ""


def repairable(word: str, written: JobsWarehouse) -> list[Damage]:
    """Return the damages that a stream repairs by itself now (docs/recovery.md)."""
    if word == GOLD:
        is_needed = not is_in_a_checkpoint(written, FETCH_LATENCY)
        return [tears.last_gold_offsets, *[partial(tears.last_entry, FETCH_LATENCY)] * is_needed]
    is_derivable = not any(map(partial(is_merged, written), BRONZE))
    entries = [table for table in (REQUEST_LOG, REQUESTS, SKIPPED) if is_retried(written, table)]
    return [
        *(tears.last_commit, tears.metadata),
        *((tears.last_offsets, tears.both_logs, tears.stale_checksum) if is_derivable else ()),
        *(partial(tears.last_entry, table) for table in entries),
    ]


def is_in_a_checkpoint(written: JobsWarehouse, table: Table) -> bool:
    """Return whether the newest entry of a table has a checkpoint: no job needs it, so none repairs it."""
    newest = tears.entries_of(written, table)[-1]
    return newest.with_suffix(".checkpoint.parquet").exists()


def is_merged(written: JobsWarehouse, table: Table) -> bool:
    """Return whether the newest batch of a table was merged: its end cannot be derived from its files."""
    changes = [entry.read_text() for entry in tears.entries_of(written, table)]
    newest = next((nth for nth, change in enumerate(reversed(changes)) if '"txn"' in change), 0)
    return newest > 0


def is_retried(written: JobsWarehouse, table: Table) -> bool:
    """Return whether the newest entry of a table is of the newest batch and in no checkpoint."""
    try:
        return is_of_newest_batch(written, table) and not is_in_a_checkpoint(written, table)
    except StopIteration:  # It is no batch but a merge or a change of properties.
        return False


@contextmanager
def power_cut(targets: FaultTargets, dice: Random) -> Iterator[str]:
    """Cut the power of all jobs: they are dead, and their disk loses what was not synced."""
    before = targets.power.lost
    with targets.supervisor.dead(INGEST, GOLD, MAINTAIN), targets.at_disk:
        free(targets.disk)
        targets.power.cut(dice)
        checkpoint_whole_often(targets.written.root, CHECKPOINT_EVERY)
        targets.power.seal()
        if targets.left_pages is not None:
            fill(targets.disk, targets.left_pages)
    lost = targets.power.lost - before
    yield f"{lost} files and folders lost" if lost else ""


@contextmanager
def slow_disk(targets: FaultTargets, dice: Random) -> Iterator[str]:
    """Let each fsync of the jobs take longer."""
    seconds = dice.choice(SLOW_S)
    with targets.taking(["syncs"]) as is_free:
        if not is_free:
            yield ""
            return
        for host in targets.hosts.values():
            host.slow_syncs(seconds)
        try:
            yield f"{seconds * 1e3:g} ms for each fsync"
        finally:
            for host in targets.hosts.values():
                host.slow_syncs(0.0)


FAULTS: dict[FaultKind, Fault] = {
    FaultKind.KILL: killed,
    FaultKind.STOP: stopped,
    FaultKind.FULL_DISK: full_disk,
    FaultKind.BROKER: broker_lost,
    FaultKind.CLOCK: clock_stepped,
    FaultKind.TORN: torn,
    FaultKind.POWER: power_cut,
    FaultKind.SLOW_DISK: slow_disk,
}
