"""The new rows of one batch: what each input of gold tells about the windows that must be rebuilt."""

from collections.abc import Iterable, Mapping
from functools import reduce

from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from conf.settings import Settings
from engine.delta import tables
from schemas.bronze import METRICS
from schemas.fields import Table
from schemas.silver.client_events import CLIENT_EVENTS
from schemas.silver.leadership_changes import LEADERSHIP_CHANGES
from schemas.silver.metrics import METRIC_SAMPLES, METRIC_SERIES
from schemas.silver.perf_test import RUNS
from schemas.silver.requests import REQUESTS
from schemas.silver.throttles import ISR_CHANGES, REASSIGNMENTS, THROTTLE_CHANGES
from transforms.gold.fetch_latency.stock_fetch_total import samples
from transforms.gold.leader_redirect.client_tries import is_refused
from transforms.gold.leader_redirect.disconnect import is_takeover
from transforms.windows import window_start

INSTANTS = {
    METRICS: "scraped_at",
    REQUESTS: "logged_at",
    CLIENT_EVENTS: "logged_at",
    LEADERSHIP_CHANGES: "logged_at",
    RUNS: "started_at",
    METRIC_SAMPLES: "at",
    METRIC_SERIES: "first_at",
    THROTTLE_CHANGES: "logged_at",
    REASSIGNMENTS: "logged_at",
    ISR_CHANGES: "logged_at",
}
"""The inputs of gold in the order of the query's sources, each with its instant."""

FLAGS = ("is_produce", "is_lookup", "is_error", "is_takeover")
OF_SCRAPE = ("mean_ms", "p50_ms", "p99_ms", "count", "is_readable", "has_metric")


def arrivals(
    spark: SparkSession,
    settings: Settings,
    starting: Mapping[Table, int] | None = None,
    *,
    read: Iterable[Table] = tuple(INSTANTS),
) -> DataFrame:
    """
    Return the stream of new rows of the inputs, with the few columns that tell which windows they touch.

    `starting` gives the first version to read of a table; it counts only for a new checkpoint.
    """
    streams = (_touching(_stream_of(spark, settings, table, starting or {}), table) for table in read)
    return reduce(lambda left, right: left.unionByName(right, allowMissingColumns=True), streams)


def by_window(batch: DataFrame) -> DataFrame:
    """
    Count a batch's rows by input, cluster, broker and window; each scrape keeps its own row.

    `slot` is the window in epoch seconds, `newest` the latest instant, `until` the latest end of a run.
    A flag is true if any row has it.
    """
    second = F.unix_seconds(window_start(F.col("at"))).alias("slot")
    scraped_at = F.when(F.col("input") == METRICS.name, F.col("at")).alias("scraped_at")
    return (
        batch.filter(F.col("at").isNotNull())
        .groupBy("input", "cluster", "broker_id", second, scraped_at)
        .agg(
            F.count(F.lit(1)).alias("lines"),
            F.max("at").alias("newest"),
            F.max(F.unix_seconds("until")).alias("until"),
            *(F.max(name).alias(name) for name in (*FLAGS, *OF_SCRAPE) if name in batch.columns),
        )
        .withColumn("leader_id", F.col("broker_id"))
    )


def _touching(rows: DataFrame, table: Table) -> DataFrame:
    if table is METRICS:
        scrapes = samples(rows).withColumnsRenamed({"scraped_at": "at", "leader_id": "broker_id"})
        return scrapes.withColumns(_common(table))
    broker = F.col("broker_id") if table is REQUESTS else F.lit(None).cast("int")
    return rows.select(
        "cluster",
        broker.alias("broker_id"),
        F.col(INSTANTS[table]).alias("at"),
        *(column.alias(name) for name, column in _common(table).items()),
    )


def _common(table: Table) -> dict[str, Column]:
    flags = dict.fromkeys(FLAGS, F.lit(False))
    if table is REQUESTS:
        flags |= {
            "is_produce": F.col("api") == "PRODUCE",
            "is_lookup": F.col("api") == "METADATA",
            "is_error": is_refused(),
        }
    if table is LEADERSHIP_CHANGES:
        flags |= {"is_takeover": is_takeover()}
    until = F.col("ended_at") if table is RUNS else F.lit(None).cast("timestamp")
    return {"input": F.lit(table.name), "until": until, **flags}


def _stream_of(
    spark: SparkSession, settings: Settings, table: Table, starting: Mapping[Table, int]
) -> DataFrame:
    """Return the stream of the rows appended to a table."""
    reader = (
        spark.readStream.format("delta")
        .option("maxFilesPerTrigger", settings.build_gold.max_files_per_trigger)
        .option("maxBytesPerTrigger", settings.build_gold.max_bytes_per_trigger)
        # Skip commits that delete or rewrite rows (retention, MERGE of a replay): they add no lines.
        .option("skipChangeCommits", "true")
    )
    if table in starting:
        reader = reader.option("startingVersion", starting[table])
    return reader.load(tables.path(settings.warehouse_root, table))


def slots_of(arrived: Iterable[Row], *inputs: Table) -> set[int]:
    """Return the windows (epoch seconds) in which these inputs have new rows."""
    names = {table.name for table in inputs}
    return {row["slot"] for row in arrived if row["input"] in names}
