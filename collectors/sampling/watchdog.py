"""
Restore the log levels if the command that changed them dies: a process in its own session.

It reads from a pipe that the command and all programs it started hold open. The pipe ends when all of them
have ended, for whatever reason.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from filelock import FileLock

from collectors.sampling import record
from collectors.sampling.brokers import Brokers
from collectors.sampling.errors import SampleError
from collectors.sampling.restore import LevelChanger, restore
from conf.settings import PROJECT

LOCK, LOG = "lock", "watchdog.log"
FIRST_WAIT_S, LONGEST_WAIT_S = 2.0, 60.0
GIVE_UP_S = 24 * 3_600.0
LOCK_S = 300.0


def start(folder: Path) -> tuple["subprocess.Popen[bytes]", int]:
    """Start the watchdog of a folder; return its process and the write end of the pipe."""
    read_end, alive = os.pipe()
    try:
        with (folder / LOG).open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "collectors.sampling.watchdog", str(folder.resolve())],
                cwd=PROJECT,
                stdin=read_end,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
    finally:
        os.close(read_end)
    return process, alive


def watch(
    folder: Path, brokers_of: Callable[[record.LevelRecord], LevelChanger], sleep: Callable[[float], None]
) -> int:
    """Restore the levels until the record is empty, for at most a day; return an exit code."""
    wait_s, give_up_at = FIRST_WAIT_S, time.monotonic() + GIVE_UP_S
    while time.monotonic() < give_up_at:
        try:
            if record.read(folder) is None:
                return 0
            with FileLock(folder / LOCK, timeout=LOCK_S):
                recorded = record.read(folder)
                if recorded is None:
                    return 0
                for broker, why in restore(folder, brokers_of(recorded), _say).items():
                    _say(f"broker {broker}, retrying: {why}")
                if record.read(folder) is None:
                    return 0
        except (SampleError, OSError) as error:  # also a full disk: levels are restored, the record is not
            _say(f"retrying: {error}")
        sleep(wait_s)
        wait_s = min(2 * wait_s, LONGEST_WAIT_S)
    _say("gave up after 24 hours: run `plumbline sample --restore` when the brokers are available")
    return 1


def brokers_of(recorded: record.LevelRecord) -> Brokers:
    """Return the cluster of a record."""
    return Brokers(recorded.bootstrap_servers, recorded.properties, recorded.security)


def _say(text: str) -> None:
    with suppress(OSError):  # a full disk or a lost terminal must not end the watchdog
        sys.stdout.write(f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {text}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    while os.read(0, 64):
        pass
    sys.exit(watch(Path(sys.argv[1]), brokers_of, time.sleep))
