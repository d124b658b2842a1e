"""A disk that fills up while the ingest writes, and is freed: one clear line, nothing half, nothing lost."""

import random
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from jobs.ingest_failures import EXIT_FULL
from tests.faults import harm
from tests.faults.site import ENDS_WITHIN_S, Site, Written

SIZE_MIB = 64
CHUNK = b"\xa5" * 65_536
ROOMS = ("warehouse", "checkpoints")


@contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """Mount a disk in memory; it is gone again at the end, whatever happens."""
    folder.mkdir(parents=True, exist_ok=True)
    options = f"size={SIZE_MIB}m"
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "plumbline-faults", str(folder)], check=True)  # noqa: S607
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)  # noqa: S607 (found where the system has it)


def fill(disk: Path, left_bytes: int) -> None:
    """Fill a disk up to its last byte, then give a few back, so that it is full somewhere in what follows."""
    ballast = disk / "ballast"
    try:
        with ballast.open("wb", buffering=0) as opened:
            while True:
                opened.write(CHUNK)
    except OSError:
        size = ballast.stat().st_size
        with ballast.open("rb+") as opened:
            opened.truncate(max(0, size - left_bytes))


def disk_fills(room: str, bootstrap_servers: str, folder: Path, dice: random.Random) -> list[str]:
    """Fill the disk of the warehouse or of the checkpoints at a random moment; free it; start again."""
    site = Site(bootstrap_servers, folder)
    lines = harm.some_lines(folder / "logs", dice)
    split = len(lines) // 2
    site.publish(lines[:split])
    written = site.warehouse("harmed", batch=harm.BATCH)
    with small_disk(written.conf.parent / room) as disk:
        code, told = written.ingest()
        assert code == 0, told
        site.publish(lines[split:])
        code, told = _while_it_fills(written, disk, dice)
        wrong = _told_well(code, told, disk)
        (disk / "ballast").unlink(missing_ok=True)
        code, told = written.ingest()
        wrong += [f"exit code {code} once there was room: {told[-500:]}"] if code else []
        return [*wrong, *harm.found(written, site.ledger)]


def _while_it_fills(written: Written, disk: Path, dice: random.Random) -> tuple[int, str]:
    """Run the ingest; fill the disk up to a random rest, at its start or when it has written something."""
    left_bytes = dice.choice([0, 0, 2_000, 20_000, 60_000])
    wait_s, told = dice.choice([0.0, 0.1, 0.5, 1.0]), list[str]()
    with written.start("ingest", "--once") as job:
        reader = threading.Thread(target=lambda: told.extend(job.stderr or ()))
        reader.start()
        try:
            if dice.random() < 0.5:
                _wait_for_a_batch(written, job)
            time.sleep(wait_s)
            fill(disk, left_bytes)
            code = job.wait(ENDS_WITHIN_S)
        finally:
            job.kill()
            reader.join()
    return code, "".join(told)


def _wait_for_a_batch(written: Written, job: subprocess.Popen[str]) -> None:
    offsets = Path(written.settings.warehouse.checkpoints)
    before = len(list(offsets.glob("*/offsets/*")))
    while job.poll() is None and len(list(offsets.glob("*/offsets/*"))) == before:
        time.sleep(0.02)


def _told_well(code: int, told: str, disk: Path) -> list[str]:
    """Want a line that names the folder, unless the job ended before the disk was full."""
    if code == 0:
        return []
    line = next((line for line in reversed(told.splitlines()) if "disk is full" in line), "")
    wrong = [] if code == EXIT_FULL else [f"exit code {code} and not {EXIT_FULL}: {told[-800:]}"]
    return wrong if str(disk) in line else [*wrong, f"{disk} is not named: {told[-800:]}"]


FAULTS: dict[str, Callable[[str, Path, random.Random], list[str]]] = {
    f"full disk of the {room}": partial(disk_fills, room) for room in ROOMS
}
