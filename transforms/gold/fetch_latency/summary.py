"""A1 over a time range: the sum of `fetch_latency` windows, computed on read."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from transforms.gold.fetch_latency.table import METRICS
from transforms.histogram import RELATIVE_ERROR, collected, quantile

FETCHER = ("cluster", "leader_id", "kind", "follower_id", "client_id")
COUNTS = ("n", "n_delayed", "n_true")
QUANTILES = (("p50", 0.5), ("p99", 0.99))


def fetch_latency_summary(fetch_latency: DataFrame) -> DataFrame:
    """
    Return one row per leader and fetcher. Percentiles are those of all fetches, not averages of percentiles.

    `window_start` is the first window. The columns are those of `fetch_latency` except for the histograms and
    the coverage of a window.
    """
    spans = [F.min("window_start").alias("window_start"), *[F.sum(name).alias(name) for name in COUNTS]]
    bounds = [
        function(f"{metric}_{name}_ms").alias(f"{metric}_{name}_ms")
        for metric in METRICS
        for name, function in (("sum", F.sum), ("min", F.min), ("max", F.max))
    ]
    sums = fetch_latency.groupBy(*FETCHER).agg(*spans, *bounds)
    hists = _histograms(fetch_latency).withColumnsRenamed({name: f"of_{name}" for name in FETCHER})
    # A consumer has no follower id and may have no client id, so the join must match NULL.
    is_same = [F.col(name).eqNullSafe(F.col(f"of_{name}")) for name in FETCHER]
    return (
        sums.join(hists, on=is_same, how="left")
        .withColumns(_percentiles())
        .withColumn("relative_error", F.lit(RELATIVE_ERROR))
        .drop(*[f"of_{name}" for name in FETCHER], *[f"{metric}_hist" for metric in METRICS])
    )


def _histograms(fetch_latency: DataFrame) -> DataFrame:
    pairs = [F.struct(F.lit(name).alias("metric"), F.col(f"{name}_hist").alias("hist")) for name in METRICS]
    return (
        fetch_latency.select(*FETCHER, F.inline(F.array(*pairs)))
        .select(*FETCHER, "metric", F.explode("hist").alias("bucket", "fetches"))
        .groupBy(*FETCHER, "metric", "bucket")
        .agg(F.sum("fetches").alias("fetches"))
        .groupBy(*FETCHER)
        .agg(*[_histogram(metric).alias(f"{metric}_hist") for metric in METRICS])
    )


def _histogram(metric: str) -> Column:
    return collected(F.when(F.col("metric") == metric, F.col("bucket")), F.col("fetches"))


def _percentiles() -> dict[str, Column]:
    return {
        f"{metric}_{name}_ms": quantile(
            F.col(f"{metric}_hist"), q, low=F.col(f"{metric}_min_ms"), high=F.col(f"{metric}_max_ms")
        )
        for metric in METRICS
        for name, q in QUANTILES
    }
