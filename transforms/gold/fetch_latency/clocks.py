"""
The clock offset of two brokers, from the replica fetches between them.

The follower sends a fetch before the leader reads it, and receives the response after the leader begins to
send it. The two log lines of a fetch therefore give a lower and an upper bound of the offset. The bounds are
medians over many fetches, because a late line of a busy broker would dominate the narrowest bounds. Medians
are taken of each 10 s first, and then of all these around a window, because brokers exchange hundreds of
fetches per second. If 0 is between the bounds, there is no correction.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from transforms.windows import WINDOW_S, window_start

PAIR = ("cluster", "from_id", "to_id")


def offsets(fetches: DataFrame) -> DataFrame:
    """
    Return the bounds from the paired fetches (`pairing.fetches`) of each 10 s, for both directions of a pair.

    `low_us` and `high_us` bound the clock of `to_id` minus that of `from_id`.
    """
    answered_us, received_us = F.unix_micros("logged_at"), F.unix_micros("received_at")
    low = answered_us - _us("send_ms") - received_us
    high = answered_us - _us("total_ms") - (received_us - _us("elapsed_ms"))
    paired = fetches.filter((F.col("kind") == "follower") & F.col("elapsed_ms").isNotNull())
    there = paired.select(
        "cluster",
        F.col("follower_id").alias("from_id"),
        F.col("leader_id").alias("to_id"),
        window_start(F.col("logged_at")).alias("seen_from"),
        low.alias("low_us"),
        high.alias("high_us"),
    )
    bounds = there.groupBy(*PAIR, "seen_from").agg(
        F.median("low_us").cast("bigint").alias("low_us"), F.median("high_us").cast("bigint").alias("high_us")
    )
    back = bounds.select(
        "cluster",
        F.col("to_id").alias("from_id"),
        F.col("from_id").alias("to_id"),
        "seen_from",
        (-F.col("high_us")).alias("low_us"),
        (-F.col("low_us")).alias("high_us"),
    )
    return bounds.unionByName(back)


def clocks(fetches: DataFrame, reach_s: int) -> DataFrame:
    """
    Return `offset_us` for each window: how far the clock of `to_id` is ahead of the clock of `from_id`.

    The offset uses the fetches up to `reach_s` before and after the window. `clock_bound_ms` is its maximum
    error. A window without fetches has no row.
    """
    steps = F.sequence(F.lit(-reach_s), F.lit(reach_s), F.lit(WINDOW_S))
    low, high = F.col("low_us"), F.col("high_us")
    return (
        offsets(fetches)
        .withColumn("step_s", F.explode(steps))
        .withColumn("window_start", F.col("seen_from") + F.make_dt_interval(secs=F.col("step_s")))
        .groupBy(*PAIR, "window_start")
        .agg(F.median("low_us").alias("low_us"), F.median("high_us").alias("high_us"))
        .select(
            *PAIR,
            "window_start",
            offset_us(low, high).alias("offset_us"),
            (bound_us(low, high) / 1e3).alias("clock_bound_ms"),
        )
    )


def offset_us(low: Column, high: Column) -> Column:
    """
    Return the smallest correction that the bounds allow.

    >>> rows = spark.sql("SELECT * FROM VALUES (-300, 200), (400, 900), (-90, -40), (20, 10) AS t(low, high)")
    >>> [row[0] for row in rows.select(offset_us(F.col("low"), F.col("high"))).collect()]
    [0, 400, -40, 15]
    """
    nearest = F.greatest(low, F.least(F.lit(0), high))
    return F.when(low > high, ((low + high) / 2).cast("bigint")).otherwise(nearest).cast("bigint")


def bound_us(low: Column, high: Column) -> Column:
    """Return the maximum error of `offset_us`."""
    offset = offset_us(low, high)
    return F.greatest(F.abs(offset - low), F.abs(high - offset))


def _us(ms: str) -> Column:
    return F.round(F.col(ms) * 1_000).cast("bigint")
