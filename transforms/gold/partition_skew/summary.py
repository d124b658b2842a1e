"""How even a producer's batches fall over a span, and which partitioner the pattern speaks for."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from schemas.gold.partition_skew import PARTITION_SKEW_SUMMARY
from transforms.gold.partition_skew.slope import slope
from transforms.gold.partition_skew.slowest import partitioner, slowest_leader
from transforms.gold.partition_skew.span import REQUEST_LOG
from transforms.gold.partition_skew.table import CLIENT, SENT, ratio, total_of


def partition_skew_summary(span: DataFrame, windows: DataFrame, payloads: DataFrame) -> DataFrame:
    """
    Judge each client on each topic: `span` as `partition_skew_span` gives it, `windows` it was added up from.

    `payloads` (`perf_runs.payloads`) tell what had to be sent: bytes that cannot hold it are flagged.

    Evenness is that of bytes; the chi-square is that of batches, since a producer chooses a partition for a
    batch and not for a record.
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
    Flag bytes that do not add up: fewer than the records that were sent, uncompressed, have by themselves.

    Records are those of the batches counted; where only nodes are known, those of the run's summary line.
    """
    told = payloads.filter(~F.col("is_compressed")).select(
        F.col("cluster").alias("of_cluster"),
        F.col("run").alias("of_run"),
        F.col("client_id").alias("of_client"),
        "payload_records",
        "record_size_bytes",
    )
    is_its = [
        F.col("cluster") == F.col("of_cluster"),
        F.col("run") == F.col("of_run"),
        F.col("client_id") == F.col("of_client"),
    ]
    is_log = F.col("method") == REQUEST_LOG
    records = F.when(is_log, F.col("records")).otherwise(F.col("payload_records"))
    counted = F.when(is_log, ratio(F.col("batches_counted"), F.col("batches"))).otherwise(1.0)
    is_short = F.col("bytes") * counted < records * F.col("record_size_bytes")
    flags = F.array_append("quality_flags", F.when(is_short, "bytes_do_not_add_up"))
    return rows.join(told, on=is_its, how="left").withColumn("quality_flags", F.array_compact(flags))


def evenness(span: DataFrame) -> DataFrame:
    """Add up each client's partitions on a topic, and tell how even their bytes and batches are."""
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
    ranked = F.zip_with("of_bytes", F.sequence(F.lit(1), n), lambda x, nth: x * (2 * nth - n - 1))
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
