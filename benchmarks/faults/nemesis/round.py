"""
A round of a nemesis: new topics and a new warehouse, faults by the schedule, then everything is healed.

The jobs catch up and stop. Every oracle compares the warehouse with the ledger and with an undisturbed twin.
"""

import json
import random
import shutil
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import psutil
from deltalake import DeltaTable

from benchmarks.faults import oracles
from benchmarks.faults.edge.three_brokers import ThreeBrokers
from benchmarks.faults.full_disk import small_disk
from benchmarks.faults.lines import all_lines
from benchmarks.faults.nemesis.faults import FAULTS, FaultTargets, SteppedProducer
from benchmarks.faults.nemesis.host import JobHost
from benchmarks.faults.nemesis.schedule import PlannedFault, schedule
from benchmarks.faults.nemesis.supervisor import STREAMS, WORDS, Supervisor
from benchmarks.faults.power.cuts import OFTEN, SECONDS
from benchmarks.faults.power.disk import PowerDisk
from benchmarks.faults.site import Acked, JobsWarehouse, Site
from benchmarks.faults.steady import BATCH, LINES_PER_S, TAKES_THE_REST_S, against_twin, has_read_all
from schemas.bronze import REQUEST_LOG

DISK_MIB = 1_024
LOOK_EVERY_S = 0.5

Show = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultRecord:
    """A fault that happened: what it hit, and when, in seconds since the begin of its round."""

    round: str
    kind: str
    hit: str
    at: str
    began_s: float
    ended_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundOutcome:
    """What a round did and found."""

    wrong: list[str]
    faults: list[FaultRecord]
    planned: dict[str, int]  # faults of each kind; some find nothing to hit
    ends: dict[str, int]
    excused: dict[str, int]  # how often each sentence of an end was explained by a fault
    records: int
    not_in_topic: int  # reported as delivered by librdkafka, without an offset


def play(cluster: ThreeBrokers, folder: Path, seed: str, for_s: float, show: Show) -> RoundOutcome:
    """Play a round; its folder is removed unless something was wrong, and then has what the jobs left."""
    folder.mkdir(parents=True)
    with small_disk(folder / "disk", DISK_MIB) as disk, _targets(cluster, folder, disk) as (site, targets):
        game = _Game(site, targets, seed, folder)
        planned = schedule(seed, for_s)
        game.through(planned, for_s, show)
        show(f"round {seed}: healed; comparing with the twin")
        wrong = game.wrong + targets.supervisor.wrong
        wrong += verdict(site, targets.written)
        if wrong:
            shutil.copytree(targets.written.root.parent, folder / "left", ignore_dangling_symlinks=True)
        outcome = RoundOutcome(
            wrong=wrong,
            faults=sorted(game.faults, key=lambda fault: fault.began_s),
            planned=Counter(fault.kind for fault in planned),
            ends=dict(targets.supervisor.ends),
            excused=dict(targets.supervisor.excused),
            records=len(site.ledger),
            not_in_topic=site.not_in_topic,
        )
        site.close()
    if not wrong:
        shutil.rmtree(folder)
    return outcome


def verdict(site: Site, written: JobsWarehouse) -> list[str]:
    """Return what any oracle finds wrong, or that a record could be lost and none would find it."""
    try:
        return against_twin(site, written, is_tidied=True) or unseen_loss(written.root, site.ledger)
    except Exception as error:  # noqa: BLE001 (a warehouse that no oracle can read is wrong, and is kept)
        return [f"an oracle failed: {error!r}"]


def unseen_loss(root: Path, ledger: Sequence[Acked]) -> list[str]:
    """Drop a record from bronze; return a failure if the ledger does not miss it."""
    record = next(acked for acked in ledger if acked.topic.endswith("request-log"))
    DeltaTable(str(oracles.where(root, REQUEST_LOG))).delete(
        f'partition = {record.partition} and "offset" = {record.offset}'
    )
    found = oracles.lost_or_doubled(root, ledger)
    lost = (record.topic, record.partition, record.offset)
    is_found = found == [f"{REQUEST_LOG.name}: 1 lost, first {lost}"]
    return [] if is_found else [f"a record was dropped from bronze on purpose, and the ledger found {found}"]


