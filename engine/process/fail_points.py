"""
Named places at which a job can be made to die, to show that it loses nothing there.

`PLUMBLINE_FAIL_AT=bronze-committed:3` kills the process, as `kill -9` would, when it comes to that place for
the third time; `tasks-running:1+80` does so 80 ms after it came there. Without the variable a place costs one
comparison. The places are listed in `POINTS`.
"""

import os
import signal
import threading
from collections import Counter
from typing import Final

VARIABLE = "PLUMBLINE_FAIL_AT"

POINTS: Final = (
    "offsets-logged",  # Spark has logged the batch's offsets and written nothing yet
    "tasks-running",  # the tasks are about to write the first files of the batch
    "task-files-open",  # a task (a process of its own) has written rows and closed no file
    "task-files-written",  # a task's files are on disk and the driver does not know them
    "files-written",  # Parquet is there and no log names it
    "checkpoint-begun",  # a version is committed, and the Delta checkpoint that it is due is not written
    "checkpoint-written",  # it is, and the log it replaces is still there
    "bronze-committed",  # and silver is not
    "silver-committed",  # the kept rows are, the quarantined and skipped ones are not
    "batch-written",  # all tables are, and Spark's commit log does not say so
    "gold-begun",  # silver is committed and gold is not
    "gold-windows-committed",  # the tables of windows are, the culprits are not
    "gold-written",  # all tables are, and Spark's commit log does not say so
    "optimize-begun",  # small files are about to be merged; timed, it is hit while they are
    "optimize-committed",  # they are, and what they replace is still there
    "retention-noted",  # silver tells from when on it is whole, and nothing is deleted yet
)

_AT = os.environ.get(VARIABLE)
_seen: Counter[str] = Counter()


def reached(point: str) -> None:
    """Die here if told to."""
    if _AT is not None:
        _die_if_told(point, _AT)


def _die_if_told(point: str, told: str) -> None:
    wanted, _, when = told.partition(":")
    nth, _, after_ms = when.partition("+")
    if wanted not in POINTS:
        message = f"{VARIABLE}={told}: the places are {', '.join(POINTS)}"
        raise ValueError(message)
    if point != wanted:
        return
    _seen[point] += 1
    if _seen[point] != int(nth or 1):
        return
    if after_ms:
        threading.Timer(int(after_ms) / 1e3, _die).start()
    else:
        _die()


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
