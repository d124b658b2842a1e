"""Counts of read, kept, quarantined and skipped lines per kind, node and source file."""

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from schemas.gold.data_quality import DATA_QUALITY
from transforms.frames import united

KEY = ("cluster", "kind", "node", "source")
COUNTS = ("lines_read", "kept", "quarantined", "skipped", "duplicates")


def data_quality(
    bronze: DataFrame, silver: Mapping[str, DataFrame], quarantine: DataFrame, skipped: DataFrame
) -> DataFrame:
    """
    Count the lines of bronze, and independently the lines in silver, in quarantine and skipped.

    `bronze` contains the lines of all parsed kinds; `silver` contains the rows by kind, one per line. A
    re-sent line counts once as kept or quarantined and once as a duplicate, even if its file was renamed.
    """
    parts = [
        _counted(bronze.select(*KEY), lines_read=F.lit(1)),
        united([_kept(rows, kind) for kind, rows in silver.items()]).transform(_once, "kept"),
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
"""The end of the position of a rejected scrape line. The scrape itself is counted, not its lines."""


def _rejected(quarantine: DataFrame) -> DataFrame:
    is_line_of_scrape = (F.col("kind") == "metrics") & F.col("position").rlike(OF_A_SCRAPE)
    quarantine = quarantine.filter(~F.coalesce(is_line_of_scrape, F.lit(False)))
    # The parts of an oversized value share a position. Each is a row of bronze, so each counts.
    identity = F.concat_ws("#", _identity(), "chunk")
    return quarantine.select(
        *KEY, identity.alias("identity"), F.lit(None).cast("timestamp").alias("logged_at")
    )


def _identity() -> Column:
    """Return the identity of a line, which re-sent lines share. A record without a position is unique."""
    return F.coalesce("position", F.concat_ws("/", "topic", "partition", "offset"))


def _once(rows: DataFrame, outcome: str) -> DataFrame:
    """Count the first row of an identity as `outcome` and the others as duplicates, each for its source."""
    identities = rows.groupBy("cluster", "kind", "node", "identity").agg(
        F.collect_list(F.struct("source", "logged_at")).alias("sent")
    )
    every = identities.select(
        "cluster", "kind", "node", F.posexplode(F.array_sort("sent")).alias("rank", "line")
    ).select("cluster", "kind", "node", "rank", "line.*")
    is_first = (F.col("rank") == 0).cast("bigint")
    counts = {outcome: is_first, "duplicates": 1 - is_first}
    at = F.when(F.col("rank") == 0, F.col("logged_at"))
    return _counted(every, at=at, **counts)


def _counted(rows: DataFrame, at: Column | None = None, **counts: Column) -> DataFrame:
    nothing, never = F.lit(0), F.lit(None).cast("timestamp")
    at = never if at is None else at
    return rows.groupBy(*KEY).agg(
        *[F.sum(counts.get(name, nothing)).cast("bigint").alias(name) for name in COUNTS],
        F.min(at).alias("first_logged_at"),
        F.max(at).alias("last_logged_at"),
    )
