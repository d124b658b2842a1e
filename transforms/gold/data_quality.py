"""Every line accounted for, per kind, node and source file."""

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from schemas.gold.data_quality import DATA_QUALITY
from transforms.frames import united

KEY = ("cluster", "kind", "node", "source")
COUNTS = ("lines_read", "kept", "quarantined", "skipped", "duplicates")


def data_quality(
    bronze: DataFrame, kept: Mapping[str, DataFrame], quarantine: DataFrame, skipped: DataFrame
) -> DataFrame:
    """
    Count what was read (bronze) and, each by itself, what became of it.

    `bronze` holds the lines of every kind that is parsed, `kept` the silver rows by kind, one a line.

    A line that was sent again is one kept or quarantined line and a duplicate, also when its file was
    renamed in between.
    """
    parts = [
        _counted(bronze.select(*KEY), lines_read=F.lit(1)),
        united([_kept(rows, kind) for kind, rows in kept.items()]).transform(_once, "kept"),
        _rejected(quarantine).transform(_once, "quarantined"),
        _counted(skipped.select(*KEY, "lines"), skipped=F.col("lines")),
    ]
    outcomes = F.col("kept") + F.col("quarantined") + F.col("skipped") + F.col("duplicates")
    return (
        united(parts)
        .groupBy(*KEY)
        .agg(
            *[F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in COUNTS],
            F.min("first_logged_at").alias("first_logged_at"),
            F.max("last_logged_at").alias("last_logged_at"),
        )
        .withColumn("is_balanced", F.col("lines_read") == outcomes)
        .select(*DATA_QUALITY.schema.names)
    )


def _kept(silver: DataFrame, kind: str) -> DataFrame:
    return silver.select(
        "cluster", F.lit(kind).alias("kind"), "node", "source", _identity().alias("identity"), "logged_at"
    )


OF_A_SCRAPE = r"#\d+$"
"""Ends the position of a line in a scrape that was kept without it: the scrape is what was read."""


def _rejected(quarantine: DataFrame) -> DataFrame:
    is_line_of_scrape = (F.col("kind") == "metrics") & F.col("position").rlike(OF_A_SCRAPE)
    quarantine = quarantine.filter(~F.coalesce(is_line_of_scrape, F.lit(False)))
    # The parts of one oversized value share a position: each is a row of bronze, so each counts.
    identity = F.concat_ws("#", _identity(), "chunk")
    return quarantine.select(
        *KEY, identity.alias("identity"), F.lit(None).cast("timestamp").alias("logged_at")
    )


def _identity() -> Column:
    """Give what is equal when a line was sent again; a record without a position equals only itself."""
    return F.coalesce("position", F.concat_ws("/", "topic", "partition", "offset"))


def _once(rows: DataFrame, outcome: str) -> DataFrame:
    """Count the first row of an identity as `outcome`, the others as duplicates, each for its own source."""
    identities = rows.groupBy("cluster", "kind", "node", "identity").agg(
        F.collect_list(F.struct("source", "logged_at")).alias("sent")
    )
    every = identities.select(
        "cluster", "kind", "node", F.posexplode(F.array_sort("sent")).alias("nth", "line")
    ).select("cluster", "kind", "node", "nth", "line.*")
    is_first = (F.col("nth") == 0).cast("bigint")
    counts = {outcome: is_first, "duplicates": 1 - is_first}
    at = F.when(F.col("nth") == 0, F.col("logged_at"))
    return _counted(every, at=at, **counts)


def _counted(rows: DataFrame, at: Column | None = None, **counts: Column) -> DataFrame:
    nothing, never = F.lit(0), F.lit(None).cast("timestamp")
    at = never if at is None else at
    return rows.groupBy(*KEY).agg(
        *[F.sum(counts.get(name, nothing)).cast("bigint").alias(name) for name in COUNTS],
        F.min(at).alias("first_logged_at"),
        F.max(at).alias("last_logged_at"),
    )
