"""Rebuild windows of the gold tables that are built from metrics and the request log."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from engine.delta import tables
from engine.delta.snapshot import Snapshot
from engine.gold.arrivals import slots_of
from engine.gold.held_back import let_through
from engine.gold.limits import first_whole_window
from engine.process.progress import Progress
from schemas.gold.leader_local_mean import LEADER_LOCAL_MEAN
from schemas.silver.metrics import METRIC_SAMPLES, METRIC_SERIES
from schemas.silver.requests import REQUESTS
from transforms.gold.leader_local_mean.intervals import intervals_of
from transforms.gold.leader_local_mean.table import leader_local_mean
from transforms.gold.metrics.counters import REACH
from transforms.gold.metrics.facts import facts
from transforms.spans import Span, in_steps, spans_of, touched, within
from transforms.windows import WINDOW_S, window_start

SILVER = (METRIC_SAMPLES, METRIC_SERIES, REQUESTS)


class MetricsWriter:
    """Writes the gold tables built from metrics; its caller holds the lease."""

    group = "metrics"
    gold = (LEADER_LOCAL_MEAN,)

    def __init__(self, spark: SparkSession, warehouse: Path, progress: Progress) -> None:
        """Create the missing tables."""
        self._spark, self._warehouse, self._progress = spark, warehouse, progress
        for table in SILVER:
            tables.make(warehouse, table)
        for table in self.gold:
            tables.ensure(spark, warehouse, table)

    def build(self, arrived: Sequence[Row]) -> int:
        """
        Rebuild the windows that new rows touch; return how many.

        A scrape touches each window that the next one may lie in; a series touches that of its first sample.
        """
        windows = touched(slots_of(arrived, *SILVER), REACH)
        self.rebuild(windows)
        return len(windows)

    def rebuild(self, windows: Iterable[int]) -> int:
        """Rebuild windows (epoch seconds); return how many were refused because silver is incomplete."""
        # Take the snapshots first: rows that retention deletes after the check below are still in them.
        samples, requests = (tables.snapshot(self._warehouse, table) for table in (METRIC_SAMPLES, REQUESTS))
        oldest = first_whole_window(self._warehouse, {METRIC_SAMPLES: REACH, REQUESTS: REACH})
        wanted = let_through(self._warehouse, windows)
        refused = {window for window in wanted if oldest is not None and window < oldest}
        for spans in in_steps(spans_of(wanted - refused)):
            self._replace(spans, samples, requests)
        for span in spans_of(refused):
            self._progress.say(f"metrics not rebuilt: {span}; silver is not complete there")
        return len(refused)

    def rebuild_span(self, span: Span) -> int:
        """Rebuild all windows of a span; return how many were refused."""
        return self.rebuild(range(span.start, span.end, WINDOW_S))

    def _replace(self, spans: list[Span], samples: Snapshot, requests: Snapshot) -> None:
        has_samples = bool(samples.overlapping("at", spans, REACH))
        if not has_samples and not self._holds(spans):
            return  # a cluster without metrics costs nothing
        known = facts(tables.read(self._spark, self._warehouse, METRIC_SERIES))
        near = samples.rows(self._spark, "at", spans, REACH)
        intervals = intervals_of(near, known).filter(within("to_at", spans)).localCheckpoint()
        measured = _measured(intervals)
        if not measured and not self._holds(spans):
            return
        rows = leader_local_mean(intervals, requests.rows(self._spark, "logged_at", measured or spans[:1]))
        tables.replace(
            rows,
            self._warehouse,
            LEADER_LOCAL_MEAN,
            column="window_start",
            spans=spans,
        )

    def _holds(self, spans: list[Span]) -> bool:
        gold = tables.snapshot(self._warehouse, LEADER_LOCAL_MEAN)
        return bool(gold.overlapping("window_start", spans))


def _measured(intervals: DataFrame) -> list[Span]:
    """Return the spans that the intervals cover; only these are read from the request log."""
    ends = (F.unix_seconds(window_start(F.col(at))).alias(at) for at in ("from_at", "to_at"))
    found = intervals.select(*ends).distinct().collect()
    return spans_of(
        {window for row in found for window in range(row["from_at"], row["to_at"] + WINDOW_S, WINDOW_S)}
    )
