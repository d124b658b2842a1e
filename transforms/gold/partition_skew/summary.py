"""The evenness of a producer's batches over a time range, and the partitioner that it indicates."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from schemas.gold.partition_skew import PARTITION_SKEW_SUMMARY
from transforms.gold.partition_skew.ratios import ratio, total_of
from transforms.gold.partition_skew.slope import slope
from transforms.gold.partition_skew.slowest import partitioner, slowest_leader
from transforms.gold.partition_skew.span import REQUEST_LOG
from transforms.gold.partition_skew.table import CLIENT, SENT


def partition_skew_summary(span: DataFrame, windows: DataFrame, payloads: DataFrame) -> DataFrame:
    """
    Return one row per client and topic, with evenness, slowest leader and partitioner.

    `span` is the result of `partition_skew_span` for `windows`. `payloads` (`perf_runs.payloads`) are the
    records to send; a client with too few bytes for them gets a flag.

    The evenness figures use bytes. The chi-square uses batches, because a producer chooses the partition of
    a batch, not of a record.
    """
    keyed, of_windows = (rows.withColumn("run", F.coalesce("run", F.lit(""))) for rows in (span, windows))
    return (
        evenness(keyed)
        .join(slowest_leader(keyed), on=list(CLIENT), how="left")
        .join(slope(of_windows), on=list(CLIENT), how="left")
        .transform(with_conservation, payloads)
        .withColumn("partitioner", partitioner())
        .withColumn("run", F.nullif("run", F.lit("")))
        .select(*PARTITION_SKEW_SUMMARY.schema.names)
    )


def with_conservation(rows: DataFrame, payloads: DataFrame) -> DataFrame:
    """
    Flag rows with fewer bytes than the payload of their uncompressed records.

    The records are those of the counted batches, or those of the run's summary line if only nodes are known.
    """
    known = payloads.filter(~F.col("is_compressed")).select(
        F.col("cluster").alias("of_cluster"),
        F.col("run").alias("of_run"),
        F.col("client_id").alias("of_client"),
        "payload_records",
        "record_size_bytes",
    )
    is_same = [
        F.col("cluster") == F.col("of_cluster"),
        F.col("run") == F.col("of_run"),
        F.col("client_id") == F.col("of_client"),
    ]
    is_log = F.col("method") == REQUEST_LOG
    records = F.when(is_log, F.col("records")).otherwise(F.col("payload_records"))
    counted = F.when(is_log, ratio(F.col("batches_counted"), F.col("batches"))).otherwise(1.0)
    is_short = F.col("bytes") * counted < records * F.col("record_size_bytes")
    flags = F.array_append("quality_flags", F.when(is_short, "bytes_do_not_add_up"))
    return rows.join(known, on=is_same, how="left").withColumn("quality_flags", F.array_compact(flags))


def evenness(span: DataFrame) -> DataFrame:
    """Return one row per client and topic: sums over partitions, and the evenness of bytes and batches."""
    grouped = span.groupBy(*CLIENT).agg(
        F.min("since").alias("since"),
        F.max("until").alias("until"),
        F.max("software_version").alias("software_version"),
        F.max("arm").alias("arm"),
        F.count(F.lit(1)).cast("int").alias("partitions"),
        *(F.sum(name).alias(name) for name in SENT),
        F.sort_array(F.collect_list("bytes")).alias("of_bytes"),
        F.sort_array(F.collect_list("batches")).alias("of_batches"),
        ratio(F.max("bytes_per_batch"), F.min("bytes_per_batch")).alias("bytes_per_batch_ratio"),
    )
    n, total = F.col("partitions"), F.col("bytes")
    mean, mean_batches = total / n, F.col("batches") / n
    ranked = F.zip_with("of_bytes", F.sequence(F.lit(1), n), lambda x, rank: x * (2 * rank - n - 1))
    by_chance = ratio(_squares("of_batches", F.lit(0.0)), F.col("batches") * F.col("batches"))
    flags = [F.when(F.col("retried") > 0, "retried_batches")]
    return grouped.withColumns(
        {
            "max_over_mean": ratio(F.array_max("of_bytes"), mean),
            "coefficient_of_variation": ratio(F.sqrt(_squares("of_bytes", mean) / n), mean),
            "gini": ratio(total_of(ranked), n * total),
            "top_share": ratio(F.array_max("of_bytes"), total),
            "effective_partitions": ratio(total * total, _squares("of_bytes", F.lit(0.0))),
            "chi_square": ratio(_squares("of_batches", mean_batches), mean_batches),
            "degrees_of_freedom": n - 1,
            "repeat_ratio": ratio(F.col("repeats"), F.col("followed") * by_chance),
            "quality_flags": F.array_compact(F.array(*flags)),
        }
    )


def _squares(values: str, about: Column) -> Column:
    return total_of(F.transform(values, lambda x: (x - about) * (x - about)))
