"""
The input and output types of every parser: one telemetry record in, one outcome out.

A parser is `parse(record) -> Kept | Skipped | Quarantined`, in plain Python without Spark, clock or I/O.
Instants are microseconds since 1970 UTC and dates are days since 1970, as integers. Arrow stores the same
numbers, so no row needs a `datetime`.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

PARSER_VERSION = 11
"""The version of the parsers, in every silver row. Increase it when the result for any line changes."""

SHOWN_CHARS = 120
"""The length of the sample of a bad line in `Quarantined.detail`."""

DAY_US = 86_400_000_000
FIRST_US, LAST_US = -719_162 * DAY_US, 2_932_897 * DAY_US - 1
"""The range of instants that all readers of the tables support: years 1 to 9999, in microseconds."""

NODE_NUMBER = re.compile(r"(?<![0-9])0*([0-9]{1,10})\Z")


class Record(NamedTuple):
    """A record of a telemetry topic or a line of a file: the bronze columns that parsers read."""

    value: bytes | None  # raw bytes; None where the rest of a file could not be read
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
    headers: Sequence[tuple[str, bytes | None]] | None = None  # None if every header has a field here
    cluster_id: str | None = None  # Kafka's own, if the edge knows it


class Rejected(NamedTuple):
    """A part of a record that could not be parsed, such as one line of a scrape."""

    position: str
    value: bytes
    reason: str
    detail: str


class Kept(NamedTuple):
    """The rows of a record, by silver table; each row is in column order."""

    rows: Mapping[str, Sequence[Any]]
    rejected: Sequence[Rejected] = ()


class Skipped(NamedTuple):
    """A line that no parser needs; `silver.skipped` counts them by logger."""

    reason: str
    logger: str | None = None


class Quarantined(NamedTuple):
    """A record that cannot be parsed; `reason` is a code of docs/quarantine.md, `detail` is free text."""

    reason: str
    detail: str | None = None


Outcome = Kept | Skipped | Quarantined
NO_CLUSTER = Quarantined("no_cluster", "the record names no cluster")


def of_other_cluster(record: Record, known: str) -> Quarantined:
    """Return the outcome of a record whose cluster name belongs to another Kafka cluster, `known`."""
    detail = f"from the Kafka cluster {record.cluster_id}; the name {record.cluster} is {known}"
    return Quarantined("other_cluster", detail)


def sample(text: str) -> str:
    """Return the start of a bad line, as `Quarantined.detail`."""
    return f"starts with: {text[:SHOWN_CHARS]}"


@lru_cache(maxsize=1_024)
def node_number(node: str | None) -> int | None:
    """
    Return the number at the end of a node's name, which is its broker id; None if it does not fit an int.

    >>> [node_number(node) for node in ("broker-1", "broker-007", "host", "broker-4294967296", None)]
    [1, 7, None, None, None]
    """
    found = NODE_NUMBER.search(node or "")
    return int(found[1]) if found and int(found[1]) < 2**31 else None
