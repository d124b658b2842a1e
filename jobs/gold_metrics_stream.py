"""The stream that builds gold from metrics: a scrape touches every window that its next one may lie in."""

import time
from collections.abc import Callable

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from conf.settings import Settings
from jobs.fail_points import reached
from jobs.gate import Gate
from jobs.gold_metrics import MetricsWriter
from jobs.gold_spans import touched
from jobs.gold_stream import GoldStream, stream_of
from jobs.progress import Progress
from schemas.leader_local import METRIC_TABLES
from schemas.metrics import METRIC_SAMPLES, METRIC_SERIES
from schemas.silver import REQUESTS
from transforms.gold.counters import REACH
from transforms.windows import window_start

STREAM = GoldStream(
    name="build_gold_metrics",
    version=1,
    gold=METRIC_TABLES,
    read=(METRIC_SAMPLES, METRIC_SERIES, REQUESTS),
)

INSTANTS = {METRIC_SAMPLES: "at", METRIC_SERIES: "first_at", REQUESTS: "logged_at"}
"""A series that is told after its samples touches the window of the first of them."""


class MetricBatches:
    """What the stream does with each batch: find the windows it touches and rebuild them."""

    def __init__(
        self,
        writer: MetricsWriter,
        progress: Progress,
        gate: Gate | None = None,
        *,
        note: Callable[[], None] = lambda: None,
    ) -> None:
        """`note` ends a batch."""
        self._writer, self._progress, self._note = writer, progress, note
        self._gate = gate or Gate()

    def __call__(self, batch: DataFrame, batch_id: int) -> None:
        """Rebuild what a batch touched; a batch that is given again gives the same gold."""
        self._gate.enter()
        try:
            started = time.monotonic()
            windows = touched(by_window(batch), REACH)
            self._writer.rebuild(windows)
            self._note()
            reached("gold-metrics-written")
            if windows:
                took = time.monotonic() - started
                self._progress.say(f"metrics, batch {batch_id}: {len(windows)} windows, {took:.1f} s")
        finally:
            self._gate.leave()


def inputs(spark: SparkSession, settings: Settings) -> DataFrame:
    """Stream the one instant of every input that tells which windows a line touches."""
    samples, series, requests = (
        stream_of(spark, settings, table).select(F.col(INSTANTS[table]).alias("at")) for table in STREAM.read
    )
    return samples.unionByName(series).unionByName(requests)


def by_window(batch: DataFrame) -> set[int]:
    """Give the windows (epoch seconds) that a batch's instants lie in."""
    slots = batch.select(F.unix_seconds(window_start(F.col("at"))).alias("slot")).distinct().collect()
    return {int(row["slot"]) for row in slots if row["slot"] is not None}
