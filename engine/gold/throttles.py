"""Rebuild windows of the gold tables about replication throttles and reassignments."""

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from pathlib import Path

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from engine.delta import tables
from engine.delta.snapshot import Snapshot
from engine.gold.held_back import let_through
from engine.gold.limits import first_whole_window
from engine.process.progress import Progress
from schemas.fields import Table
from schemas.gold.reassignment_progress import REASSIGNMENT_PROGRESS
from schemas.silver.metrics import METRIC_SAMPLES, METRIC_SERIES
from schemas.silver.requests import REQUESTS
from schemas.silver.throttles import ISR_CHANGES, REASSIGNMENTS, THROTTLE_CHANGES
from schemas.silver.topics import TOPICS
from transforms.gold.reassignment_progress.moves import calls
from transforms.gold.throttle_compliance.assemble import (
    BEGUN_REACH,
    REQUESTS_REACH,
    SCRAPES_REACH,
    TABLES,
    Silver,
    throttle_metrics,
    throttle_tables,
)
from transforms.gold.throttle_compliance.times import times_on
from transforms.spans import Span, in_steps, spans_of, touched, window_of
from transforms.windows import WINDOW_S

SMALL = (THROTTLE_CHANGES, REASSIGNMENTS, ISR_CHANGES, TOPICS)
"""Tables that are read whole, because a throttle that was set days ago is still in force."""

SILVER = (REQUESTS, *SMALL, METRIC_SAMPLES, METRIC_SERIES)
SETTINGS = (THROTTLE_CHANGES.name, REASSIGNMENTS.name, ISR_CHANGES.name)
READ = (REQUESTS.name, METRIC_SAMPLES.name, *SETTINGS)
"""The inputs whose new rows touch windows."""


