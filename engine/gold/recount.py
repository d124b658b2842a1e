"""Count every line again from time to time, in a process of low priority, so that no batch waits for it."""

import os
import signal
import time
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Self

from conf.progress import Progress
from engine.gold.data_quality import rebuild_data_quality
from engine.process.cores import begin_worker

EVERY_S, SHARE = 300.0, 0.02
"""A count reads every line of the warehouse: every few minutes, and at most this share of the time."""

LOWEST_PRIORITY = 19


class Recount:
    """
    Rebuilds `gold.data_quality` in another process, while this one holds the lease and builds other tables.

    A running count is killed at the end of the `with` block; its commit is atomic.
    """

    def __init__(self, warehouse: Path, progress: Progress) -> None:
        """Count for the first time after `EVERY_S`."""
        self._warehouse, self._progress = warehouse, progress
        self._process: BaseProcess | None = None
        self._began, self._due = 0.0, time.monotonic() + EVERY_S

    def __enter__(self) -> Self:
        """Return the object."""
        return self

    def __exit__(self, *_: object) -> None:
        """Kill a running count."""
        if self._process:
            self._process.kill()
            self._process.join()

    def after_batch(self) -> None:
        """Begin a count if one is due; report one that failed, which is tried again when the next is due."""
        if self._process and self._process.is_alive():
            return
        now = time.monotonic()
        if self._process:
            if self._process.exitcode:
                self._progress.say(f"counting every line failed with exit code {self._process.exitcode}")
            self._due = now + max(EVERY_S, (now - self._began) / SHARE)
            self._process = None
        elif now >= self._due:
            self._began, self._process = now, _started(self._warehouse)


def _started(warehouse: Path) -> BaseProcess:
    process = get_context("spawn").Process(target=_count, args=(warehouse,), daemon=True)
    # The process inherits the mask, so that Ctrl-C does not interrupt its imports.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    process.start()
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    return process


def _count(warehouse: Path) -> None:
    begin_worker()
    os.nice(LOWEST_PRIORITY)
    rebuild_data_quality(warehouse)
