"""
The series of the pages before, by the text that names them: it saves work and changes no result.

A page repeats the series of the page before in their order, so the heads of its lines are compared as one
string. Heads are kept joined, at one byte each: as objects they would be twice as large.
"""

from typing import NamedTuple

import numpy as np

from transforms.parse.scrapes.rows import Ints

MEMORY_BYTES = 256 * 1024 * 1024
"""About 200 nodes of 10,000 series."""

REST_BYTES = 64 * 1024
"""Heads that are not in the last page's list are forgotten beyond so many bytes, or beyond that page's."""

NONE = np.empty(0, np.int64)

Key = tuple[str, str | None, bool]
"""Cluster, node, and whether the page is OpenMetrics."""


class Seen(NamedTuple):
    """What is known of one node; heads are joined by line ends."""

    heads: bytes = b""  # of the last page, in its order
    ids: Ints = NONE
    unread: Ints = NONE  # positions whose head is no series: such lines are read one by one
    rest: bytes = b""
    rest_ids: Ints = NONE

    @property
    def nbytes(self) -> int:
        """Return the bytes held."""
        arrays = (self.ids, self.unread, self.rest_ids)
        return len(self.heads) + len(self.rest) + sum(array.nbytes for array in arrays)

    def known(self) -> dict[bytes, int]:
        """Return the series id of each head that is one series."""
        heads = self.heads.split(b"\n")
        known = dict(zip(heads, self.ids.tolist(), strict=False))  # no heads at all are b"", without an id
        for position in self.unread.tolist():
            known.pop(heads[position], None)
        known.update(zip(self.rest.split(b"\n"), self.rest_ids.tolist(), strict=False))
        return known


def remembered(heads: list[bytes], ids: Ints, unread: Ints, known: dict[bytes, int], page_bytes: int) -> Seen:
    """
    Return what to keep after a page: its heads in order, and of the others in `known` the newest.

    The order of a page whose lines are mostly read one by one, as those with instants are, is not kept.
    """
    if 2 * len(unread) > len(heads):
        heads, ids, unread = [], NONE, NONE
    of_page = set(heads).difference(heads[position] for position in unread.tolist())
    rest, room = dict[bytes, int](), max(page_bytes, REST_BYTES)
    for head in reversed(known):
        if head not in of_page:
            room -= len(head)
            if room < 0:
                break
            rest[head] = known[head]
    kept = list(reversed(rest))
    rest_ids = np.array([rest[head] for head in kept], np.int64)
    return Seen(b"\n".join(heads), ids, unread, b"\n".join(kept), rest_ids)


class Memory:
    """What is known of each node, within a number of bytes; the node that was read longest ago goes first."""

    def __init__(self, most_bytes: int = MEMORY_BYTES) -> None:
        """Begin empty."""
        self._most_bytes, self.nbytes = most_bytes, 0
        self._seen: dict[Key, Seen] = {}

    def get(self, key: Key) -> Seen:
        """Return what is known of a node."""
        return self._seen.get(key, Seen())

    def put(self, key: Key, seen: Seen) -> None:
        """Keep what is known of a node, as the newest."""
        before = self._seen.pop(key, None)
        self.nbytes += seen.nbytes - (before.nbytes if before else 0)
        self._seen[key] = seen
        while self.nbytes > self._most_bytes:
            oldest = next(iter(self._seen))
            self.nbytes -= self._seen.pop(oldest).nbytes
