"""
Fail points: named places where a test can kill a job, to show that it loses no data there.

`PLUMBLINE_FAIL_AT=bronze-committed:3` sends SIGKILL to the process when it reaches that point for the third
time; `tasks-running:1+80` does so 80 ms after the first time. Without the variable a point costs one
comparison. `POINTS` lists all points.
"""

import os
import signal
import threading
from collections import Counter
from typing import Final

VARIABLE = "PLUMBLINE_FAIL_AT"

POINTS: Final = (
    "offsets-logged",  # Spark has logged the batch's offsets; no file is written yet.
    "tasks-running",  # The tasks are about to write the first files of the batch.
    "task-files-open",  # A task process has written rows; no file is closed yet.
    "task-files-written",  # A task's files are on disk; the driver does not know them yet.
    "files-written",  # All Parquet files are on disk; no Delta log names them yet.
    "checkpoint-begun",  # A version is committed; its Delta checkpoint is due and not written yet.
    "checkpoint-written",  # The Delta checkpoint is written; the log files it replaces still exist.
    "bronze-committed",  # Bronze is committed; silver is not.
    "silver-committed",  # Kept rows are committed; quarantined and skipped ones are not.
    "batch-written",  # All tables are committed; Spark's commit log does not have the batch yet.
    "gold-begun",  # Silver is committed; gold is not.
    "gold-table-committed",  # A table by window is committed; other tables of its build are not.
    "gold-windows-committed",  # The tables by window are committed; the culprits are not.
    "gold-written",  # All gold tables are committed; Spark's commit log does not have the batch yet.
    "optimize-begun",  # Small files are about to be merged; with a delay the kill hits the merge itself.
    "optimize-committed",  # The merge is committed; the files it replaces still exist.
    "retention-noted",  # Silver records the start of its complete data; nothing is deleted yet.
)

_AT = os.environ.get(VARIABLE)
_seen: Counter[str] = Counter()


def reached(point: str) -> None:
    """Kill the process here if `PLUMBLINE_FAIL_AT` names this point."""
    if _AT is not None:
        _kill_if_selected(point, _AT)


def _kill_if_selected(point: str, setting: str) -> None:
    wanted, _, when = setting.partition(":")
    count, _, after_ms = when.partition("+")
    if wanted not in POINTS:
        message = f"{VARIABLE}={setting}: no such fail point. The fail points are {', '.join(POINTS)}."
        raise ValueError(message)
    if point != wanted:
        return
    _seen[point] += 1
    if _seen[point] != int(count or 1):
        return
    if after_ms:
        threading.Timer(int(after_ms) / 1e3, _die).start()
    else:
        _die()


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
