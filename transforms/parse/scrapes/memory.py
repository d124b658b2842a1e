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

REST_BYTES = 1024 * 1024
"""Heads that the last page has not are forgotten beyond so many bytes, or beyond the bytes of that page."""

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


def remembered(
    heads: list[bytes], ids: Ints, unread: Ints, known: dict[bytes, int], added: set[bytes]
) -> Seen:
    """
    Return what to keep after a page: `known` are all its heads, `added` those that it had first.

    The order of a page whose lines are mostly read one by one, as those with instants are, is not kept.
    """
    if 2 * len(unread) > len(heads):
        heads, ids, unread = [], NONE, NONE
    joined, of_page = b"\n".join(heads), set(heads)
    rest = {head: series_id for head, series_id in known.items() if head not in of_page}
    if sum(map(len, rest)) > max(len(joined), REST_BYTES):
        rest = {head: series_id for head, series_id in rest.items() if head in added}
    return Seen(joined, ids, unread, b"\n".join(rest), np.array([*rest.values()], np.int64))


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
