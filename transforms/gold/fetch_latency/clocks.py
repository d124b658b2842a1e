"""
How far the clocks of two brokers are apart, from the replica fetches between them.

A fetch was sent before the leader read it and its answer received after the leader began to send it. Both
logs of one fetch so give a least and a greatest offset of the leader's clock against the follower's. Of many
fetches the medians of both are taken, not the narrowest: a line that a busy broker wrote late shifts its
instants, and one such line would rule. First of each 10 s, then of all of these around a window: brokers
exchange hundreds of fetches a second. Where 0 lies between them nothing is corrected.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from transforms.windows import WINDOW_S, window_start

PAIR = ("cluster", "from_id", "to_id")


def offsets(fetches: DataFrame) -> DataFrame:
    """
    Give what the paired fetches (`pairing.fetches`) of each 10 s tell, for both directions of each pair.

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
    told = there.groupBy(*PAIR, "seen_from").agg(
        F.median("low_us").cast("bigint").alias("low_us"), F.median("high_us").cast("bigint").alias("high_us")
    )
    back = told.select(
        "cluster",
        F.col("to_id").alias("from_id"),
        F.col("from_id").alias("to_id"),
        "seen_from",
        (-F.col("high_us")).alias("low_us"),
        (-F.col("low_us")).alias("high_us"),
    )
    return told.unionByName(back)


def clocks(fetches: DataFrame, reach_s: int) -> DataFrame:
    """
    Give of each window how far the clock of `to_id` is ahead of that of `from_id`: `offset_us`.

    The fetches up to `reach_s` before and behind the window tell. `clock_bound_ms` is how far the true offset
    may be from that. Where no fetch tells there is no row.
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
    Give the smallest correction that the bounds allow.

    >>> rows = spark.sql("SELECT * FROM VALUES (-300, 200), (400, 900), (-90, -40), (20, 10) AS t(low, high)")
    >>> [row[0] for row in rows.select(offset_us(F.col("low"), F.col("high"))).collect()]
    [0, 400, -40, 15]
    """
    nearest = F.greatest(low, F.least(F.lit(0), high))
    return F.when(low > high, ((low + high) / 2).cast("bigint")).otherwise(nearest).cast("bigint")


def bound_us(low: Column, high: Column) -> Column:
    """Give how far the true offset may be from `offset_us`."""
    offset = offset_us(low, high)
    return F.greatest(F.abs(offset - low), F.abs(high - offset))


def _us(ms: str) -> Column:
    return F.round(F.col(ms) * 1_000).cast("bigint")
