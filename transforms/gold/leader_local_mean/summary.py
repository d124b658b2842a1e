"""A1 without a request log over a time range: sums of `leader_local_mean`, compared with the log."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from schemas.gold.leader_local_mean import LEADER_LOCAL_MEAN_SUMMARY
from transforms.gold.leader_local_mean.intervals import BY
from transforms.gold.leader_local_mean.table import MEANS, OF_LOG, OF_METRICS, counts_apart, tolerance_ms

SAME_REQUESTS = 0.05
"""If the numbers of requests differ by a larger share, a part of the log is missing."""

HELD = 0.8
"""If the log has a smaller share of a window's requests, the log does not cover the window."""


def leader_local_mean_summary(leader_local_mean: DataFrame) -> DataFrame:
    """
    Add up the windows of each broker and request type. Means are computed from sums, not from means.

    The comparison with the log uses only the windows that the log covers.
    """
    log_mean = F.try_divide("log_sum_ms", "log_n")
    of_same = _mean("held_total_sum_ms", "held_n") - _mean("held_remote_sum_ms", "held_n_remote")
    is_same = F.abs(F.col("log_n") - F.col("held_n")) <= F.col("held_n") * SAME_REQUESTS
    is_comparable = is_same & F.col("leader_local_mean_ms").isNotNull()
    sums = leader_local_mean.groupBy(*BY).agg(
        F.min("from_at").alias("since"),
        F.max("to_at").alias("until"),
        F.count(F.lit(1)).alias("intervals"),
        F.count_if("is_reset").alias("resets"),
        F.lit(False).alias("is_another"),
        *(F.expr(of).alias(name) for name, of in counts_apart("from_at", "to_at").items()),
        *[_of_summed(name).alias(name) for name in OF_METRICS],
        *[_of_held(name).alias(f"held_{name}") for name in OF_METRICS],
        *[_of_held(name).alias(name) for name in OF_LOG],
    )
    for name, value in MEANS.items():
        sums = sums.withColumn(name, F.expr(value))
    return (
        sums.withColumn("log_leader_local_mean_ms", log_mean)
        .withColumn("difference_ms", F.when(is_comparable, of_same - log_mean))
        .withColumn("is_within", F.abs("difference_ms") <= F.expr(tolerance_ms("log_leader_local_mean_ms")))
        .select(*LEADER_LOCAL_MEAN_SUMMARY.schema.names)
    )


def _mean(total: str, n: str) -> Column:
    return F.try_divide(total, n)


def _of_summed(name: str) -> Column:
    """Return the sum over windows with sums. A node without a Mean still has counts."""
    return F.coalesce(F.sum(F.when(F.col("total_sum_ms").isNotNull(), F.col(name))), F.sum(name))


def _of_held(name: str) -> Column:
    """Return the sum over windows that have sums and that the log covers."""
    is_held = F.col("total_sum_ms").isNotNull() & (F.col("log_n") >= F.col("n") * HELD)
    return F.sum(F.when(is_held, F.col(name)))
