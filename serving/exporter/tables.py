"""Gold in DuckDB, without Spark: each Delta table's newest rows, read again when it has a new version."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable, QueryBuilder
from deltalake.exceptions import DeltaError

from serving.exporter.columns import COLUMNS

TABLES = {
    "fetch_latency": "window_start",
    "broker_rtt": "window_start",
    "broker_rtt_baseline": "hour",
    "broker_rtt_culprit": "window_start",
    "stock_fetch_total": "scraped_at",
    "leader_local_mean": "window_start",
    "partition_skew": "window_start",
    "leader_redirect": "window_start",
    "metadata_lookup": "window_start",
    "throttle_compliance": "window_start",
    "reassignment_progress": "window_start",
    "data_quality": None,
}
"""What is read, and the instant by which a table's rows are old; data_quality has no time."""


class GoldError(Exception):
    """Gold cannot be read; the message says where it was looked for and what to do."""


@dataclass(frozen=True, slots=True)
class SecondsSpan:
    """Seconds since the epoch, the end left out."""

    since: float
    until: float


class GoldTables:
    """The tables of one warehouse in a database in memory; instants become seconds since the epoch."""

    def __init__(self, warehouse: Path) -> None:
        """
        Open what is there.

        Raises:
            GoldError: there is no gold.

        """
        self.where = warehouse / "gold"
        self.versions: dict[str, int] = {}
        self.failures = 0
        self.db = duckdb.connect(config={"threads": 1})  # small tables: threads cost more than they give
        self._logs: dict[str, DeltaTable] = {}
        if not any(self._log(name) for name in TABLES):
            message = (
                f"no gold at {self.where}: mend [warehouse] root in the file of --conf, "
                "or run `plumbline build-gold` first"
            )
            raise GoldError(message)

    def refresh(self, remember_s: int) -> list[str]:
        """Read the newest rows of the tables that changed, and name these; a failure leaves the old rows."""
        changed = []
        for name, instant in TABLES.items():
            try:
                log = self._log(name)
                version = -1 if log is None else log.version()
                if self.versions.get(name) == version:
                    continue
                newest = newest_of(log, instant) if log and instant else None
                since = newest - remember_s if newest is not None else None
                self._load(name, log, instant, since, None)
            except (DeltaError, OSError, duckdb.Error):
                self.failures += 1
                self._load_nothing_yet(name)
                continue
            self.versions[name] = version
            changed.append(name)
        if changed:
            self._derive()
        return changed

    def load(self, span: SecondsSpan) -> None:
        """Read the rows of a span, for its history."""
        for name, instant in TABLES.items():
            early = span.since - (3_600 if instant == "hour" else 0)
            self._load(name, self._log(name), instant, early, span.until)
        self._derive()

    def extent(self) -> SecondsSpan | None:
        """Tell from when to when there are windows; None where there is none."""
        newest, oldest = [], []
        for name in ("fetch_latency", "broker_rtt", "leader_local_mean"):
            if (log := self._log(name)) is not None:
                newest.append(newest_of(log, "window_start"))
                oldest.append(newest_of(log, "window_start", oldest=True))
        ends = [at for at in newest if at is not None]
        starts = [at for at in oldest if at is not None]
        return SecondsSpan(min(starts), max(ends) + 10) if starts and ends else None

    def _log(self, name: str) -> DeltaTable | None:
        """Open a table's log once, and read on from there; None where there is no such table yet."""
        where = str(self.where / name)
        if name in self._logs:
            self._logs[name].update_incremental()
        elif DeltaTable.is_deltatable(where):
            self._logs[name] = DeltaTable(where)
        return self._logs.get(name)

    def _load(
        self, name: str, log: DeltaTable | None, instant: str | None, since: float | None, until: float | None
    ) -> None:
        """Replace a table of the database; one that is not in the warehouse stays out of every answer."""
        if log is None:
            self._load_nothing_yet(name)
            return
        bounds = [
            f"{instant} {sign} '{_written(at)}'"
            for sign, at in ((">=", since), ("<", until))
            if at is not None and instant
        ]
        where = f" WHERE {' AND '.join(bounds)}" if bounds else ""
        wanted = COLUMNS[name]
        there = [field.name for field in log.schema().fields if field.name in wanted]
        # Column and table names are our own, and instants are numbers.
        asked = f"SELECT {', '.join(there)} FROM gold{where}"  # noqa: S608
        rows = pa.table(QueryBuilder().register("gold", log).execute(asked).read_all())
        self.db.register("arrived", rows)
        columns = ", ".join(_column(rows, column, kind) for column, kind in wanted.items())
        self.db.execute(f"CREATE OR REPLACE TABLE {name} AS SELECT {columns} FROM arrived")  # noqa: S608
        self.db.unregister("arrived")

    def _load_nothing_yet(self, name: str) -> None:
        columns = ", ".join(f'"{column}" {kind}' for column, kind in COLUMNS[name].items())
        self.db.execute(f"CREATE TABLE IF NOT EXISTS {name} ({columns})")

    def _derive(self) -> None:
        """Tell which windows are settled; a cluster without a request log goes by its metrics."""
        self.db.execute(SETTLED)


def newest_of(log: DeltaTable, column: str, *, oldest: bool = False) -> float | None:
    """Give the latest, or earliest, instant of a column by the log's statistics, without reading a file."""
    files = pa.table(log.get_add_actions(flatten=True))
    name = f"{'min' if oldest else 'max'}.{column}"
    if name not in files.column_names:
        return None
    at: datetime | None = (pc.min if oldest else pc.max)(files[name]).as_py()
    return None if at is None else at.replace(tzinfo=at.tzinfo or UTC).timestamp()


def _written(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H:%M:%S.%fZ}"


def _column(rows: pa.Table, name: str, kind: str) -> str:
    """Say how a column is taken over; one that an older warehouse lacks is NULL."""
    if name not in rows.column_names:
        return f"NULL::{kind} AS {name}"
    is_instant = pa.types.is_timestamp(rows.schema.field(name).type)
    return f"{f'epoch({name})' if is_instant else name}::{kind} AS {name}"


SETTLED = """
CREATE OR REPLACE TABLE settled AS
WITH told AS (
    SELECT cluster, window_start, nodes_expected, nodes_reporting FROM fetch_latency WHERE is_settled
    UNION ALL BY NAME
    SELECT cluster, window_start, nodes_expected, nodes_reporting FROM broker_rtt WHERE is_settled
    UNION ALL BY NAME
    SELECT cluster, window_start FROM leader_local_mean
    WHERE cluster NOT IN (SELECT cluster FROM fetch_latency)
)
SELECT cluster, window_start + 10 AS until, max(nodes_expected) AS nodes_expected,
       max(nodes_reporting) AS nodes_reporting
FROM told GROUP BY ALL
"""
