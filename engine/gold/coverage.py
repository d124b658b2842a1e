"""Whether the windows of a warehouse are complete, and which of them later lines may settle."""

from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Row

from engine.delta import tables
from engine.delta.snapshot import Snapshot
from schemas.fields import Table
from schemas.silver.requests import REQUESTS
from transforms.spans import Span, windows_of
from transforms.windows import COVERAGE_REACH, SETTLE_S, WINDOW_S, Coverage, coverage

LINE = ("cluster", "broker_id", "logged_at")


class Settling:
    """
    The newest request line of each broker, and the windows that were not settled when they were built.

    Both can be read from tables again, so a new process continues where the last one stopped.
    """

    def __init__(self, warehouse: Path, covered: Iterable[Table]) -> None:
        """Read the unsettled windows of the `covered` gold tables."""
        self._warehouse = warehouse
        self._newest: dict[tuple[str, int], datetime] = {}
        self._newest_since: date | None = None
        self._unsettled: set[tuple[str, int]] = set()
        for table in covered:
            columns = ("cluster", "window_start")
            rows = tables.snapshot(warehouse, table).all_rows(columns, ~pc.field("is_settled")).read_all()
            found = rows.group_by(list(columns)).aggregate([]).to_pylist()
            self._unsettled |= {(row["cluster"], _second(row["window_start"])) for row in found}

    def saw(self, arrived: Sequence[Row]) -> None:
        """Note the newest lines of a batch (`arrivals.by_window`)."""
        for row in arrived:
            if row["input"] == REQUESTS.name and row["broker_id"] is not None:
                self._note(row["cluster"], row["broker_id"], row["newest"].astimezone(UTC))

    def may_settle(self) -> set[int]:
        """Return the windows that were built unsettled and that later lines may have settled."""
        return {window for cluster, window in self._unsettled if self._can_be_settled(cluster, window)}

    def covered(self, requests: Snapshot, spans: Sequence[Span]) -> list[Coverage]:
        """Return the coverage of the windows, and note which of them are not settled."""
        self._learn_newest(spans[0])
        lines = requests.arrow(LINE, "logged_at", spans, COVERAGE_REACH)
        newest = [
            {"cluster": cluster, "broker_id": broker, "logged_at": at}
            for (cluster, broker), at in self._newest.items()
        ]
        lines = pa.concat_tables([lines, pa.Table.from_pylist(newest, schema=lines.schema)])
        done = windows_of(spans)
        rows = [row for row in coverage(lines) if _second(row.window_start) in done]
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

    def _note(self, cluster: str, broker_id: int, at: datetime) -> None:
        self._newest[cluster, broker_id] = max(at, self._newest.get((cluster, broker_id), at))

    def _learn_newest(self, earliest: Span) -> None:
        """Read the newest line of each broker once; later the stream supplies it."""
        since = datetime.fromtimestamp(earliest.start, UTC).date()
        if self._newest_since is not None and self._newest_since <= since:
            return
        is_since = pc.field("logged_date") >= since
        lines = tables.snapshot(self._warehouse, REQUESTS).all_rows(LINE, is_since).read_all()
        newest = lines.group_by(["cluster", "broker_id"]).aggregate([("logged_at", "max")])
        for row in newest.to_pylist():
            if row["broker_id"] is not None:
                self._note(row["cluster"], row["broker_id"], row["logged_at_max"])
        self._newest_since = since

    def _can_be_settled(self, cluster: str, window: int) -> bool:
        """Return False if `windows.coverage` would certainly find the window unsettled again."""
        end = window + WINDOW_S
        known = [_second(at) for (where, _), at in self._newest.items() if where == cluster]
        expected = [at for at in known if at >= window - SETTLE_S]
        return bool(known) and (max(known) > end + SETTLE_S or all(at >= end for at in expected))


def _second(at: datetime) -> int:
    """Return epoch seconds; Spark returns naive datetimes in the zone of the process."""
    return int(at.timestamp())
