"""A disk that fills up while the ingest writes, and is freed: one clear line, nothing half, nothing lost."""

import random
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.faults import harm
from benchmarks.faults.site import ENDS_WITHIN_S, JobsWarehouse, PublishedLine, Site
from conf.exit_codes import ExitCode

SIZE_MIB = 64
PAGE_BYTES = 4_096
CHUNK = b"\xa5" * 16 * PAGE_BYTES
LEFT_PAGES = {"warehouse": (15, 5, 2, 0), "checkpoints": (4, 2, 1, 0)}
"""How much room may be left: a file takes a page at least, and those of a checkpoint no more."""

NEVER_FULL = "the disk was never full: the ingest ended well before each time"


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """When the disk fills up, and how much room it has then."""

    left_pages: int
    is_in_work: bool  # not before the ingest has begun a batch
    wait_s: float


LAST_RESORT = Moment(left_pages=0, is_in_work=False, wait_s=0.0)
"""Nothing can be written from the start on."""


@contextmanager
def small_disk(folder: Path, size_mib: int = SIZE_MIB) -> Iterator[Path]:
    """Mount a disk in memory; it is gone again at the end, whatever happens."""
    folder.mkdir(parents=True, exist_ok=True)
    options = f"size={size_mib}m"
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "plumbline-faults", str(folder)], check=True)  # noqa: S607
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)  # noqa: S607 (found where the system has it)


def fill(disk: Path, left_pages: int) -> None:
    """Fill a disk up to its last byte, then give a few back, so that it is full somewhere in what follows."""
    try:
        with _ballast(disk).open("wb", buffering=0) as opened:
            while True:
                opened.write(CHUNK)
    except OSError:
        size = _ballast(disk).stat().st_size
        with _ballast(disk).open("rb+") as opened:
            opened.truncate(max(0, size - left_pages * PAGE_BYTES))


def free(disk: Path) -> None:
    """Free a disk that may be full."""
    _ballast(disk).unlink(missing_ok=True)


def disk_fills(room: str, bootstrap_servers: str, folder: Path, dice: random.Random) -> list[str]:
    """Fill the disk of the warehouse or of the checkpoints at a random moment; free it; start again."""
    site = Site(bootstrap_servers, folder)
    moments = moments_of(room, dice)
    first, *portions = harm.parted(harm.some_lines(folder / "logs", dice), len(moments) + 1)
    site.publish(first)
    written = site.warehouse("harmed", batch=harm.BATCH // 2)
    with small_disk(written.conf.parent / room) as disk:
        code, output = written.ingest()
        assert code == 0, output
        wrong = meets_it_full(site, written, disk, list(zip(moments, portions, strict=True)))
        code, output = written.ingest()
        wrong += [f"exit code {code} once there was room: {output[-500:]}"] if code else []
        return [*wrong, *harm.found(site, written)]


def moments_of(room: str, dice: random.Random) -> list[Moment]:
    """Draw a moment, others with less and less room should the ingest be done before, and the last resort."""
    pages = LEFT_PAGES[room][dice.randrange(len(LEFT_PAGES[room])) :]
    waits_s = (0.0, 0.1, 0.5, 1.0)
    drawn = [
        Moment(left_pages=left, is_in_work=dice.random() < 0.5, wait_s=dice.choice(waits_s)) for left in pages
    ]
    return [*drawn, LAST_RESORT]


def meets_it_full(
    site: Site, written: JobsWarehouse, disk: Path, tries: list[tuple[Moment, list[PublishedLine]]]
) -> list[str]:
    """Fill the disk while lines are taken, free it; go on until a run met it full, and judge that one."""
    for moment, lines in tries:
        site.publish(lines)
        code, output = _while_it_fills(written, disk, moment)
        free(disk)
        if code:
            return _wrong_end(code, output, disk)
    return [NEVER_FULL]


def _while_it_fills(written: JobsWarehouse, disk: Path, moment: Moment) -> tuple[int, str]:
    """Run the ingest, and fill the disk at a moment."""
    printed = list[str]()
    if moment == LAST_RESORT:
        fill(disk, moment.left_pages)
    with written.start("ingest", "--once") as job:
        reader = threading.Thread(target=lambda: printed.extend(job.stderr or ()))
        reader.start()
        try:
            if moment.is_in_work:
                _wait_for_a_batch(written, job)
            if moment != LAST_RESORT:
                time.sleep(moment.wait_s)
                fill(disk, moment.left_pages)
            code = job.wait(ENDS_WITHIN_S)
        finally:
            job.kill()
            reader.join()
    return code, "".join(printed)


def _wait_for_a_batch(written: JobsWarehouse, job: subprocess.Popen[str]) -> None:
    offsets = Path(written.settings.warehouse.checkpoints)
    before = len(list(offsets.glob("*/offsets/*")))
    while job.poll() is None and len(list(offsets.glob("*/offsets/*"))) == before:
        time.sleep(0.02)


def _wrong_end(code: int, output: str, disk: Path) -> list[str]:
    """Return what is wrong: an end needs the code of a full disk, and a line that names the folder."""
    line = next((line for line in reversed(output.splitlines()) if "disk is full" in line), "")
    wrong = [] if code == ExitCode.FULL else [f"exit code {code} and not {ExitCode.FULL}: {output[-800:]}"]
    return wrong if str(disk) in line else [*wrong, f"{disk} is not named: {output[-800:]}"]


def _ballast(disk: Path) -> Path:
    return disk / "ballast"


FAULTS: dict[str, Callable[[str, Path, random.Random], list[str]]] = {
    f"full disk of the {room}": partial(disk_fills, room) for room in LEFT_PAGES
}
