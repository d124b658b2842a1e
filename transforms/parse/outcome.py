"""
What becomes of a line: kept, quarantined with a reason, or skipped and counted. Exactly one of them.

A parsed frame holds the columns of bronze, `logger`, `outcome`, `reason`, `detail` and `row`, the silver row
of a kept line.
"""

from collections.abc import Callable

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from schemas.bronze import RAW
from schemas.fields import Table
from schemas.silver import QUARANTINE, SKIPPED
from transforms.parse import PARSER_VERSION

KEPT, QUARANTINED, SKIP = "kept", "quarantined", "skipped"

SHOWN = 120
"""So many characters of a bad line are repeated in `detail`, for people."""


def let(value: Column, body: Callable[[Column], Column]) -> Column:
    """Give a value a name inside one expression, so that a lambda does not work it out for each element."""
    return F.get(F.transform(F.array(value), body), F.lit(0))


def apart(value: Column) -> Column:
    """
    Keep Catalyst from copying a column's expression into whatever reads the column.

    It would be worked out once for each reader, and be interpreted, not compiled, where the reader is: as
    `from_json` and every function with a lambda are. Nothing is copied that calls itself nondeterministic.
    """
    return F.when(F.spark_partition_id() < 0, None).otherwise(value)


def fails(condition: Column, reason: str, detail: Column | str) -> Column:
    """
    Give the reason and detail where the condition is true, NULL where it is false or unknown.

    >>> lines = spark.createDataFrame([(1,), (2,), (None,)], "n int")
    >>> lines.select("n", fails(F.col("n") > 1, "too_many", "n").alias("failure")).show()
    +----+-------------+
    |   n|      failure|
    +----+-------------+
    |   1|         NULL|
    |   2|{too_many, n}|
    |NULL|         NULL|
    +----+-------------+
    <BLANKLINE>
    """
    told = F.lit(detail) if isinstance(detail, str) else detail.cast("string")
    return F.when(condition, F.struct(F.lit(reason).alias("reason"), told.alias("detail")))


def sample(text: Column) -> Column:
    """Give the start of a bad line, for people."""
    return F.concat(F.lit("starts with: "), F.substring(text, 1, SHOWN))


def with_outcome(
    frame: DataFrame, *, failure: Column, skip: Column, row: Column, extra: list[str]
) -> DataFrame:
    """
    Judge every line once: `failure` (see `fails`) before `skip` (a reason, or NULL) before being kept.

    `extra` names further columns of a kept line that the parsed frame holds. The outcome stands `apart`, or
    a filter on it would be moved below the parse and do it once more for each condition in it.
    """
    judged = frame.select("*", failure.alias("failure"), skip.alias("skip"), row.alias("row"))
    outcome = (
        F.when(F.col("failure").isNotNull(), QUARANTINED)
        .when(F.col("skip").isNotNull(), SKIP)
        .otherwise(KEPT)
    )
    return judged.select(
        *RAW.fieldNames(),
        "logger",
        apart(outcome).alias("outcome"),
        F.coalesce(F.col("failure.reason"), F.col("skip")).alias("reason"),
        F.col("failure.detail").alias("detail"),
        "row",
        *extra,
    )


def rows_of(parsed: DataFrame, table: Table) -> DataFrame:
    """Give the silver rows of the kept lines."""
    return parsed.where(F.col("outcome") == KEPT).select("row.*").to(table.schema)


def quarantined(parsed: DataFrame) -> DataFrame:
    """Give the lines that could not be read, as rows of `silver.quarantine`."""
    date = F.coalesce("ingest_date", F.to_date("ingested_at"), F.to_date("timestamp"))
    bad = parsed.where(F.col("outcome") == QUARANTINED)
    return bad.select("*", F.lit(PARSER_VERSION).alias("parser_version"), date.alias("quarantined_date")).to(
        QUARANTINE.schema
    )


def skipped(parsed: DataFrame, *, batch_id: int) -> DataFrame:
    """Count the lines that are not ours to parse, as rows of `silver.skipped`."""
    by = ["kind", "cluster", "node", "source", "logger", "reason", "ingest_date"]
    counts = parsed.where(F.col("outcome") == SKIP).groupBy(*by).agg(F.count("*").alias("lines"))
    return counts.select(
        "*", F.lit(batch_id).cast("long").alias("batch_id"), F.lit(PARSER_VERSION).alias("parser_version")
    ).to(SKIPPED.schema)
