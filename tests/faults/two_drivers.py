"""Two ingests on one checkpoint: the lease keeps the second out, and without the lease nothing is doubled."""

import contextlib
import random
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

from jobs.ingest import SILVER_LAYER
from jobs.ingest_failures import EXIT_HELD
from tests.faults import harm
from tests.faults.site import ENDS_WITHIN_S, Site


def second_is_refused(bootstrap_servers: str, folder: Path, dice: random.Random) -> list[str]:
    """Start a second ingest while the first one holds the lease."""
    site = Site(bootstrap_servers, folder)
    site.publish(harm.some_lines(folder / "logs", dice))
    written = site.warehouse("harmed", batch=harm.BATCH)
    with written.start("ingest", "--once") as first:
        drained = _drained(first)
        _wait_for(written.root / f"_{SILVER_LAYER}.holder.json")
        code, told = written.ingest()
        wrong = [] if code == EXIT_HELD and f"process {first.pid} " in told else [f"exit code {code}: {told}"]
        wrong += [f"the first: exit code {first.returncode}"] if first.wait(ENDS_WITHIN_S) else []
        drained.join()
    return [*wrong, *harm.found(written, site.ledger)]


def lease_is_no_help(bootstrap_servers: str, folder: Path, dice: random.Random) -> list[str]:
    """
    Let two ingests write beside each other: the lock file is removed, as if two hosts did not share locks.

    The system locks the file and not its name, so the second driver makes and holds another one. At least one
    of the two must find out and end; what both wrote is there once.
    """
    site = Site(bootstrap_servers, folder)
    lines = harm.some_lines(folder / "logs", dice)
    split = len(lines) // 2
    site.publish(lines[:split])
    written = site.warehouse("harmed", batch=harm.BATCH // 3)
    with written.start("ingest", "--once") as first:
        drained = [_drained(first)]
        _wait_for(written.root / f"_{SILVER_LAYER}.holder.json")
        (written.root / f"_{SILVER_LAYER}.lock").unlink()
        time.sleep(dice.choice([0.0, 1.0, 3.0]))
        with written.start("ingest", "--once") as second:
            drained.append(_drained(second))
            site.publish(lines[split:])
            for job in (first, second):
                _end(job)
        for reader in drained:
            reader.join()
    code, told = written.ingest()
    wrong = [f"exit code {code}: {told[-500:]}"] if code else []
    return [*wrong, *harm.found(written, site.ledger)]


def _drained(job: subprocess.Popen[str]) -> threading.Thread:
    reader = threading.Thread(target=lambda: list(job.stderr or ()), daemon=True)
    reader.start()
    return reader


def _wait_for(file: Path) -> None:
    give_up_at = time.monotonic() + ENDS_WITHIN_S
    while not file.exists():
        assert time.monotonic() < give_up_at
        time.sleep(0.02)


def _end(job: subprocess.Popen[str]) -> None:
    with contextlib.suppress(subprocess.TimeoutExpired):
        job.wait(ENDS_WITHIN_S)
        return
    job.send_signal(signal.SIGKILL)


FAULTS: dict[str, Callable[[str, Path, random.Random], list[str]]] = {
    "second driver": second_is_refused,
    "second driver without a lease": lease_is_no_help,
}
