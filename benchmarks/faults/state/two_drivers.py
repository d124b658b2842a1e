"""Two ingests on one checkpoint: the lease keeps the second out, and without the lease nothing is doubled."""

import json
import random
import re
import shutil
import threading
import time
from collections.abc import Callable, Sequence
from itertools import cycle
from pathlib import Path

from benchmarks.faults import harm
from benchmarks.faults.job import INGEST, Job
from benchmarks.faults.site import JobsWarehouse, Site
from conf.exit_codes import ExitCode
from jobs.ingest import SILVER_LAYER

COMES_TO_WORK_S = 300.0
COLLIDE_WITHIN_S = 180.0
LINES_PER_S = 20
LOOK_EVERY_S = 0.1
FOUND_OUT = (
    "another driver has written batch",
    "Multiple streaming queries are concurrently using",
    "Multiple streaming jobs detected",
)
"""Messages of a driver that has found another one at work: Plumbline's, and two of Spark's."""

RENAMED_AWAY = re.compile(r"/(offsets|commits)/\.\S+\.tmp(\.crc)? does not exist")
"""The message of the file system if the other one has written the same batch first."""


def second_is_refused(bootstrap_servers: str, folder: Path, dice: random.Random) -> list[str]:
    """Start a second ingest while the first one holds the lease."""
    site, written, first = _first_at_work(bootstrap_servers, folder, dice)
    try:
        code, output = written.ingest()
        wrong = (
            []
            if code == ExitCode.HELD and f"process {first.pid} " in output
            else [f"exit code {code}: {output}"]
        )
        wrong += wrong_end(first)
    finally:
        first.bury()
    return [*wrong, *_what_is_left(written), *harm.found(site, written)]


def lease_is_no_help(bootstrap_servers: str, folder: Path, dice: random.Random) -> list[str]:
    """
    Let two ingests write at the same time: the lock file is removed, as if two hosts did not share locks.

    The system locks the file and not its name, so the second driver makes and holds another one. At least one
    of the two must find out and end; what both wrote is there once.
    """
    site, written, first = _first_at_work(bootstrap_servers, folder, dice)
    jobs = [first]
    try:
        (written.root / f"_{SILVER_LAYER}.lock").unlink()
        time.sleep(dice.choice([0.0, 1.0, 3.0]))
        jobs.append(Job(_copied(written.conf), INGEST))
        wrong = collided(site, written, jobs, harm.some_lines(folder / "more", dice))
    finally:
        for job in jobs:
            job.bury()
    return [*wrong, *_what_is_left(written), *harm.found(site, written)]


def _what_is_left(written: JobsWarehouse) -> list[str]:
    """Ingest what the drivers had not read when they were stopped."""
    code, output = written.ingest()
    return [f"exit code {code}: {output[-500:]}"] if code else []


def collided(
    site: Site, written: JobsWarehouse, jobs: Sequence[Job], lines: list[harm.PublishedLine]
) -> list[str]:
    """Let two drivers work side by side until one of them finds out; return what is wrong with their ends."""
    if not _waited(lambda: _holder(written) == jobs[-1].pid or _is_over(jobs), COMES_TO_WORK_S):
        return [f"the second driver did not come past its lease within {COMES_TO_WORK_S:g} s"]
    if _is_over(jobs):
        return [f"{_ended(job)} before both were past their lease" for job in jobs if job.code is not None]
    is_over = threading.Event()
    publisher = threading.Thread(
        target=site.publish, args=(cycle(lines),), kwargs={"per_s": LINES_PER_S, "until": is_over}
    )
    publisher.start()
    try:
        if not _waited(lambda: _is_over(jobs), COLLIDE_WITHIN_S):
            return [f"two drivers worked side by side for {COLLIDE_WITHIN_S:g} s and neither found out"]
    finally:
        is_over.set()
        publisher.join()
    found_out = [job for job in jobs if job.code is not None]
    wrong = [f"{_ended(job)}, not for another driver" for job in found_out if not has_found_out(job)]
    return wrong + [finding for job in jobs if job not in found_out for finding in wrong_end(job)]


def has_found_out(job: Job) -> bool:
    """Return whether a driver has failed with the message that it met another one."""
    is_named = any(message in job.output for message in FOUND_OUT) or RENAMED_AWAY.search(job.output)
    return job.code == ExitCode.FAILED and bool(is_named)


def wrong_end(job: Job) -> list[str]:
    """Stop a driver; in that moment it may find out too."""
    return [] if job.stop() == 0 or has_found_out(job) else [_ended(job)]


def _first_at_work(
    bootstrap_servers: str, folder: Path, dice: random.Random
) -> tuple[Site, JobsWarehouse, Job]:
    """Let an ingest follow some lines, until it has finished a batch of them."""
    site = Site(bootstrap_servers, folder)
    site.publish(harm.some_lines(folder / "logs", dice))
    written = site.warehouse("harmed", batch=harm.BATCH)
    first = Job(written.conf, INGEST)
    if not _waited(lambda: first.batches > 0 or _is_over([first]), COMES_TO_WORK_S) or _is_over([first]):
        first.bury()
        message = f"{_ended(first)} before it had finished a batch"
        raise RuntimeError(message)
    return site, written, first


def _copied(conf: Path) -> Path:
    """Return the same settings in another folder, for the output of a second job."""
    folder = conf.parent / "second"
    folder.mkdir()
    return Path(shutil.copy(conf, folder))


def _holder(written: JobsWarehouse) -> int:
    """Return the process that last recorded that it holds the lease; 0 while that is being written."""
    try:
        return int(json.loads((written.root / f"_{SILVER_LAYER}.holder.json").read_text())["pid"])
    except (OSError, ValueError):
        return 0


def _is_over(jobs: Sequence[Job]) -> bool:
    return any(job.code is not None for job in jobs)


def _waited(is_so: Callable[[], bool], for_s: float) -> bool:
    deadline = time.monotonic() + for_s
    while not (so := is_so()) and time.monotonic() < deadline:
        time.sleep(LOOK_EVERY_S)
    return so


def _ended(job: Job) -> str:
    return f"process {job.pid} ended with exit code {job.code}: {job.output[-500:]}"


FAULTS: dict[str, Callable[[str, Path, random.Random], list[str]]] = {
    "second driver": second_is_refused,
    "second driver without a lease": lease_is_no_help,
}
