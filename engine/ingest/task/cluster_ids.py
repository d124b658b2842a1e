"""
Keep Kafka clusters with the same name apart: a name belongs to the first Kafka cluster id that was read.

Only the driver decides, between the tasks and the commit. A task reports the pairs of name and id, and
quarantines the records whose id is not the one that its plan has for their name.
"""

import threading
from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from engine.ingest.task.parsers import Parse
from schemas.delta_log import open_log
from transforms.parse.record import PARSER_VERSION, Outcome, Quarantined, Record

_PAIR = itemgetter(Record._fields.index("cluster"), Record._fields.index("cluster_id"))


class ClusterRow(NamedTuple):
    """A row of `silver.clusters`, in column order."""

    cluster: str
    cluster_id: str
    node: str | None
    position: str | None
    parser_version: int = PARSER_VERSION


class ClusterIds:
    """The Kafka cluster id of each name in a warehouse; the two queries of the ingest share it."""

    def __init__(self, held: Mapping[str, str]) -> None:
        """Begin with the ids that the warehouse has."""
        self._ids, self._lock = dict(held), threading.Lock()

    @classmethod
    def read(cls, where: Path) -> "ClusterIds":
        """Read the table `silver.clusters` in a folder."""
        rows = pa.table(open_log(where).to_pyarrow_dataset().to_table(columns=["cluster", "cluster_id"]))
        return cls(dict(zip(rows["cluster"].to_pylist(), rows["cluster_id"].to_pylist(), strict=True)))

    def by_name(self) -> dict[str, str]:
        """Return the id of each name."""
        with self._lock:
            return dict(self._ids)

    def settle(self, found: Iterable[ClusterRow]) -> bool:
        """
        Bind each name without an id to the first one found; return whether all rows have their name's id.

        If not, the batch has records of two clusters with one name, and its tasks did not know either.
        """
        with self._lock:
            ids = [(self._ids.setdefault(row.cluster, row.cluster_id), row.cluster_id) for row in found]
        return all(known == own for known, own in ids)


def own_clusters(records: Sequence[Record], ids: Mapping[str, str]) -> tuple[list[ClusterRow], bool]:
    """
    Return a row for each pair of name and id in the records, and whether every pair has one.

    It is of the first such record. A pair has none if `ids` has another id for the name.
    """
    found = [pair for pair in dict.fromkeys(map(_PAIR, records)) if None not in pair]
    own = [(name, own_id) for name, own_id in found if ids.get(name, own_id) == own_id]
    first = [next(record for record in records if _PAIR(record) == pair) for pair in own]
    rows = [ClusterRow(*pair, record.node, record.position) for pair, record in zip(own, first, strict=True)]
    return rows, len(own) == len(found)


def parse_own(parse: Parse, ids: Mapping[str, str], record: Record) -> Outcome:
    """Parse a record; quarantine it if it is of another Kafka cluster than its name."""
    known = ids.get(record.cluster or "")
    if known is None or record.cluster_id in {None, known}:
        return parse(record)
    return Quarantined(
        "other_cluster", f"from the Kafka cluster {record.cluster_id}; the name {record.cluster} is {known}"
    )
