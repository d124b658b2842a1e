"""The new rows of one batch: what each input of gold tells about the windows that must be built."""

from collections.abc import Iterable, Mapping
from datetime import UTC
from functools import reduce

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from conf.settings import Settings
from engine.delta import tables
from schemas.fields import Table
from schemas.silver.requests import REQUESTS
from transforms.frames import united
from transforms.gold.build import Arrived, Build, Touch
from transforms.gold.builds import BUILDS
from transforms.windows import WINDOW_S


def inputs_of(builds: Iterable[Build]) -> tuple[Table, ...]:
    """Return the tables whose new rows touch windows, by name, which is the order of the query's sources."""
    found = {touch.table.name: touch.table for build in builds for touch in build.touched_by}
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
    return united(list(streams))


def arrived(batch: DataFrame, builds: Iterable[Build]) -> list[Arrived]:
    """Count a batch's rows by input, cluster, broker and window; this runs one Spark job."""
    names = [name for name, _ in touches_of(builds)]
    second = F.unix_seconds(window_start(F.col("at"))).alias("slot")
    rows = (
        batch.coalesce(1)  # one task, because a batch is small
        .filter(F.col("at").isNotNull())
        .groupBy("input", "cluster", "broker_id", second)
        .agg(
            F.count(F.lit(1)).alias("lines"),
            F.max("at").alias("newest"),
            F.bit_or("touches").alias("touches"),
        )
    )
    return [
        Arrived(
            input=row["input"],
            cluster=row["cluster"],
            broker_id=row["broker_id"],
            slot=row["slot"],
            lines=row["lines"],
            newest=row["newest"].astimezone(UTC),
            touches=frozenset(name for n, name in enumerate(names) if row["touches"] >> n & 1),
        )
        for row in rows.collect()
    ]


def window_start(at: Column) -> Column:
    """
    Return the start of the 10 s window that contains an instant.

    >>> times = spark.sql("SELECT * FROM VALUES (TIMESTAMP'2026-11-21 09:19:28.987'), (NULL) AS t(at)")
    >>> times.select("at", window_start(F.col("at")).alias("window_start")).show(truncate=False)
    +-----------------------+-------------------+
    |at                     |window_start       |
    +-----------------------+-------------------+
    |2026-11-21 09:19:28.987|2026-11-21 09:19:20|
    |NULL                   |NULL               |
    +-----------------------+-------------------+
    <BLANKLINE>
    """
    micros = F.unix_micros(at)
    return F.timestamp_micros(micros - F.pmod(micros, F.lit(WINDOW_S * 1_000_000)))


def touches_of(builds: Iterable[Build]) -> list[tuple[str, Touch]]:
    """Return all touches with their names, in the order of the bits of the column `touches`."""
    return [(build.touch_name(n), touch) for build in builds for n, touch in enumerate(build.touched_by)]


def _touching(rows: DataFrame, table: Table, builds: Iterable[Build]) -> DataFrame:
    broker = F.col("broker_id") if table is REQUESTS else F.lit(None).cast("int")
    return rows.select(
        F.lit(table.name).alias("input"),
        "cluster",
        broker.alias("broker_id"),
        F.col(table.instant).alias("at"),
        _touches(table, builds).alias("touches"),
    )


def _touches(table: Table, builds: Iterable[Build]) -> Column:
    """Return a bit per touch of an input, because a column for each would make the plan of a batch costly."""
    bits = [(1 << n, touch) for n, (_, touch) in enumerate(touches_of(builds)) if touch.table is table]
    always = sum(bit for bit, touch in bits if touch.is_always)
    sometimes = [
        F.when(touch.condition(), F.lit(bit).cast("long")).otherwise(F.lit(0).cast("long"))
        for bit, touch in bits
        if not touch.is_always
    ]
    return reduce(Column.bitwiseOR, sometimes, F.lit(always).cast("long"))


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
