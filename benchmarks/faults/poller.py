"""A concurrent reader during the faults: it polls every table and must never see part of a batch."""

import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable

from benchmarks.faults.job import batch_ends
from schemas.bronze import BRONZE
from schemas.fields import Table
from schemas.gold.broker_rtt import BROKER_RTT
from schemas.gold.fetch_latency import FETCH_LATENCY
from schemas.gold.stock_fetch_total import STOCK_FETCH_TOTAL
from schemas.silver.client_events import CLIENT_EVENTS
from schemas.silver.not_kept import QUARANTINE
from schemas.silver.requests import REQUESTS

RECORDS = (*BRONZE, REQUESTS, CLIENT_EVENTS, QUARANTINE)
WINDOWS = {
    FETCH_LATENCY: ("cluster", "window_start"),
    BROKER_RTT: ("cluster", "window_start"),
    STOCK_FETCH_TOTAL: ("cluster", "scraped_at", "leader_id"),
}
"""Keys of gold rows that must not disappear; a window may change after it is written."""

EVERY_S = 0.5

Partition = tuple[str, int]
Ends = dict[Partition, int]
Places = dict[Partition, np.ndarray]
"""The offsets of some records, by partition."""


@dataclass(frozen=True, slots=True)
class TopicLook:
    """One look at a topic in a table: the rows and the highest offset + 1 of each partition."""

    table: Table
    topic: str
    version: int
    rows: dict[Partition, int]
    ends: dict[Partition, int]

    def __str__(self) -> str:
        """Return the start of a failure message."""
        return f"{self.table.name} version {self.version} showed {self.rows}"


