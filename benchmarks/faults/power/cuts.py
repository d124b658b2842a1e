"""
Power cuts: ingest and gold follow a producer on a disk that loses everything that was not synced.

After each cut both jobs must start again by themselves. At the end every row is compared with the ledger and
with a twin whose power was never cut.
"""

import random
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

from benchmarks.faults import oracles
from benchmarks.faults.job import GOLD, INGEST, LOOK_EVERY_S, Job
from benchmarks.faults.kills import START_SHARE, STARTING_S, WORKING_S, Hit
from benchmarks.faults.lines import all_lines
from benchmarks.faults.power.disk import PowerDisk
from benchmarks.faults.site import JobsWarehouse, Site, checkpoint_often
from benchmarks.faults.steady import ALL, BATCH, COMES_TO_WORK_S, LINES_PER_S, KillOutcome, against_twin

HOW = "power cut"


def power_cuts(n: int, bootstrap_servers: str, folder: Path, dice: random.Random) -> KillOutcome:
    """Cut the power `n` times, a quarter of them while the jobs start; return the failures and the cuts."""
    site, stop = Site(bootstrap_servers, folder), threading.Event()
    written = site.warehouse("cut", batch=BATCH)
    disk, hits, wrong = PowerDisk(written.conf.parent, folder / "power"), list[Hit](), list[str]()
    with ThreadPoolExecutor(1) as threads:
        lines = all_lines.steady(folder / "logs", dice)
        published = threads.submit(site.publish, lines, per_s=LINES_PER_S, until=stop)
        try:
            for _ in range(n):
                failures, hit = _until_the_cut(written, disk, dice)
                wrong += failures
                hits.append(hit)
                disk.cut(dice)
                _checkpoint_often(written.root, disk)
        finally:
            stop.set()
        published.result()
    wrong += [] if disk.lost else ["no cut took anything: the library recorded nothing"]
    code, output = written.ingest()
    wrong += [f"the last ingest ended with exit code {code}: {output[-500:]}"] if code else []
    return KillOutcome(
        [*wrong, *against_twin(site, written)], [asdict(hit) for hit in hits], len(site.ledger)
    )


def _until_the_cut(written: JobsWarehouse, disk: PowerDisk, dice: random.Random) -> tuple[list[str], Hit]:
    is_at_work = dice.random() >= START_SHARE
    after_s = dice.uniform(0.2, WORKING_S if is_at_work else STARTING_S)
    ingest = Job(written.conf, INGEST, variables=disk.variables)
    gold = Job(written.conf, GOLD, "--follow", variables=disk.variables)
    jobs, wrong = (ingest, gold), list[str]()
    try:
        if is_at_work and not _wait(lambda: ingest.batches > 0, jobs, COMES_TO_WORK_S):
            wrong.append("ingest finished no batch after a power cut")
        _wait(lambda: False, jobs, after_s)
        wrong += [
            f"{job.word} ended with exit code {job.code} after a power cut: {job.output.strip()[-500:]}"
            for job in jobs
            if job.code is not None
        ]
        took_s = round(time.monotonic() - ingest.started_at, 1)
        hit = Hit(
            word=INGEST,
            how=HOW,
            victim="all",
            after_s=took_s,
            batches=ingest.batches,
            is_in_batch=ingest.is_in_batch,
        )
    finally:
        for job in jobs:
            job.bury()
    return wrong, hit


def _wait(is_done: Callable[[], bool], jobs: Sequence[Job], for_s: float) -> bool:
    """Wait for something, or for the end of a job."""
    deadline = time.monotonic() + for_s
    while not (done := is_done()) and time.monotonic() < deadline:
        if any(job.code is not None for job in jobs):
            return False
        time.sleep(LOOK_EVERY_S)
    return done


def _checkpoint_often(root: Path, disk: PowerDisk) -> None:
    for table in ALL:
        where = oracles.where(root, table)
        if any((where / "_delta_log").glob("*.json")):
            checkpoint_often(where)
    disk.seal()
