"""The new rows of one batch: what each input of gold tells about the windows that must be built."""

from collections.abc import Iterable, Mapping
from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from conf.settings import Settings
from engine.delta import tables
from schemas.fields import Table
from schemas.silver.requests import REQUESTS
from transforms.gold.build import Build
from transforms.gold.builds import BUILDS
from transforms.windows import window_start


def inputs_of(builds: Iterable[Build]) -> tuple[Table, ...]:
    """Return the tables whose new rows touch windows, by name, which is the order of the query's sources."""
    found = {touch.of.name: touch.of for build in builds for touch in build.touched_by}
    return tuple(found[name] for name in sorted(found))


def arrivals(
    spark: SparkSession,
    settings: Settings,
    starting: Mapping[Table, int] | None = None,
    *,
    builds: Iterable[Build] = BUILDS,
) -> DataFrame:
    """
    Return the stream of new rows of the inputs, with the few columns that tell which windows they touch.

    `starting` gives the first version to read of a table; it counts only for a new checkpoint.
    """
    builds = tuple(builds)
    streams = (
        _touching(_stream_of(spark, settings, table, starting or {}), table, builds)
        for table in inputs_of(builds)
    )
    return reduce(lambda left, right: left.unionByName(right, allowMissingColumns=True), streams)


def by_window(batch: DataFrame) -> DataFrame:
    """
    Count a batch's rows by input, cluster, broker and window.

    `slot` is the window in epoch seconds, `newest` the latest instant. The flag of a `Touch` (`Build.flags`)
    is true if any row touches windows; it is NULL for other inputs.
    """
    second = F.unix_seconds(window_start(F.col("at"))).alias("slot")
    flags = [name for name in batch.columns if name not in ("input", "cluster", "broker_id", "at")]
    return (
        batch.filter(F.col("at").isNotNull())
        .groupBy("input", "cluster", "broker_id", second)
        .agg(
            F.count(F.lit(1)).alias("lines"),
            F.max("at").alias("newest"),
            *(F.max(name).alias(name) for name in flags),
        )
    )


def _touching(rows: DataFrame, table: Table, builds: Iterable[Build]) -> DataFrame:
    broker = F.col("broker_id") if table is REQUESTS else F.lit(None).cast("int")
    return rows.select(
        F.lit(table.name).alias("input"),
        "cluster",
        broker.alias("broker_id"),
        F.col(table.instant).alias("at"),
        *(flag.alias(name) for build in builds for name, flag in build.flags(table).items()),
    )


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