class Poller(threading.Thread):
    """A thread that polls until it is stopped; `wrong` has its failures, `partial` finds more at the end."""

    def __init__(self, root: Path, checkpoints: Path) -> None:
        """Poll the tables of one warehouse, and Spark's offset log for the ends of batches."""
        super().__init__(name="poller", daemon=True)
        self.wrong, self.looks = list[str](), 0
        self._root, self._checkpoints = root, checkpoints
        self._seen, self._ends = list[TopicLook](), defaultdict[str, dict[int, Ends]](dict)
        self._offsets = dict[Path, Places]()
        self._rows = dict[tuple[str, str], dict[Partition, int]]()
        self._versions, self._windows = dict[str, int](), dict[str, set[tuple[object, ...]]]()
        self._is_over = threading.Event()

    def run(self) -> None:
        """Poll; an error that ends the thread would go unseen, so it becomes a failure."""
        try:
            while not self._is_over.wait(EVERY_S):
                self.look()
        except BaseException as error:  # noqa: BLE001 (a panic of delta-rs is no Exception)
            self.wrong.append(f"the concurrent reader has died: {error!r:.200}")

    def finish(self) -> list[str]:
        """Stop, look once more, and return all failures."""
        self._is_over.set()
        if self.is_alive():
            self.join()
        if not self._versions:
            self.wrong.append("the concurrent reader has seen no table")
        self.look()
        self.wrong += self.partial()
        return sorted(set(self.wrong))

    def look(self) -> None:
        """Look once at every existing table."""
        for table in (*RECORDS, *WINDOWS):
            where = self._root / table.layer / table.name
            if not any((where / "_delta_log").glob("*.json")):
                continue
            with self._noting_failure(table.name):
                self._look_at(table, where)
        # Read after the tables: Spark logs the offsets of a batch before any table has its rows.
        for checkpoint in self._checkpoints.glob("ingest_*"):
            ends = self._ends[checkpoint.name]
            with self._noting_failure(checkpoint.name):
                ends |= batch_ends(checkpoint, known=ends.keys())
        self.looks += 1

    def partial(self) -> list[str]:
        """Return the looks that did not see exactly all rows of the batches up to some batch."""
        parts = list[str]()
        for table in {seen.table for seen in self._seen}:
            with self._noting_failure(table.name):
                final = self._places(self._files(table))
                looks = (seen for seen in self._seen if seen.table == table)
                parts += [failure for seen in looks if (failure := self._part_of_a_batch(seen, final))]
        return parts

    @contextmanager
    def _noting_failure(self, name: str) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # noqa: BLE001 (any read error is a failure, and the next look continues)
            self.wrong.append(f"{name}: a concurrent reader failed: {error!r:.200}")

    def _part_of_a_batch(self, seen: TopicLook, final: Places) -> str:
        ends = covering(seen, (ends for batches in self._ends.values() for ends in batches.values()))
        if ends is None:
            return f"{seen}: no batch of Spark's log ends after it"
        topic_ends = {place: end for place, end in ends.items() if place in final and place[0] == seen.topic}
        whole = {place: int((final[place] < end).sum()) for place, end in topic_ends.items()}
        whole = {place: rows for place, rows in whole.items() if rows}
        return "" if whole == seen.rows else f"{seen}: a part of a batch, which has {whole}"

    def _look_at(self, table: Table, where: Path) -> None:
        log = DeltaTable(str(where))
        version, before = log.version(), self._versions.get(table.name, -1)
        if version == before:
            return
        if version < before:
            self.wrong.append(f"{table.name}: version {before} went back to {version}")
        if table in WINDOWS:
            self._judge_windows(table, version, log)
        else:
            self._judge_records(table, version, self._files_of(log, where))
        self._versions[table.name] = version  # Set last, so that a failed look is repeated.

    def _judge_windows(self, table: Table, version: int, log: DeltaTable) -> None:
        rows = log.to_pyarrow_table(columns=list(WINDOWS[table])).to_pylist()
        windows = {tuple(row.values()) for row in rows}
        if gone := self._windows.get(table.name, set()) - windows:
            self.wrong.append(
                f"{table.name}: version {version} lacks {len(gone)} windows, as {min(gone, key=str)}"
            )
        self._windows[table.name] = windows

    def _judge_records(self, table: Table, version: int, files: list[Path]) -> None:
        held = self._places(files)
        for topic in sorted({topic for topic, _ in held}):
            places = {place: offsets for place, offsets in held.items() if place[0] == topic}
            rows = {place: len(offsets) for place, offsets in places.items()}
            ends = {place: int(offsets.max()) + 1 for place, offsets in places.items()}
            seen = TopicLook(table, topic, version, rows, ends)
            if any(len(np.unique(offsets)) < len(offsets) for offsets in places.values()):
                self.wrong.append(f"{seen}: doubled")
            if table in BRONZE and rows != ends:  # The topics start at offset 0.
                self.wrong.append(f"{seen}: a hole, the ends are {ends}")
            if any(rows.get(place, 0) < n for place, n in self._rows.get((table.name, topic), {}).items()):
                self.wrong.append(f"{seen}: it shrank from {self._rows[table.name, topic]}")
            self._rows[table.name, topic] = rows
            self._seen.append(seen)

    def _places(self, files: list[Path]) -> Places:
        """Return the offsets in the files, by partition."""
        found = defaultdict[Partition, list[np.ndarray]](list)
        for file in files:
            if file not in self._offsets:
                self._offsets[file] = offsets_in(file)
            for place, offsets in self._offsets[file].items():
                found[place].append(offsets)
        return {place: np.concatenate(parts) for place, parts in found.items()}

    def _files(self, table: Table) -> list[Path]:
        where = self._root / table.layer / table.name
        return self._files_of(DeltaTable(str(where)), where)

    @staticmethod
    def _files_of(log: DeltaTable, where: Path) -> list[Path]:
        return [where / unquote(file) for file in pa.table(log.get_add_actions())["path"].to_pylist()]


def covering(seen: TopicLook, batches: Iterable[Ends]) -> Ends | None:
    """Return the ends of the first batch that includes everything that was seen; None without one."""
    later = [ends for ends in batches if all(end <= ends.get(place, -1) for place, end in seen.ends.items())]
    return min(later, key=lambda ends: sum(ends.values()), default=None)


def offsets_in(file: Path) -> Places:
    """Return the offsets of one Parquet file by Kafka partition; `ParquetFile` ignores partition folders."""
    rows = pq.ParquetFile(file).read(columns=["topic", "partition", "offset"])
    places = rows.group_by(["topic", "partition"]).aggregate([("offset", "list")]).to_pylist()
    return {(row["topic"], row["partition"]): np.array(row["offset_list"]) for row in places}
