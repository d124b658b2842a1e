"""A1 without a request log: the mean of leader_local between scrapes, from Count x Mean of two MBeans."""

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from schemas.fields import Table
from schemas.gold.leader_local_mean import LEADER_LOCAL_MEAN
from schemas.silver.metrics import METRIC_SAMPLES, METRIC_SERIES
from schemas.silver.requests import REQUESTS
from transforms.gold.build import Build, Inputs, Touch
from transforms.gold.leader_local_mean.intervals import BY, intervals_of
from transforms.gold.leader_local_mean.request_log import with_log
from transforms.gold.metrics.counters import REACH
from transforms.gold.metrics.facts import facts
from transforms.spans import within
from transforms.windows import window_start

RESOLUTION_MS = 2.0
"""The MBeans round times to whole milliseconds, so a smaller mean is mostly rounding."""

FEW = 10
"""The minimum number of requests for a mean. Sums over a time range include intervals with fewer."""

WITHIN_MS, WITHIN_SHARE = 0.5, 0.02
"""The required accuracy of a mean: this difference or this share, whichever is larger."""

LONGEST_WAIT_MS = 500.0
"""The default of `replica.fetch.wait.max.ms` and `fetch.max.wait.ms`: the longest wait in purgatory."""

OF_METRICS = ("n", "n_remote", "total_sum_ms", "remote_sum_ms", "remote_square_sum")
OF_LOG = ("log_n", "log_sum_ms")


def leader_local_mean(intervals: DataFrame, requests: DataFrame) -> DataFrame:
    """Return the sums of the intervals that end in each window, and of their requests in the log."""
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
            *[F.sum(value).alias(name) for value, name in zip(of_known, (*OF_METRICS, *OF_LOG), strict=True)],
        )
        .transform(with_means)
        .select(*LEADER_LOCAL_MEAN.schema.names)
    )


def apart(since: str, until: str) -> list[Column]:
    """Return the difference of the Counts at the first and last scrape. Those in between have no effect."""
    return [
        F.min_by("n_apart_from", since).alias("n_apart_from"),
        F.max_by("n_apart_to", until).alias("n_apart_to"),
    ]


def tolerance_ms(mean_ms: Column) -> Column:
    """
    Return the required accuracy of a mean in ms.

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
    """Add the means, or the reason if there is none. `is_another`: an increase is NULL (`counters.steps`)."""
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
    Return the maximum error of the difference of the means: the two MBeans are read at different times.

    A request that only one MBean has counted changes the difference if its wait is not the mean. There are
    three bounds: the sum of all waits, the longest wait of a fetch, and the spread of waits if StdDev is
    known. The result is the smallest bound.
    """
    n, n_apart = F.col("n"), F.col("n_apart_from") + F.col("n_apart_to")
    furthest = F.when(remote_mean_ms > LONGEST_WAIT_MS / 2, remote_mean_ms).otherwise(
        LONGEST_WAIT_MS - remote_mean_ms
    )
    variance = F.try_divide("remote_square_sum", "n_remote") - remote_mean_ms * remote_mean_ms
    spread = F.sqrt(F.when(variance > 0, variance).otherwise(F.when(variance.isNotNull(), F.lit(0.0))))
    share = F.try_divide(n_apart, n)
    # F.least skips NULL: an unknown bound is ignored.
    least = F.least(F.try_divide("remote_sum_ms", "n"), share * furthest, F.sqrt(share) * spread)
    return F.when(n_apart == 0, F.lit(0.0)).when(n_apart.isNotNull() & remote_mean_ms.isNotNull(), least)


def _frames(inputs: Inputs) -> Mapping[Table, DataFrame]:
    intervals = intervals_of(inputs.near(METRIC_SAMPLES), facts(inputs.whole(METRIC_SERIES)))
    if inputs.spans is not None:
        intervals = intervals.filter(within("to_at", inputs.spans))
    return {LEADER_LOCAL_MEAN: leader_local_mean(inputs.once(intervals), inputs.near(REQUESTS))}


BUILD = Build(
    name="leader_local_mean",
    tables=(LEADER_LOCAL_MEAN,),
    frames=_frames,
    reads={METRIC_SAMPLES: REACH, REQUESTS: REACH},
    whole=(METRIC_SERIES,),
    # A scrape touches each window that the next one may lie in; a series touches all since its first sample.
    touched_by=(
        Touch(of=METRIC_SAMPLES, reach=REACH),
        Touch(of=REQUESTS, reach=REACH),
        Touch(of=METRIC_SERIES, and_later=True),
    ),
    needs=(METRIC_SAMPLES,),
)
