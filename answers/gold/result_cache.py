"""Results of queries that are used again, in bounded memory."""

import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future

from schemas.rows import Row

MOST_RESULTS = 256
"""The maximum number of results in a cache, however few rows they have."""

CacheKey = tuple[str, ...]


class ResultCache:
    """
    The newest results, by key; any thread may ask for them.

    Threads that ask for the same result at once read it once, also if it has too many rows to be cached.
    """

    def __init__(self, most_rows: float) -> None:
        """Begin without results; `most_rows` bounds the rows of all results together."""
        self._most_rows = most_rows
        self._lock = threading.Lock()
        self._reads: dict[CacheKey, Future[list[Row]]] = {}  # that have not ended
        self._results: dict[CacheKey, tuple[float, list[Row]]] = {}  # with the time of the read; oldest first
        self._rows = 0

    def rows(self, key: CacheKey, read: Callable[[], list[Row]], max_age_s: float = math.inf) -> list[Row]:
        """Return the rows of a key; `read` reads them if there are none that are younger than `max_age_s`."""
        with self._lock:
            read_at, rows = self._results.get(key, (-math.inf, []))
            if time.monotonic() - read_at < max_age_s:
                return rows
            is_first = key not in self._reads
            result = self._reads.setdefault(key, Future())
        if is_first:
            try:
                rows = read()
            except BaseException as error:
                self._end(key)
                result.set_exception(error)
                del result  # else the error, its traceback and this frame would keep each other and the rows
                raise
            self._end(key, rows)
            result.set_result(rows)
        return result.result()

    def _end(self, key: CacheKey, rows: list[Row] | None = None) -> None:
        """End a read, and cache its rows if there are any; the oldest results make room for them."""
        with self._lock:
            del self._reads[key]
            if rows is None or len(rows) > self._most_rows:
                return
            self._drop(key)
            while len(self._results) >= MOST_RESULTS or self._rows + len(rows) > self._most_rows:
                self._drop(next(iter(self._results)))
            self._results[key] = time.monotonic(), rows
            self._rows += len(rows)

    def _drop(self, key: CacheKey) -> None:
        _, rows = self._results.pop(key, (0, []))
        self._rows -= len(rows)
