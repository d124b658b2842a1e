"""
A cache of series ids by line head, from earlier pages. It saves work and does not change results.

A page usually repeats the series of the page before in the same order, so all heads are compared as one
string. Heads are stored as one joined string, since separate objects would take twice the memory.
"""

from typing import NamedTuple

import numpy as np

from transforms.parse.scrapes.rows import Ints

MEMORY_BYTES = 256 * 1024 * 1024
"""Enough for about 200 nodes with 10,000 series each."""

REST_BYTES = 64 * 1024
"""The most bytes of heads kept that are not in the last page; the page's own size if that is larger."""

NONE = np.empty(0, np.int64)

Key = tuple[str, str | None, bool]
"""Cluster, node, and whether the page is OpenMetrics."""


class SeenSeries(NamedTuple):
    """The cached series of one node; heads are joined with line breaks."""

    heads: bytes = b""  # heads of the last page, in page order
    ids: Ints = NONE
    unread: Ints = NONE  # positions whose head is no series; such lines are parsed one by one
    rest: bytes = b""
    rest_ids: Ints = NONE

    @property
    def nbytes(self) -> int:
        """Return the size in bytes."""
        arrays = (self.ids, self.unread, self.rest_ids)
        return len(self.heads) + len(self.rest) + sum(array.nbytes for array in arrays)

    def known(self) -> dict[bytes, int]:
        """Return the series id of each head that is exactly one series."""
        heads = self.heads.split(b"\n")
        known = dict(zip(heads, self.ids.tolist(), strict=False))  # Without heads, b"" has no id.
        for position in self.unread.tolist():
            known.pop(heads[position], None)
        known.update(zip(self.rest.split(b"\n"), self.rest_ids.tolist(), strict=False))
        return known


def remembered(
    heads: list[bytes], ids: Ints, unread: Ints, known: dict[bytes, int], page_bytes: int
) -> SeenSeries:
    """
    Return the entry to cache after a page: its heads in order, and the newest other heads of `known`.

    If most lines were parsed one by one, as lines with instants are, the page's order is not kept.
    """
    if 2 * len(unread) > len(heads):
        heads, ids, unread = [], NONE, NONE
    page_heads = set(heads).difference(heads[position] for position in unread.tolist())
    rest, room = dict[bytes, int](), max(page_bytes, REST_BYTES)
    for head in reversed(known):
        if head not in page_heads:
            room -= len(head)
            if room < 0:
                break
            rest[head] = known[head]
    kept = list(reversed(rest))
    rest_ids = np.array([rest[head] for head in kept], np.int64)
    return SeenSeries(b"\n".join(heads), ids, unread, b"\n".join(kept), rest_ids)


class SeriesMemory:
    """An LRU cache of `SeenSeries` by node, with a limit in bytes."""

    def __init__(self, most_bytes: int = MEMORY_BYTES) -> None:
        """Start with an empty cache."""
        self._most_bytes, self.nbytes = most_bytes, 0
        self._seen: dict[Key, SeenSeries] = {}

    def get(self, key: Key) -> SeenSeries:
        """Return the entry of a node; an empty one if the node is not cached."""
        return self._seen.get(key, SeenSeries())

    def put(self, key: Key, seen: SeenSeries) -> None:
        """Store the entry of a node as the newest, and evict the oldest nodes beyond the limit."""
        before = self._seen.pop(key, None)
        self.nbytes += seen.nbytes - (before.nbytes if before else 0)
        self._seen[key] = seen
        while self.nbytes > self._most_bytes:
            oldest = next(iter(self._seen))
            self.nbytes -= self._seen.pop(oldest).nbytes
