"""A3: the distribution of a producer's batches over partitions (KIP-480, KIP-794), from the request log."""

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from schemas.fields import Table
from schemas.gold.partition_skew import PARTITION_SKEW
from schemas.silver.perf_test import RUNS
from schemas.silver.requests import REQUESTS
from schemas.silver.topics import TOPICS
from transforms.gold.build import Build, Inputs, Touch
from transforms.gold.partition_skew.produced import NEXT_BATCH_S, batches
from transforms.histogram import bucket, collected, quantile
from transforms.windows import Reach, window_start

GRAIN = ("cluster", "window_start", "topic", "partition", "leader_id", "client_id", "run")
BY_CLIENT = ("cluster", "window_start", "topic", "client_id", "run")
SENT = ("batches", "bytes", "records", "batches_counted", "retried", "followed", "repeats")
NS_PER_MS = 1_000_000

ON_TOPIC = ("cluster", "topic", "client_id", "run")
CLIENT = (*ON_TOPIC, "method")
"""The key of a summary; `method` is the source of the counts."""

REQUESTS_REACH = Reach(lookahead_s=NEXT_BATCH_S, lookback_s=NEXT_BATCH_S)


def partition_skew(requests: DataFrame, topics: DataFrame, runs: DataFrame) -> DataFrame:
    """
    Summarise the batches of each window, partition and client.

    The records of a batch are the offsets up to the next batch of its partition, of any producer.
    """
    rows = batches(requests, topics, runs).withColumn("window_start", window_start(F.col("logged_at")))
    return (
        _counts(rows)
        .groupBy(*GRAIN)
        .agg(
            F.max("software_version").alias("software_version"),
            F.max("arm").alias("arm"),
            *(F.sum(name).alias(name) for name in SENT),
            F.max("largest_batch_bytes").alias("largest_batch_bytes"),
            F.sum("n").alias("produce_n"),
            (F.sum("sum_ns") / NS_PER_MS).alias("produce_sum_ms"),
            F.min("min_ms").alias("min_ms"),
            F.max("max_ms").alias("max_ms"),
            collected(F.col("bucket"), F.col("n")).alias("produce_hist"),
        )
        .transform(with_ratios, BY_CLIENT)
        .select(*PARTITION_SKEW.schema.names)
    )


def _counts(rows: DataFrame) -> DataFrame:
    """Add up by bucket of the request's total. Sums are whole nanoseconds, so the order does not matter."""
    total, is_first = F.col("total_ms"), ~F.col("is_again")
    return rows.groupBy(*GRAIN, bucket(total).alias("bucket")).agg(
        F.max("software_version").alias("software_version"),
        F.max("arm").alias("arm"),
        F.count_if(is_first).alias("batches"),
        F.sum(F.when(is_first, F.col("bytes")).otherwise(0)).alias("bytes"),
        F.sum(F.when(is_first, F.col("records"))).alias("records"),
        F.count(F.when(is_first, F.col("records"))).alias("batches_counted"),
        F.count_if(~is_first).alias("retried"),
        F.count("is_repeat").alias("followed"),
        F.count_if("is_repeat").alias("repeats"),
        F.max("bytes").alias("largest_batch_bytes"),
        F.count(F.lit(1)).alias("n"),
        F.sum(F.round(total * NS_PER_MS).cast("bigint")).alias("sum_ns"),
        F.min(total).alias("min_ms"),
        F.max(total).alias("max_ms"),
    )


def with_ratios(rows: DataFrame, by: tuple[str, ...]) -> DataFrame:
    """Add the columns computed from sums: means per batch, quantiles, and the share within `by`."""
    hist, low, high = (F.col(name) for name in ("produce_hist", "min_ms", "max_ms"))
    of_all = F.sum("bytes").over(Window.partitionBy(*by))
    return rows.withColumns(
        {
            "bytes_per_batch": ratio(F.col("bytes"), F.col("batches")),
            "records_per_batch": ratio(F.col("records"), F.col("batches_counted")),
            "share": ratio(F.col("bytes"), of_all),
            "produce_p50_ms": quantile(hist, 0.5, low=low, high=high),
            "produce_p99_ms": quantile(hist, 0.99, low=low, high=high),
        }
    )


def ratio(part: Column, whole: Column) -> Column:
    """
    Return part / whole; NULL unless `whole` is positive.

    >>> rows = spark.createDataFrame([(1, 2), (1, 0), (None, 2)], "part int, whole int")
    >>> rows.select("part", "whole", ratio(F.col("part"), F.col("whole")).alias("ratio")).show()
    +----+-----+-----+
    |part|whole|ratio|
    +----+-----+-----+
    |   1|    2|  0.5|
    |   1|    0| NULL|
    |NULL|    2| NULL|
    +----+-----+-----+
    <BLANKLINE>
    """
    return F.when(whole > 0, part / whole)


def total_of(values: Column) -> Column:
    """
    Return the sum of an array; NULL if an element is NULL.

    >>> rows = spark.createDataFrame([([1.0, 2.5],), ([1.0, None],), ([],), (None,)], "of array<double>")
    >>> rows.select("of", total_of(F.col("of")).alias("total")).show()
    +-----------+-----+
    |         of|total|
    +-----------+-----+
    | [1.0, 2.5]|  3.5|
    |[1.0, NULL]| NULL|
    |         []|  0.0|
    |       NULL| NULL|
    +-----------+-----+
    <BLANKLINE>
    """
    return F.aggregate(values, F.lit(0.0), lambda total, one: total + one)


PRODUCED = "api = 'PRODUCE'"


def _frames(inputs: Inputs) -> Mapping[Table, DataFrame]:
    requests = inputs.near(REQUESTS).filter(PRODUCED)
    return {PARTITION_SKEW: partition_skew(requests, inputs.whole(TOPICS), inputs.whole(RUNS))}


BUILD = Build(
    name="partition_skew",
    tables=(PARTITION_SKEW,),
    frames=_frames,
    reads={REQUESTS: REQUESTS_REACH},
    whole=(TOPICS, RUNS),
    touched_by=(
        Touch(of=REQUESTS, where=PRODUCED, reach=REQUESTS_REACH),
        Touch(of=RUNS, and_later=True),
    ),
)
