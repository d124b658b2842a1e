"""A1: fetch latency without the wait in purgatory (KIP-736)."""

from functools import cache

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from schemas.gold.fetch_latency import FETCH_LATENCY
from transforms.histogram import RELATIVE_ERROR, bucket, collected, finite, quantile
from transforms.windows import with_coverage

GRAIN = ("cluster", "window_start", "leader_id", "kind", "follower_id", "client_id")
METRICS = ("total", "remote", "leader_local", "true")
DELAYED = ("leader_local_delayed", "true_delayed")
"""The metrics of fetches that waited in purgatory. All minus delayed fetches are the immediate ones."""

NS_PER_MS = 1_000_000


def fetch_latency(fetches: DataFrame, covered: DataFrame) -> DataFrame:
    """
    Return one row per window, leader and fetcher. The wait is subtracted per request.

    `fetches` is the result of `pairing.fetches`, `covered` the result of `windows.coverage`.
    """
    by_metric = [column for metric in (*METRICS, *DELAYED) for column in _of_metric(metric)]
    return (
        _counts(fetches)
        .groupBy(*GRAIN)
        .agg(
            _count_of("total", F.col("n")).alias("n"),
            _count_of("leader_local_delayed", F.col("n")).alias("n_delayed"),
            _count_of("true", F.col("n_valued")).alias("n_true"),
            *by_metric,
        )
        .transform(_with_empty_histograms)
        .withColumns(_quantiles())
        .withColumn("relative_error", F.lit(RELATIVE_ERROR))
        .transform(with_coverage, covered)
        .select(*FETCH_LATENCY.schema.names)
    )


def values() -> Column:
    """
    Return the measurements of one fetch: an array of (metric, value_ms).

    A fetch without a total still counts. A true latency needs the follower's log.

    >>> rows = spark.createDataFrame(
    ...     [(500.5, 499.5, 501.0), (2.0, 0.0, None), (None, None, None)],
    ...     "total_ms double, remote_ms double, elapsed_ms double")
    >>> rows.limit(1).select(F.inline(values())).show()
    +--------------------+--------+
    |              metric|value_ms|
    +--------------------+--------+
    |               total|   500.5|
    |              remote|   499.5|
    |        leader_local|     1.0|
    |                true|     1.5|
    |leader_local_delayed|     1.0|
    |        true_delayed|     1.5|
    +--------------------+--------+
    <BLANKLINE>
    >>> rows.select(values().alias("values")).offset(1).show(truncate=False)
    +--------------------------------------------------+
    |values                                            |
    +--------------------------------------------------+
    |[{total, 2.0}, {remote, 0.0}, {leader_local, 2.0}]|
    |[{total, NULL}]                                   |
    +--------------------------------------------------+
    <BLANKLINE>
    """
    total, remote, is_delayed = F.col("total_ms"), F.col("remote_ms"), F.col("remote_ms") > 0
    local, true = total - remote, F.col("elapsed_ms") - remote
    measured = [
        F.when(remote.isNotNull(), _value("remote", remote)),
        F.when(local.isNotNull(), _value("leader_local", local)),
        F.when(true.isNotNull(), _value("true", true)),
        F.when(is_delayed, _value("leader_local_delayed", local)),
        F.when(is_delayed & true.isNotNull(), _value("true_delayed", true)),
    ]
    return F.array_compact(F.array(_value("total", total), *measured))


def _value(metric: str, value_ms: Column) -> Column:
    return F.struct(F.lit(metric).alias("metric"), finite(value_ms).alias("value_ms"))


def _counts(fetches: DataFrame) -> DataFrame:
    """Count the values of each bucket. Sums are whole nanoseconds, so the order does not matter."""
    value = F.col("value_ms")
    return (
        fetches.select(*GRAIN, F.inline(values()))
        .groupBy(*GRAIN, "metric", bucket(value).alias("bucket"))
        .agg(
            F.count(F.lit(1)).alias("n"),
            F.count(value).alias("n_valued"),
            F.sum(F.round(value * NS_PER_MS).cast("bigint")).alias("sum_ns"),
            F.min(value).alias("min_ms"),
            F.max(value).alias("max_ms"),
        )
    )


def _of_metric(metric: str) -> list[Column]:
    is_it = F.col("metric") == metric
    key = F.when(is_it, F.col("bucket"))
    hist = collected(key, F.col("n")).alias(f"{metric}_hist")
    if metric in DELAYED:
        return [hist]
    return [
        hist,
        (F.sum(F.when(is_it, F.col("sum_ns"))) / NS_PER_MS).alias(f"{metric}_sum_ms"),
        F.min(F.when(is_it, F.col("min_ms"))).alias(f"{metric}_min_ms"),
        F.max(F.when(is_it, F.col("max_ms"))).alias(f"{metric}_max_ms"),
    ]


def _count_of(metric: str, n: Column) -> Column:
    return F.coalesce(F.sum(F.when(F.col("metric") == metric, n)), F.lit(0))


def _with_empty_histograms(rows: DataFrame) -> DataFrame:
    """Replace NULL by an empty histogram if the metric has values but no delayed fetches."""
    empty = F.create_map().cast("map<int,bigint>")
    return rows.withColumns(
        {
            f"{metric}_delayed_hist": F.when(
                F.col(f"{metric}_hist").isNotNull(), F.coalesce(f"{metric}_delayed_hist", empty)
            )
            for metric in ("leader_local", "true")
        }
    )


@cache
def _quantiles() -> dict[str, Column]:
    """Return the quantile columns, cached: the JVM calls that build them take 1 s per batch of a stream."""
    return {
        f"{metric}_{name}_ms": quantile(
            F.col(f"{metric}_hist"), q, low=F.col(f"{metric}_min_ms"), high=F.col(f"{metric}_max_ms")
        )
        for metric in METRICS
        for name, q in (("p50", 0.5), ("p99", 0.99))
    }
