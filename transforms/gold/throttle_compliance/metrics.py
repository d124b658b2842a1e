"""Metrics of throttled replication: byte-rate MBeans and byte counters."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    DoubleType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from transforms.frames import united

RATES, REASSIGNED, REPLICATED = "replication_byte_rate", "reassignment_bytes", "replication_bytes"
OUT = "out"

EVENTS = StructType(
    [
        StructField("cluster", StringType()),
        StructField("broker_id", IntegerType()),
        StructField("direction", StringType()),
        StructField("at", TimestampType()),
        *(StructField(name, DoubleType()) for name in ("bean_max_bytes_per_s", "bean_sum_bytes_per_s")),
        StructField("bean_n", LongType()),
        *(
            StructField(name, DoubleType())
            for name in ("reassignment_bytes", "replication_bytes", "counter_s")
        ),
    ]
)
"""A sample of an MBean, or an increase of a counter, of one broker and direction."""


def events(facts: DataFrame, samples: DataFrame, increases: DataFrame) -> DataFrame:
    """
    Return the samples of MBeans, and the increases of counters at the end of their intervals.

    `facts` is the result of `metrics.facts.facts`, `samples` is `silver.metric_samples`, and `increases` is
    the result of `counters.increases`. Samples that are not finite are ignored.
    """
    known = facts.filter(F.col("broker_id").isNotNull() & F.col("topic").isNull())
    whose = known.select("cluster", "series_id", "broker_id", "direction", "meaning").distinct()
    beans = (
        samples.dropDuplicates(["cluster", "series_id", "at"])
        .join(F.broadcast(whose.filter(F.col("meaning") == RATES)), on=["cluster", "series_id"], how="inner")
        .filter(~F.isnan("value") & (F.abs("value") < F.lit(float("inf"))))
        .withColumns(
            {
                "bean_max_bytes_per_s": F.col("value"),
                "bean_sum_bytes_per_s": F.col("value"),
                "bean_n": F.lit(1).cast("bigint"),
            }
        )
    )
    both = whose.filter(F.col("meaning").isin(REASSIGNED, REPLICATED))
    took_s = (F.unix_micros("to_at") - F.unix_micros("from_at")) / 1e6
    is_reassigned = F.col("meaning") == REASSIGNED
    counters = (
        increases.join(F.broadcast(both), on=["cluster", "series_id"], how="inner")
        .filter(F.col("increase").isNotNull() & (took_s > 0))
        .withColumns(
            {
                "at": F.col("to_at"),
                "direction": F.when(F.col("direction") == OUT, "leader").otherwise("follower"),
                "reassignment_bytes": F.when(is_reassigned, F.col("increase")),
                "replication_bytes": F.when(~is_reassigned, F.col("increase")),
                "counter_s": F.when(is_reassigned, took_s),
            }
        )
    )
    return united([_laid_out(beans), _laid_out(counters)])


def _laid_out(rows: DataFrame) -> DataFrame:
    return rows.select(
        *(
            (F.col(field.name) if field.name in rows.columns else F.lit(None))
            .cast(field.dataType)
            .alias(field.name)
            for field in EVENTS.fields
        )
    )
