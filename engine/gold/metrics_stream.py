"""The stream that builds gold from metrics: a scrape touches every window that its next one may lie in."""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from conf.settings import Settings
from engine.gold.metrics import MetricsWriter
from engine.gold.stream import GoldStream, stream_of
from schemas.gold.leader_local_mean import METRIC_TABLES
from schemas.silver.metrics import METRIC_SAMPLES, METRIC_SERIES
from schemas.silver.requests import REQUESTS
from transforms.gold.metrics.counters import REACH
from transforms.spans import touched
from transforms.windows import window_start

STREAM = GoldStream(
    name="build_gold_metrics",
    version=1,
    gold=METRIC_TABLES,
    read=(METRIC_SAMPLES, METRIC_SERIES, REQUESTS),
)

INSTANTS = {METRIC_SAMPLES: "at", METRIC_SERIES: "first_at", REQUESTS: "logged_at"}
"""A series that is told after its samples touches the window of the first of them."""


def rebuild(writer: MetricsWriter, batch: DataFrame) -> int:
    """Rebuild what a batch touches; count the windows."""
    windows = touched(by_window(batch), REACH)
    writer.rebuild(windows)
    return len(windows)


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
