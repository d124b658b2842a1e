"""The report of a task to the driver: one row per written file, and one with its counts."""

import json
import pickle
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from transforms.parse.record import Record

Place = tuple[str, int]
"""Topic and partition."""

SCHEMA = "table string, path string, size bigint, rows bigint, day string, stats string, tally binary"
ARROW = pa.schema(
    [
        ("table", pa.string()),
        ("path", pa.string()),
        ("size", pa.int64()),
        ("rows", pa.int64()),
        ("day", pa.string()),
        ("stats", pa.string()),
        ("tally", pa.binary()),
    ]
)


class File(NamedTuple):
    """One Parquet file of a table, with what a commit records about it."""

    table: str  # layer.name
    path: str  # relative to the table's folder
    size: int
    rows: int
    day: str | None  # value of the table's partition column
    stats: str  # Delta's statistics, JSON


class Node(NamedTuple):
    """The key of record counts."""

    kind: str | None
    cluster: str | None
    node: str | None
    outcome: str


class SkippedKey(NamedTuple):
    """The key of skipped-line counts."""

    kind: str | None
    cluster: str | None
    node: str | None
    source: str | None
    logger: str | None
    reason: str
    ingest_date: int | None


@dataclass(slots=True)
class Tally:
    """The counts of a task, and its rows of the tables that the driver writes (`known.WRITTEN_ONCE`)."""

    outcomes: Counter[Node] = field(default_factory=Counter)
    newest_us: dict[Node, int] = field(default_factory=dict)
    skipped: Counter[SkippedKey] = field(default_factory=Counter)
    offsets: dict[Place, tuple[int, int, int]] = field(default_factory=dict)  # first, last, records
    new_rows: dict[str, list[Any]] = field(default_factory=dict)

    def count(self, record: Record, outcome: str, newest_us: int | None) -> None:
        """Count a record; `newest_us` is the record's own instant in microseconds."""
        _, cluster, node, kind, *_ = record
        key = tuple.__new__(Node, (kind, cluster, node, outcome))  # Calling the class takes twice as long.
        self.outcomes[key] += 1
        if newest_us is not None and newest_us > self.newest_us.get(key, newest_us - 1):
            self.newest_us[key] = newest_us

    def add(self, other: "Tally") -> None:
        """Add the counts of another task."""
        self.outcomes.update(other.outcomes)
        self.skipped.update(other.skipped)
        for key, newest in other.newest_us.items():
            self.newest_us[key] = max(newest, self.newest_us.get(key, newest))
        for place, (first, last, records) in other.offsets.items():
            mine = self.offsets.get(place, (first, last, 0))
            self.offsets[place] = (min(first, mine[0]), max(last, mine[1]), records + mine[2])
        for table, rows in other.new_rows.items():
            self.new_rows.setdefault(table, []).extend(rows)


def statistics(footer: pq.FileMetaData, instants: Iterable[str]) -> Mapping[str, Any]:
    """Return the Delta statistics of a file: row count, and min, max and NULL count per instant column."""
    stats: dict[str, Any] = {"numRecords": footer.num_rows, "minValues": {}, "maxValues": {}, "nullCount": {}}
    places = {footer.schema.column(n).path: n for n in range(footer.num_columns)}
    for name in (name for name in instants if name in places):
        groups = [footer.row_group(g).column(places[name]).statistics for g in range(footer.num_row_groups)]
        if not all(groups):
            continue
        stats["nullCount"][name] = sum(group.null_count for group in groups)
        known = [group for group in groups if group.has_min_max]
        if known and len(known) == sum(group.num_values > 0 for group in groups):
            stats["minValues"][name] = _instant(min(group.min for group in known))
            stats["maxValues"][name] = _instant(max(group.max for group in known))
    return stats


def stats_json(footer: pq.FileMetaData, instants: Iterable[str]) -> str:
    """Return `statistics` as the JSON string of a Delta log entry."""
    return json.dumps(statistics(footer, instants))


def _instant(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def tally_of(pickled: Iterable[bytes]) -> Tally:
    """Return the sum of the pickled tallies of a batch's tasks."""
    tally = Tally()
    for each in pickled:
        tally.add(pickle.loads(each))  # noqa: S301 (only this program's own tasks write it)
    return tally