class ThrottleWriter:
    """Writes the gold tables about throttles and reassignments; its caller holds the lease."""

    group = "throttles"
    gold = TABLES

    def __init__(self, spark: SparkSession, warehouse: Path, progress: Progress) -> None:
        """Create the missing tables."""
        self._spark, self._warehouse, self._progress = spark, warehouse, progress
        for table in SILVER:
            tables.make(warehouse, table)
        for table in TABLES:
            tables.ensure(spark, warehouse, table)
        self._on = self.times()
        latest = tables.snapshot(warehouse, REQUESTS).newest("logged_at")
        self._newest = window_of(latest.timestamp()) if latest else None

    def times(self) -> list[tuple[float, float]]:
        """Return the spans (epoch seconds) with a throttle or a reassignment; the end may be infinite."""
        inputs = (self._read(table) for table in (THROTTLE_CHANGES, REASSIGNMENTS, REASSIGNMENT_PROGRESS))
        rows = times_on(*inputs).collect()
        return [(float(row["since_s"]), float(row["until_s"] or float("inf"))) for row in rows]

    def look_again(self) -> None:
        """Read the throttle changes and reassignments again."""
        self._on = self.times()

    def newest(self, arrived: Iterable[Row]) -> int | None:
        """Return the newest window (epoch seconds) of any line so far."""
        seen = [row["slot"] for row in arrived if row["slot"] is not None]
        self._newest = max([*seen, *([self._newest] if self._newest is not None else [])], default=None)
        return self._newest

    def concerned(self, windows: Iterable[int]) -> set[int]:
        """Return the windows with a throttle or a reassignment; no other window has rows."""
        reach = SCRAPES_REACH.lookback_s
        return {
            window
            for window in windows
            if any(since < window + WINDOW_S and until > window - reach for since, until in self._on)
        }

    def written(self, windows: Iterable[int]) -> set[int]:
        """Return those windows (epoch seconds) that have rows in gold."""
        wanted = set(windows)
        if not wanted:
            return wanted
        second = F.unix_seconds("window_start").alias("second")
        of_tables = [self._read(table).select(second) for table in TABLES]
        near = F.col("second").between(min(wanted), max(wanted))
        rows = reduce(DataFrame.unionByName, of_tables).where(near).distinct().collect()
        return wanted & {int(row["second"]) for row in rows}

    def build(self, arrived: Sequence[Row]) -> int:
        """Rebuild the windows that new rows touch and that have a throttle or a reassignment."""
        arrived = [row for row in arrived if row["input"] in READ]
        touching = touched_by(arrived, self.newest(arrived))
        has_settings = any(row["input"] in SETTINGS for row in arrived)
        if has_settings:
            self.look_again()
        # A setting that arrives late may end the throttle that rows were written about.
        windows = self.concerned(touching) | (self.written(touching) if has_settings else set())
        self.rebuild(windows)
        return len(windows)

    def rebuild(self, windows: Iterable[int]) -> int:
        """Rebuild windows (epoch seconds); return how many were refused because silver is incomplete."""
        # Take the snapshots first: rows that retention deletes after the check below are still in them.
        silver = {table: tables.snapshot(self._warehouse, table) for table in (REQUESTS, METRIC_SAMPLES)}
        oldest = first_whole_window(self._warehouse, {REQUESTS: REQUESTS_REACH})
        wanted = let_through(self._warehouse, windows)
        refused = {window for window in wanted if oldest is not None and window < oldest}
        for spans in in_steps(spans_of(wanted - refused)):
            self._replace(spans, silver)
        for span in spans_of(refused):
            self._progress.say(f"throttles not rebuilt: {span}; silver is not complete there")
        return len(refused)

    def rebuild_span(self, span: Span) -> int:
        """Rebuild all windows of a span; return how many were refused."""
        self.look_again()
        return self.rebuild(range(span.start, span.end, WINDOW_S))

    def _replace(self, spans: list[Span], silver: Mapping[Table, Snapshot]) -> None:
        if not self._on and not self._holds(spans):
            return  # without a throttle or reassignment there are no rows to write or remove
        changes, reassignments, isr_changes, topics = (self._read(table) for table in SMALL)
        begun = _begins(reassignments, before=max(span.end for span in spans))
        near = silver[METRIC_SAMPLES].rows(self._spark, "at", spans, SCRAPES_REACH)
        events, sizes = throttle_metrics(self._read(METRIC_SERIES), near)
        built = throttle_tables(
            Silver(
                requests=silver[REQUESTS].rows(self._spark, "logged_at", spans, REQUESTS_REACH),
                begun=silver[REQUESTS].rows(self._spark, "logged_at", begun or spans[:1], BEGUN_REACH),
                topics=topics,
                changes=changes,
                reassignments=reassignments,
                isr_changes=isr_changes,
                events=events,
                sizes=sizes,
            ),
            persist=lambda frame: frame.localCheckpoint(),
        )
        for table, rows in built.items():
            tables.replace(rows, self._warehouse, table, column="window_start", spans=spans)

    def _read(self, table: Table) -> DataFrame:
        return tables.read(self._spark, self._warehouse, table)

    def _holds(self, spans: list[Span]) -> bool:
        gold = (tables.snapshot(self._warehouse, table) for table in TABLES)
        return any(snapshot.overlapping("window_start", spans) for snapshot in gold)


def _begins(reassignments: DataFrame, *, before: int) -> list[Span]:
    """Return the windows in which a reassignment was requested."""
    requested = calls(reassignments).select(F.unix_seconds("moved_at").alias("second")).distinct().collect()
    seconds = [int(row["second"]) for row in requested if row["second"] < before]
    return spans_of({window_of(second) for second in seconds})


def touched_by(arrived: Sequence[Row], newest: int | None) -> set[int]:
    """Return the windows that can change: around lines and scrapes, and all after a setting."""
    slots: dict[str, set[int]] = {}
    for row in arrived:
        slots.setdefault(row["input"], set()).add(row["slot"])
    settings = [slot for name in SETTINGS for slot in slots.get(name, ())]
    later: Iterable[int] = range(min(settings), (newest or 0) + WINDOW_S, WINDOW_S) if settings else ()
    return (
        touched(slots.get(REQUESTS.name, ()), REQUESTS_REACH)
        | touched(slots.get(METRIC_SAMPLES.name, ()), SCRAPES_REACH)
        | set(later)
    )
