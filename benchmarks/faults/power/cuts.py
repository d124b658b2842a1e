"""
Power cuts: ingest, gold and `maintain` work on a disk that loses everything that was not synced.

After each cut the jobs must start again by themselves. At the end every row is compared with the ledger and
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
from benchmarks.faults.job import GOLD, INGEST, LOOK_EVERY_S, MAINTAIN, Job
from benchmarks.faults.kills import START_SHARE, STARTING_S, Hit
from benchmarks.faults.lines import all_lines
from benchmarks.faults.power.disk import PowerDisk
from benchmarks.faults.site import JobsWarehouse, Site, checkpoint_often
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

HOW, WORKING_S = "power cut", 5.0
GOLD_SHARE = 0.5
"""The share of cuts that hit gold too."""

OFTEN = f"""min_offsets_per_trigger = 50
max_trigger_delay_s = 1
[build_gold]
trigger = "1 second"
{OFTEN_MERGED}"""
"""Settings for many small commits, so that a cut hits many places within seconds."""


def power_cuts(n: int, bootstrap_servers: str, folder: Path, dice: random.Random) -> KillOutcome:
    """Cut the power `n` times, a quarter of them while the jobs start; return the failures and the cuts."""
    site, stop = Site(bootstrap_servers, folder), threading.Event()
    written = site.warehouse("cut", batch=BATCH, more=OFTEN)
    disk, hits, wrong = PowerDisk(written.conf.parent, folder / "power"), list[Hit](), list[str]()
    with ThreadPoolExecutor(1) as threads:
        lines = all_lines.steady(folder / "logs", dice)
        published = threads.submit(site.publish, lines, per_s=LINES_PER_S, until=stop)
        try:
            for _ in range(n):
                hits.append(_until_the_cut(written, disk, dice, wrong))
                disk.cut(dice)
                _checkpoint_often(written.root, disk)
        finally:
            stop.set()
        published.result()
    wrong += [] if disk.lost else ["no cut took anything: the library recorded nothing"]
    code, output = written.ingest()
    wrong += [f"the last ingest ended with exit code {code}: {output[-500:]}"] if code else []
    wrong += against_twin(site, written)
    site.close()
    return KillOutcome(wrong, [asdict(hit) for hit in hits], len(site.ledger))


def _until_the_cut(written: JobsWarehouse, disk: PowerDisk, dice: random.Random, wrong: list[str]) -> Hit:
    """Start the jobs and kill them at a random moment; add to `wrong` each that ended by itself."""
    is_at_work, has_gold = dice.random() >= START_SHARE, dice.random() < GOLD_SHARE
    after_s = dice.uniform(0.2, WORKING_S if is_at_work else STARTING_S)
    jobs = list[Job]()

    def start(word: str, *options: str) -> Job:
        jobs.append(Job(written.conf, word, *options, variables=disk.variables))
        return jobs[-1]

    try:
        ingest = start(INGEST)
        deadline = time.monotonic() + after_s
        # Gold cannot read a table of silver that only the ingest can repair.
        _wait(lambda: ingest.has_jvm, jobs, COMES_TO_WORK_S if is_at_work else after_s)
        streams = [ingest, start(GOLD, "--follow")] if has_gold else [ingest]
        if is_at_work:
            if not _wait(lambda: all(job.batches for job in streams), jobs, COMES_TO_WORK_S):
                wrong.append("a job finished no batch after a power cut")
            start(MAINTAIN)
            deadline = time.monotonic() + after_s
        _wait(lambda: False, jobs, deadline - time.monotonic())
        wrong += [
            f"{job.word} ended with exit code {job.code} after a power cut: {job.output.strip()[-500:]}"
            for job in jobs
            if job.code is not None and (job.word, job.code) != (MAINTAIN, 0)
        ]
        return Hit(
            word=INGEST,
            how=HOW,
            victim="all",
            after_s=round(time.monotonic() - ingest.started_at, 1),
            batches=ingest.batches,
            is_in_batch=ingest.is_in_batch,
        )
    finally:
        for job in jobs:
            job.bury()


def _wait(is_done: Callable[[], bool], jobs: Sequence[Job], for_s: float) -> bool:
    """Wait for something, or until a stream ends."""
    deadline = time.monotonic() + for_s
    while not (done := is_done()) and time.monotonic() < deadline:
        if any(job.code is not None for job in jobs if job.word != MAINTAIN):
            return False
        time.sleep(LOOK_EVERY_S)
    return done


def _checkpoint_often(root: Path, disk: PowerDisk) -> None:
    """Let each whole table write Delta checkpoints often; a commit on top of a torn one would break it."""
    for table in ALL:
        state = log_state(oracles.where(root, table))
        if state.version >= 0 and not (state.torn or state.hole or state.confusing):
            checkpoint_often(state.where)
    disk.seal()