@contextmanager
def _targets(cluster: ThreeBrokers, folder: Path, disk: Path) -> Iterator[tuple[Site, FaultTargets]]:
    """Yield new topics with a warehouse on `disk`, whose jobs do not run yet; end the jobs at the end."""
    site = Site(cluster.bootstrap_servers, folder, replicas=len(cluster.ids))
    config = {"bootstrap.servers": cluster.bootstrap_servers, "enable.idempotence": True, "log_level": "2"}
    site._producer = producer = SteppedProducer(config)
    conf = site.warehouse("written", batch=BATCH, more=OFTEN).conf
    # What the jobs print must not be on the disk that fills up, and a power cut must not take it.
    conf.write_text(conf.read_text().replace(f'"{conf.parent}/', f'"{disk}/host/'))
    (disk / "host").mkdir()
    power = PowerDisk(disk / "host", folder / "power")
    hosts = {word: JobHost(folder, word) for word in WORDS}
    both = f"{power.variables['LD_PRELOAD']}:{next(iter(hosts.values())).variables['LD_PRELOAD']}"
    variables = {
        word: power.variables | host.variables | {"LD_PRELOAD": both} for word, host in hosts.items()
    }
    written = JobsWarehouse(conf)
    supervisor = Supervisor(written, variables)
    try:
        yield (
            site,
            FaultTargets(
                cluster=cluster,
                producer=producer,
                written=written,
                disk=disk,
                power=power,
                hosts=hosts,
                supervisor=supervisor,
            ),
        )
    finally:
        supervisor.close()


class _Game:
    """The faults of a round, each in a thread; a producer publishes, and the supervisor restarts jobs."""

    def __init__(self, site: Site, targets: FaultTargets, seed: str, folder: Path) -> None:
        self.wrong, self.faults = list[str](), list[FaultRecord]()
        self._site, self._targets, self._seed, self._folder = site, targets, seed, folder
        self._over, self._quiet, self._running = threading.Event(), threading.Event(), set[str]()
        self._began = time.monotonic()

    def through(self, planned: Sequence[PlannedFault], for_s: float, show: Show) -> None:
        """Do the faults, heal, let the jobs catch up, and stop them."""
        lines = all_lines.steady(self._folder / "logs", random.Random(self._seed), seconds=SECONDS)
        with ThreadPoolExecutor(len(planned) + 1) as threads:
            try:
                published = threads.submit(self._site.publish, lines, per_s=LINES_PER_S, until=self._quiet)
                self._targets.supervisor.start()
                self._began = time.monotonic()
                done = list[Future[None]]()
                for fault in planned:
                    if self._wait(published.done, fault.at_s, show):
                        break  # It failed, which is reported below.
                    done.append(threads.submit(self._do, fault))
                self._wait(published.done, for_s, show)
                self._over.set()
                for each in done:
                    each.result()
                self._catch_up(published, show)
            finally:
                self._over.set()
                self._quiet.set()

    def _do(self, planned: PlannedFault) -> None:
        began_at, began_s = datetime.now(UTC), self._seconds()
        fault = FAULTS[planned.kind](self._targets, random.Random(planned.seed))
        try:
            with self._targets.supervisor.expecting(planned.kind), fault as hit:
                self._running.add(planned.kind)
                if hit:
                    self._over.wait(planned.for_s)
        except psutil.NoSuchProcess:
            return  # What it would have hit ended at that moment.
        except Exception as error:  # noqa: BLE001 (other faults go on; it counts as wrong)
            self.wrong.append(f"{planned.kind} itself failed: {error!r}")
            return
        finally:
            self._running.discard(planned.kind)
        if hit:
            self._note(
                FaultRecord(
                    round=self._seed,
                    kind=planned.kind,
                    hit=hit,
                    at=began_at.isoformat(timespec="milliseconds"),
                    began_s=began_s,
                    ended_s=self._seconds(),
                )
            )

    def _note(self, fault: FaultRecord) -> None:
        self.faults.append(fault)
        with (self._folder.parent / "faults.jsonl").open("a") as log:
            log.write(json.dumps(asdict(fault)) + "\n")

    def _catch_up(self, published: Future[None], show: Show) -> None:
        show(f"round {self._seed}: healing")
        self._targets.cluster.wait_until_healthy()
        self._quiet.set()
        with suppress(Exception):
            published.result()
        if error := published.exception():
            self.wrong.append(f"the producer has failed: {error!r}")
        settings, jobs = self._targets.written.settings, self._targets.supervisor.jobs

        def is_done() -> bool:
            return all((job := jobs.get(word)) and job.has_jvm for word in STREAMS) and has_read_all(settings)

        if not self._wait(is_done, self._seconds() + TAKES_THE_REST_S, show):
            self.wrong.append(f"the jobs did not take the rest within {TAKES_THE_REST_S:g} s")
        self._targets.supervisor.finish()

    def _wait(self, is_done: Callable[[], bool], until_s: float, show: Show) -> bool:
        while not (done := is_done()) and (left_s := until_s - self._seconds()) > 0:
            show(self._state())
            time.sleep(min(LOOK_EVERY_S, left_s))
        return done

    def _state(self) -> str:
        supervisor = self._targets.supervisor
        now = ", ".join(sorted(self._running)) or "no fault"
        wrong = len(self.wrong) + len(supervisor.wrong)
        return (
            f"round {self._seed}, {self._seconds():.0f} s: {len(self.faults)} faults, now {now}; "
            f"{sum(supervisor.ends.values())} ends of jobs, {len(self._site.ledger):,} records, {wrong} wrong"
        )

    def _seconds(self) -> float:
        return round(time.monotonic() - self._began, 1)
