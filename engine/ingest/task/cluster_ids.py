"""
Keep Kafka clusters with the same name apart: a name belongs to the first Kafka cluster id that was read.

Only the driver decides, between the tasks and the first commit. A task reports the pairs of name and id, and
quarantines the records whose id is not the one that its plan has for their name.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from engine.ingest.task.parsers import Parse
from schemas.delta_log import open_log
from transforms.parse.record import PARSER_VERSION, Outcome, Record, of_other_cluster

_PAIR = itemgetter(Record._fields.index("cluster"), Record._fields.index("cluster_id"))


class ClusterRow(NamedTuple):
    """A row of `silver.clusters`, in column order."""

    cluster: str
    cluster_id: str
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

    def settle(self, found: Sequence[ClusterRow], store: Callable[[Sequence[ClusterRow]], object]) -> bool:
        """
        Bind each name without an id to the first one found; return whether all rows have their name's id.

        If not, the batch has records of two clusters with one name, and its tasks did not know either.
        `store` writes the new rows before any record is accepted because of them.
        """
        with self._lock:
            new = {row.cluster: row for row in reversed(found) if row.cluster not in self._ids}
            if new:
                store(list(new.values()))
                self._ids |= {row.cluster: row.cluster_id for row in new.values()}
            return all(self._ids[row.cluster] == row.cluster_id for row in found)


def own_clusters(records: Sequence[Record], ids: Mapping[str, str]) -> tuple[list[ClusterRow], bool]:
    """
    Return a row for each pair of name and id in the records, and whether every pair has one.

    A pair has none if `ids` has another id for the name.
    """
    found = [pair for pair in dict.fromkeys(map(_PAIR, records)) if None not in pair]
    own = [ClusterRow(*pair) for pair in found if ids.get(pair[0], pair[1]) == pair[1]]
    return own, len(own) == len(found)


def parse_own(parse: Parse, ids: Mapping[str, str], record: Record) -> Outcome:
    """Parse a record; quarantine it if it is of another Kafka cluster than its name."""
    known = ids.get(record.cluster or "")
    if known is None or record.cluster_id in {None, known}:
        return parse(record)
    return of_other_cluster(record, known)
