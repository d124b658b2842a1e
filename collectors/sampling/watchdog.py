"""
A process of its own session that puts levels back when the command that changed them has died.

It reads a pipe that the command and every program it started hold open: the end of the pipe is the end of
all of them, however they ended.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from filelock import FileLock

from collectors.sampling import record
from collectors.sampling.brokers import Brokers
from collectors.sampling.errors import SampleError
from collectors.sampling.restore import Changing, restore
from conf.settings import PROJECT

LOCK, LOG = "lock", "watchdog.log"
FIRST_WAIT_S, LONGEST_WAIT_S = 2.0, 60.0
GIVE_UP_S = 24 * 3_600.0
LOCK_S = 300.0


def started(folder: Path) -> tuple["subprocess.Popen[bytes]", int]:
    """Start the watchdog of a folder; give it, and the end of the pipe that keeps it waiting."""
    ends, alive = os.pipe()
    try:
        with (folder / LOG).open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "collectors.sampling.watchdog", str(folder.resolve())],
                cwd=PROJECT,
                stdin=ends,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
    finally:
        os.close(ends)
    return process, alive


def watch(
    folder: Path, brokers_of: Callable[[record.Record], Changing], sleep: Callable[[float], None]
) -> int:
    """Restore until the record is empty; give an exit code."""
    wait_s, give_up_at = FIRST_WAIT_S, time.monotonic() + GIVE_UP_S
    while time.monotonic() < give_up_at:
        try:
            if record.read(folder) is None:
                return 0
            with FileLock(folder / LOCK, timeout=LOCK_S):
                kept = record.read(folder)
                if kept is None:
                    return 0
                for broker, why in restore(folder, brokers_of(kept), _say).items():
                    _say(f"broker {broker} is away, tried again: {why}")
                if record.read(folder) is None:
                    return 0
        except (SampleError, TimeoutError) as error:
            _say(f"tried again: {error}")
        sleep(wait_s)
        wait_s = min(2 * wait_s, LONGEST_WAIT_S)
    _say("given up: `plumbline sample --restore` when the brokers are back")
    return 1


def brokers_of(kept: record.Record) -> Brokers:
    """Give the cluster of a record."""
    return Brokers(kept.bootstrap_servers, kept.properties)


def _say(text: str) -> None:
    sys.stdout.write(f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    while os.read(0, 64):
        pass
    sys.exit(watch(Path(sys.argv[1]), brokers_of, time.sleep))
