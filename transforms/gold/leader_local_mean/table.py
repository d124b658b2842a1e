"""A1 without a request log: the mean of leader_local between scrapes, from Count x Mean of two beans."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from schemas.gold.leader_local_mean import LEADER_LOCAL_MEAN
from transforms.gold.leader_local_mean.intervals import BY
from transforms.gold.leader_local_mean.request_log import with_log
from transforms.windows import window_start

RESOLUTION_MS = 2.0
"""The beans round each request's times to whole milliseconds: of a smaller mean most is rounding."""

FEW = 10
"""So few requests have no mean worth telling; in the sums of a longer span they count."""

WITHIN_MS, WITHIN_SHARE = 0.5, 0.02
"""How good a mean is wanted, whichever is more: so near the truth, or this share of it."""

LONGEST_WAIT_MS = 500.0
"""How long a fetch waits in purgatory unless it is told otherwise, by followers and consumers alike."""

OF_METRICS = ("n", "n_remote", "total_sum_ms", "remote_sum_ms", "remote_square_sum")
OF_LOG = ("log_n", "log_sum_ms")


def leader_local_mean(intervals: DataFrame, requests: DataFrame) -> DataFrame:
    """Sum up the intervals that end in each window, and the requests of the log that lie in them."""
    of_known = (F.when(~F.col("is_another"), F.col(name)) for name in (*OF_METRICS, *OF_LOG))
    return (
        with_log(intervals, requests)
        .withColumn("is_another", F.col("n").isNull())
        .groupBy(*BY, window_start(F.col("to_at")).alias("window_start"))
        .agg(
            F.min("from_at").alias("from_at"),
            F.max("to_at").alias("to_at"),
            F.max("is_reset").alias("is_reset"),
            F.max("is_another").alias("is_another"),
            *apart("from_at", "to_at"),
            *[F.sum(of).alias(name) for of, name in zip(of_known, (*OF_METRICS, *OF_LOG), strict=True)],
        )
        .transform(with_means)
        .select(*LEADER_LOCAL_MEAN.schema.names)
    )


def apart(since: str, until: str) -> list[Column]:
    """Tell how far the beans are apart at the first scrape and at the last: what is between has no effect."""
    return [
        F.min_by("n_apart_from", since).alias("n_apart_from"),
        F.max_by("n_apart_to", until).alias("n_apart_to"),
    ]


def tolerance_ms(mean_ms: Column) -> Column:
    """
    Return how far from the truth a mean may be.

    >>> spark.createDataFrame([(2.0,), (100.0,), (None,)], "mean_ms double").select(
    ...     tolerance_ms(F.col("mean_ms")).alias("tolerance_ms")).show()
    +------------+
    |tolerance_ms|
    +------------+
    |         0.5|
    |         2.0|
    |        NULL|
    +------------+
    <BLANKLINE>
    """
    share = mean_ms * WITHIN_SHARE
    return F.when(share <= WITHIN_MS, F.lit(WITHIN_MS)).otherwise(share)


def with_means(sums: DataFrame) -> DataFrame:
    """Add the means of sums, and the reason where there is none; `is_another`: see `counters.steps`."""
    total, remote = F.try_divide("total_sum_ms", "n"), F.try_divide("remote_sum_ms", "n_remote")
    local = total - remote
    reason = (
        F.when(F.col("is_another"), F.lit("reset"))
        .when(F.col("total_sum_ms").isNull() | F.col("remote_sum_ms").isNull(), F.lit("no_mean"))
        .when(F.col("n") < FEW, F.lit("too_few"))
        .when(F.coalesce(F.col("doubt_ms") > tolerance_ms(local), F.lit(True)), F.lit("counts_differ"))
        .when(local < RESOLUTION_MS, F.lit("below_resolution"))
    )
    return (
        sums.withColumn("total_mean_ms", total)
        .withColumn("remote_mean_ms", remote)
        .withColumn("doubt_ms", doubt_ms(remote))
        .withColumn("reason", reason)
        .withColumn("leader_local_mean_ms", F.when(F.col("reason").isNull(), local))
    )


def doubt_ms(remote_mean_ms: Column) -> Column:
    """
    Return how far the difference of the means can be off because the two beans are read a moment apart.

    A request that one bean alone has, with a wait unlike the mean one, moves the difference by a share of it.
    Those at either end can have waited no longer than all did together, nor longer than a fetch waits; where
    StdDev is known, not further from the mean than the waits are spread. The least of these counts.
    """
    n, n_apart = F.col("n"), F.col("n_apart_from") + F.col("n_apart_to")
    furthest = F.when(remote_mean_ms > LONGEST_WAIT_MS / 2, remote_mean_ms).otherwise(
        LONGEST_WAIT_MS - remote_mean_ms
    )
    variance = F.try_divide("remote_square_sum", "n_remote") - remote_mean_ms * remote_mean_ms
    spread = F.sqrt(F.when(variance > 0, variance).otherwise(F.when(variance.isNotNull(), F.lit(0.0))))
    share = F.try_divide(n_apart, n)
    # Least skips what is not known, as it should here: a bound more can only make it less.
    least = F.least(F.try_divide("remote_sum_ms", "n"), share * furthest, F.sqrt(share) * spread)
    return F.when(n_apart == 0, F.lit(0.0)).when(n_apart.isNotNull() & remote_mean_ms.isNotNull(), least)
