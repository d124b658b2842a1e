"""Partition skew over a time range: the sum of windows, including partitions without batches."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from schemas.gold.partition_skew import PARTITION_SKEW_SPAN
from transforms.gold.partition_skew.ratios import with_ratios
from transforms.gold.partition_skew.table import SENT
from transforms.histogram import merge
from transforms.windows import WINDOW_S

CLIENT = ("cluster", "topic", "client_id", "run")
PARTITION = (*CLIENT, "partition")
SUMS = (*SENT, "produce_n", "produce_sum_ms")
REQUEST_LOG = "request_log"


def partition_skew_span(windows: DataFrame) -> DataFrame:
    """Add up the batches of each partition and client. A partition without batches has a row with zeros."""
    ours = windows.withColumn("run", F.coalesce("run", F.lit("")))  # NULL keys do not match in a join
    sums = ours.groupBy(*PARTITION).agg(
        *(F.sum(name).alias(name) for name in SUMS), F.max("largest_batch_bytes").alias("largest_batch_bytes")
    )
    clients = ours.groupBy(*CLIENT).agg(
        F.min("window_start").alias("since"),
        (F.max("window_start") + F.make_dt_interval(secs=F.lit(WINDOW_S))).alias("until"),
        F.max("software_version").alias("software_version"),
        F.max("arm").alias("arm"),
    )
    there = ours.groupBy("cluster", "topic", "partition").agg(
        F.max_by("leader_id", "window_start").alias("leader_id")
    )
    hists = merge(ours, PARTITION, "produce_hist")
    nothing: dict[str, bool | float | int | str] = dict.fromkeys(
        [name for name in SUMS if name not in ("records", "produce_sum_ms")], 0
    )
    return (
        clients.join(there, on=["cluster", "topic"], how="inner")
        .join(sums, on=list(PARTITION), how="left")
        .join(hists, on=list(PARTITION), how="left")
        .fillna(nothing)
        .withColumns({name: F.lit(None).cast("double") for name in ("min_ms", "max_ms")})
        .transform(with_ratios, CLIENT)
        .withColumn("run", F.nullif("run", F.lit("")))
        .withColumn("method", F.lit(REQUEST_LOG))
        .select(*PARTITION_SKEW_SPAN.schema.names)
    )
