"""
One telemetry record in, one outcome out: what every parser of this package takes and returns.

A parser is `parse(record) -> Kept | Skipped | Quarantined`: plain Python without Spark, clock or I/O.
Instants are integers, microseconds since 1970 UTC; dates are integers, days since 1970: the numbers that
Arrow stores, so no `datetime` is made per row.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

PARSER_VERSION = 4
"""Raised with every change of what a line is read as; each silver row carries it."""

SHOWN_CHARS = 120
"""How much of a bad line `Quarantined.detail` repeats."""

DAY_US = 86_400_000_000
NODE_NUMBER = re.compile(r"(?<![0-9])0*([0-9]{1,10})\Z")


class Record(NamedTuple):
    """A record of a telemetry topic or a line of a file: the columns of bronze that parsers read."""

    value: bytes | None  # as it came; None where a file could not be read further
    cluster: str | None = None
    node: str | None = None
    kind: str | None = None
    time_zone: str | None = None
    source: str | None = None
    position: str | None = None
    topic: str | None = None
    partition: int | None = None
    offset: int | None = None
    timestamp: int | None = None  # of the Kafka record, microseconds
    chunk: str | None = None
    content_encoding: str | None = None
    headers: Sequence[tuple[str, bytes | None]] | None = None  # None where each has a field here


class Rejected(NamedTuple):
    """One part of a kept record that could not be read: a line of a scrape."""

    position: str
    value: bytes
    reason: str
    detail: str


class Kept(NamedTuple):
    """What a record says: rows by the name of their silver table, in the order of the table's columns."""

    rows: Mapping[str, Sequence[Any]]
    rejected: Sequence[Rejected] = ()


class Skipped(NamedTuple):
    """A line that is not ours to parse; counted by logger in `silver.skipped`."""

    reason: str
    logger: str | None = None


class Quarantined(NamedTuple):
    """A record that cannot be read; `reason` is one of docs/quarantine.md, `detail` is for people."""

    reason: str
    detail: str | None = None


Outcome = Kept | Skipped | Quarantined
NO_CLUSTER = Quarantined("no_cluster", "the record names no cluster")


def sample(text: str) -> str:
    """Return the start of a bad line, for people."""
    return f"starts with: {text[:SHOWN_CHARS]}"


@lru_cache(maxsize=1_024)
def node_number(node: str | None) -> int | None:
    """
    Return the number at the end of a node's name, which is its broker id; None where a column cannot hold it.

    >>> [node_number(node) for node in ("broker-1", "broker-007", "host", "broker-4294967296", None)]
    [1, 7, None, None, None]
    """
    found = NODE_NUMBER.search(node or "")
    return int(found[1]) if found and int(found[1]) < 2**31 else None
