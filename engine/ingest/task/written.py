"""The report of a task to the driver: one row per written file, and one with its counts."""

import pickle
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pyarrow as pa

from conf.names import TelemetryPartition
from engine.ingest.task.cluster_ids import ClusterRow
from engine.ingest.task.kafka import Epochs
from transforms.parse.record import Record

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
    offsets: dict[TelemetryPartition, tuple[int, int, int]] = field(
        default_factory=dict
    )  # first, last, records
    epochs: Epochs = field(default_factory=Epochs)
    new_rows: dict[str, list[Any]] = field(default_factory=dict)
    clusters: list[ClusterRow] = field(default_factory=list)  # with repetitions

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
        self.epochs.truncated += other.epochs.truncated
        for place, epoch in other.epochs.last.items():
            if other.offsets[place][1] == self.offsets[place][1]:  # the last offset so far
                self.epochs.last[place] = epoch
        self.clusters += other.clusters
        for table, rows in other.new_rows.items():
            self.new_rows.setdefault(table, []).extend(rows)


def tally_of(pickled: Iterable[bytes]) -> Tally:
    """Return the sum of the pickled tallies of a batch's tasks."""
    tally = Tally()
    for each in pickled:
        tally.add(pickle.loads(each))  # noqa: S301 (only this program's own tasks write it)
    return tally
