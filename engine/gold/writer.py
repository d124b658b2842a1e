"""Rebuild windows of gold: read the silver they depend on, replace them whole, remember unsettled windows."""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from engine.delta import tables
from engine.delta.snapshot import Snapshot
from engine.gold.arrivals import slots_of
from engine.gold.culprit import culprits_of
from engine.gold.held_back import let_through
from engine.gold.limits import first_whole_window
from engine.process.fail_points import reached
from engine.process.progress import Progress
from schemas.bronze import METRICS
from schemas.fields import Table
from schemas.gold.broker_rtt import BROKER_RTT
from schemas.gold.broker_rtt_baseline import BROKER_RTT_BASELINE
from schemas.gold.broker_rtt_culprit import BROKER_RTT_CULPRIT
from schemas.gold.fetch_latency import FETCH_LATENCY
from schemas.gold.stock_fetch_total import STOCK_FETCH_TOTAL
from schemas.silver.client_events import CLIENT_EVENTS
from schemas.silver.requests import REQUESTS
from transforms.frames import frame_of
from transforms.gold.assemble import FOLLOWERS_REACH, REACH, fetch_tables
from transforms.gold.fetch_latency import pairing
from transforms.gold.fetch_latency.stock_fetch_total import stock_fetch_total
from transforms.spans import Span, in_steps, spans_of, touched, window_of, within
from transforms.windows import COVERAGE_REACH, COVERED, SETTLE_S, WINDOW_S, coverage

LINE = ("cluster", "broker_id", "logged_at")


