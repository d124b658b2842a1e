"""Read the log of a Delta table with delta-rs while other processes commit to it."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

TRIES = 5

LogRead = TypeVar("LogRead")


def open_log(where: Path, version: int | None = None) -> DeltaTable:
    """
    Open the log of a table at a version; None is the newest one.

    Raises:
        deltalake.exceptions.DeltaError: there is no table, or its log cannot be read.

    """
    return _listed_whole(lambda: DeltaTable(where, version=version))


def read_on(log: DeltaTable) -> None:
    """
    Read the entries that were written since a log was opened.

    Raises:
        deltalake.exceptions.DeltaError: the log cannot be read.

    """
    _listed_whole(log.update_incremental)


def is_half_listed(error: DeltaError) -> bool:
    """
    Return whether a log could not be read because the listing of its folder was not whole.

    A listing takes time: it can show the checksum of a new version and lack its entry, which was written
    before the checksum. delta-rs then fails. The next listing has both.
    """
    return "newer than log segment version" in str(error)


def _listed_whole(read: Callable[[], LogRead]) -> LogRead:
    """Read a log again if the listing of its folder was not whole."""
    for attempt in range(1, TRIES + 1):
        try:
            return read()
        except DeltaError as error:
            if attempt == TRIES or not is_half_listed(error):
                raise
            time.sleep(0.01)
    raise AssertionError
