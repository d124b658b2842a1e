"""Whether the windows of a warehouse are complete, and which of them later lines may settle."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow.compute as pc

from engine.delta import tables
from engine.delta.snapshot import CUT, Snapshot
from schemas.fields import Table
from schemas.silver.requests import REQUESTS
from transforms.gold.build import Arrived
from transforms.spans import Span, window_of, windows_of
from transforms.windows import (
    COVERAGE_REACH,
    LINE,
    SETTLE_S,
    WINDOW_S,
    Coverage,
    NewestLines,
    coverage,
    newest_lines,
)

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class _LinesOfFiles:
    """The newest lines in each data file, because a file never changes."""

    def __init__(self) -> None:
        self._of_file: dict[str, NewestLines] = {}

    def near(self, requests: Snapshot, spans: Sequence[Span]) -> NewestLines:
        """Return the newest lines around the spans, and some farther lines of the same files."""
        paths = requests.overlapping("logged_at", spans, COVERAGE_REACH)
        known = self._of_file
        # Only the files of the last call are kept: the next one needs most of them again.
        self._of_file = {
            path: known[path] if path in known else newest_lines(requests.rows_in([path], LINE))
            for path in paths
        }
        newest: NewestLines = {}
        for of_file in self._of_file.values():
            for key, at_us in of_file.items():
                newest[key] = max(at_us, newest.get(key, at_us))
        return newest


class Settling:
    """
    The newest request line of each broker, and the windows that were not settled when they were built.

    Both can be read from tables again, so a new process continues where the last one stopped.
    """

    def __init__(self, warehouse: Path, covered: Iterable[Table]) -> None:
        """
        Read the unsettled windows of the `covered` gold tables.

        All of them are read, because a job that was killed may have settled a window in the first one only.
        """
        self._lines = _LinesOfFiles()
        self._newest: dict[tuple[str, int], int] = {}  # by cluster and broker, epoch microseconds
        self._known: set[str] = set()  # clusters whose lines of the last minute are in `_newest`
        self._unsettled: set[tuple[str, int]] = set()
        for table in (table for table in covered if "is_settled" in table.schema.names):
            columns = ("cluster", "window_start")
            rows = tables.snapshot(warehouse, table).all_rows(columns, ~pc.field("is_settled")).read_all()
            found = rows.group_by(list(columns)).aggregate([]).to_pylist()
            self._unsettled |= {(row["cluster"], _second(row["window_start"])) for row in found}

    def saw(self, arrived: Sequence[Arrived]) -> None:
        """Note the newest lines of a batch (`arrivals.arrived`)."""
        for row in arrived:
            if row.input == REQUESTS.name and row.broker_id is not None:
                self._note(row.cluster, row.broker_id, _micros(row.newest))

    def may_settle(self) -> set[int]:
        """Return the windows that were built unsettled and that later lines may have settled."""
        return {window for cluster, window in self._unsettled if self._can_be_settled(cluster, window)}

    def covered(self, requests: Snapshot, spans: Sequence[Span]) -> list[Coverage]:
        """Return the coverage of the windows, and note which of them are not settled."""
        newest = self._lines.near(requests, spans)
        for (cluster, broker, _), at in newest.items():
            self._note(cluster, broker, at)
        for cluster in {cluster for cluster, _, _ in newest} - self._known:
            self._learn_newest(requests, cluster)
        for (cluster, broker), at in self._newest.items():
            key = (cluster, broker, window_of(at / 1e6))
            newest[key] = max(at, newest.get(key, at))
        done = windows_of(spans)
        rows = [row for row in coverage(newest) if _second(row.window_start) in done]
        self.forget(done)
        self._unsettled |= {
            (row.cluster, _second(row.window_start))
            for row in rows
            if not row.is_settled and row.nodes_reporting
        }
        return rows

    def forget(self, windows: set[int]) -> None:
        """Forget unsettled windows, because they are built or can no longer be built."""
        self._unsettled = {key for key in self._unsettled if key[1] not in windows}

    def _note(self, cluster: str, broker_id: int, at_us: int) -> None:
        self._newest[cluster, broker_id] = max(at_us, self._newest.get((cluster, broker_id), at_us))

    def _learn_newest(self, requests: Snapshot, cluster: str) -> None:
        """
        Read the lines of a cluster's last minute, the newest files first; later the stream supplies them.

        Earlier lines are not needed: windows that end before the last minute are settled in any case.
        """
        for path, latest in requests.newest_first("logged_at"):
            newest = max(at for (where, _), at in self._newest.items() if where == cluster)
            if latest and _micros(latest + CUT) < newest - SETTLE_S * 1_000_000:
                break
            lines = requests.rows_in([path], LINE, pc.field("cluster") == cluster)
            for (_, broker, _), at in newest_lines(lines).items():
                self._note(cluster, broker, at)
        self._known.add(cluster)

    def _can_be_settled(self, cluster: str, window: int) -> bool:
        """Return False if `windows.coverage` would certainly find the window unsettled again."""
        end_us, settle_us = (window + WINDOW_S) * 1_000_000, SETTLE_S * 1_000_000
        known = [at for (where, _), at in self._newest.items() if where == cluster]
        is_read = all(at >= end_us for at in known if at >= window * 1_000_000 - settle_us)
        return bool(known) and (is_read or max(known) > end_us + settle_us)


def _micros(at: datetime) -> int:
    """Return epoch microseconds."""
    return (at - EPOCH) // timedelta(microseconds=1)


def _second(at: datetime) -> int:
    """Return epoch seconds; Spark returns naive datetimes in the zone of the process."""
    return int(at.timestamp())