class GoldWriter:
    """
    Writes the gold tables of one warehouse; its caller holds the lease.

    `group` and `gold` name the tables in progress lines and for the stream.
    Between rebuilds it remembers the newest request line of each broker, and the windows that were not
    settled when they were written. Both can be read from the tables again.
    """

    group = "fetches"
    gold = (FETCH_LATENCY, BROKER_RTT, BROKER_RTT_BASELINE, BROKER_RTT_CULPRIT, STOCK_FETCH_TOTAL)

    def __init__(self, spark: SparkSession, warehouse: Path, progress: Progress) -> None:
        """Create the missing tables."""
        self._spark, self._warehouse, self._progress = spark, warehouse, progress
        for table in (REQUESTS, CLIENT_EVENTS, METRICS):
            tables.make(warehouse, table)
        for table in self.gold:
            tables.ensure(spark, warehouse, table)
        self._culprits = culprits_of(warehouse)
        self._newest: dict[tuple[str, int], datetime] = {}
        self._newest_since: date | None = None
        self._unsettled = self._unsettled_in_gold()
        self._refused: set[int] = set()
        newest = [tables.snapshot(warehouse, table).newest("logged_at") for table in REACH]
        self._newest_window = max((window_of(at.timestamp()) for at in newest if at), default=0)

    def build(self, arrived: Sequence[Row]) -> int:
        """Rebuild the windows that new rows touch and those that may now be settled; return how many."""
        windows = self.touched(arrived)
        self.rebuild(windows)
        self.add_scrapes([row for row in arrived if row["has_metric"]])
        for row in arrived:
            if row["is_readable"] is False:
                self._progress.say(
                    f"a scrape of broker {row['broker_id']} at {row['newest']} UTC cannot be read"
                )
        return len(windows)

    def rebuild_span(self, span: Span) -> int:
        """Rebuild all windows and scrapes of a span; return how many windows were refused."""
        refused = self.rebuild(range(span.start, span.end, WINDOW_S))
        self.rebuild_scrapes(span)
        return refused

    def touched(self, arrived: Sequence[Row]) -> set[int]:
        """
        Return the windows whose rows new lines can change, and older ones that may now be settled.

        A line also touches windows after it. Those after the newest line of all are left out: they have no
        rows yet, and the lines that bring them touch them again.
        """
        requests = [row for row in arrived if row["input"] == REQUESTS.name and row["broker_id"] is not None]
        self.saw((row["cluster"], row["broker_id"], row["newest"]) for row in requests)
        slots = {table: slots_of(arrived, table) for table in REACH}
        self._newest_window = max(self._newest_window, *(max(of, default=0) for of in slots.values()))
        windows = set().union(*(touched(slots[table], reach) for table, reach in REACH.items()))
        return {window for window in windows if window <= self._newest_window} | self.may_settle()

    def rebuild(self, windows: Iterable[int]) -> int:
        """Rebuild windows (epoch seconds); return how many were refused because silver is incomplete."""
        # Take the snapshots first: rows that retention deletes after the check below are still in them.
        silver = {table: tables.snapshot(self._warehouse, table) for table in REACH}
        wanted = let_through(self._warehouse, windows)
        oldest = self._complete_from()
        refused = {window for window in wanted if oldest is not None and window < oldest}
        self._unsettled = {key for key in self._unsettled if key[1] not in refused}
        self._report_refused(refused, oldest)
        rebuilt = spans_of(wanted - refused)
        reached("gold-begun")
        for spans in in_steps(rebuilt):
            self._replace(spans, silver)
        reached("gold-windows-committed")
        self._culprits.rebuild(rebuilt)
        return len(refused)

    def saw(self, newest: Iterable[tuple[str, int, datetime]]) -> None:
        """Record the newest request lines (cluster, broker, instant)."""
        for cluster, broker_id, at in newest:
            key = (cluster, broker_id)
            self._newest[key] = max(at, self._newest.get(key, at))

    def may_settle(self) -> set[int]:
        """Return the windows that were written unsettled and that later lines may have settled."""
        return {window for cluster, window in self._unsettled if self._can_be_settled(cluster, window)}

    def add_scrapes(self, rows: Sequence[Row]) -> None:
        """Append the values of scrapes; skip a scrape that was sent again."""
        if not rows:
            return
        names = STOCK_FETCH_TOTAL.schema.names
        values = [[row[name] for name in names] for row in rows]
        fresh = frame_of(self._spark, values, STOCK_FETCH_TOTAL.schema)
        first = min(row["scraped_at"] for row in rows)
        last = max(row["scraped_at"] for row in rows)
        span = Span(window_of(first.timestamp()), window_of(last.timestamp()) + WINDOW_S)
        known = tables.snapshot(self._warehouse, STOCK_FETCH_TOTAL).rows(self._spark, "scraped_at", [span])
        key = list(STOCK_FETCH_TOTAL.key)
        both = known.select(*names).unionByName(fresh).dropDuplicates(key)
        self._write(STOCK_FETCH_TOTAL, both, "scraped_at", [span])

    def rebuild_scrapes(self, span: Span) -> None:
        """Read the scrapes of a span from bronze again; the ingest date is never before the scrape."""
        metrics = tables.read(self._spark, self._warehouse, METRICS)
        rows = stock_fetch_total(metrics.filter(F.expr(f"ingest_date >= DATE'{str(span)[:10]}'")))
        rows = rows.filter(within("scraped_at", [span])).dropDuplicates(list(STOCK_FETCH_TOTAL.key))
        self._write(STOCK_FETCH_TOTAL, rows, "scraped_at", [span])

    def _replace(self, spans: list[Span], silver: Mapping[Table, Snapshot]) -> None:
        client_events = silver[CLIENT_EVENTS].rows(self._spark, "logged_at", spans, REACH[CLIENT_EVENTS])
        covered = self._covered(silver[REQUESTS], spans)
        requests = self._fetches(silver[REQUESTS], spans)
        # A checkpoint, not a cache: else Spark would analyse the whole lineage again for each added column.
        fetches = pairing.fetches(requests, client_events).localCheckpoint()
        built_from = {f"{table.layer}.{table.name}": snapshot.version for table, snapshot in silver.items()}
        for table, rows in fetch_tables(fetches, covered).items():
            self._write(table, rows, "window_start", spans, json.dumps({"built_from": built_from}))

    def _fetches(self, requests: Snapshot, spans: list[Span]) -> DataFrame:
        """Return the requests for pairs and round trips; only followers' fetches need the fetch before."""
        near = within("logged_at", spans, pairing.REQUESTS_REACH)
        return requests.rows(self._spark, "logged_at", spans, FOLLOWERS_REACH).filter(
            (F.col("kind") == "follower") | F.expr(near)
        )

    def _covered(self, requests: Snapshot, spans: list[Span]) -> DataFrame:
        """Return the coverage of the windows as a small local frame, which two tables use."""
        self._learn_newest(spans[0])
        lines = requests.arrow(LINE, "logged_at", spans, COVERAGE_REACH)
        newest = [
            {"cluster": cluster, "broker_id": broker, "logged_at": at}
            for (cluster, broker), at in self._newest.items()
        ]
        lines = pa.concat_tables([lines, pa.Table.from_pylist(newest, schema=lines.schema)])
        done = {window for span in spans for window in range(span.start, span.end, WINDOW_S)}
        rows = [row for row in coverage(lines) if _second(row.window_start) in done]
        self._unsettled = {key for key in self._unsettled if key[1] not in done}
        self._unsettled |= {
            (row.cluster, _second(row.window_start))
            for row in rows
            if not row.is_settled and row.nodes_reporting
        }
        return frame_of(self._spark, rows, COVERED)

    def _write(
        self, table: Table, rows: DataFrame, column: str, spans: Sequence[Span], note: str = ""
    ) -> None:
        tables.replace(rows, self._warehouse, table, column=column, spans=spans, note=note)

    def _learn_newest(self, earliest: Span) -> None:
        """Read the newest line of each broker once; later the stream supplies it."""
        since = datetime.fromtimestamp(earliest.start, UTC).date()
        if self._newest_since is not None and self._newest_since <= since:
            return
        requests = tables.read(self._spark, self._warehouse, REQUESTS)
        rows = (
            requests.filter(F.col("logged_date") >= F.lit(since))
            .groupBy("cluster", "broker_id")
            .agg(F.max("logged_at").alias("newest"))
            .collect()
        )
        self.saw((row["cluster"], row["broker_id"], row["newest"]) for row in rows)
        self._newest_since = since

    def _can_be_settled(self, cluster: str, window: int) -> bool:
        """Return False if `windows.coverage` would certainly find the window unsettled again."""
        end = window + WINDOW_S
        known = [_second(at) for (where, _), at in self._newest.items() if where == cluster]
        expected = [at for at in known if at >= window - SETTLE_S]
        return bool(known) and (max(known) > end + SETTLE_S or all(at >= end for at in expected))

    def _unsettled_in_gold(self) -> set[tuple[str, int]]:
        gold = tables.read(self._spark, self._warehouse, FETCH_LATENCY)
        rows = gold.filter(~F.col("is_settled")).select("cluster", "window_start").distinct().collect()
        return {(row["cluster"], _second(row["window_start"])) for row in rows}

    def _complete_from(self) -> int | None:
        """Return the first window that can be rebuilt; None if nothing was ever deleted from silver."""
        return first_whole_window(self._warehouse, REACH)

    def _report_refused(self, refused: set[int], oldest: int | None) -> None:
        if oldest is None or refused <= self._refused:
            return
        self._refused |= refused
        for span in spans_of(refused):
            self._progress.say(
                f"not rebuilt: {span}; silver is complete only for windows from {Span(oldest, oldest)}"
            )


def _second(at: datetime) -> int:
    """Return epoch seconds; Spark returns naive datetimes in the zone of the process."""
    return int(at.timestamp())
