"""The normal round-trip time of each pair of brokers: its history, fixed for each hour."""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from schemas.gold.broker_rtt_baseline import BROKER_RTT_BASELINE
from transforms.gold.broker_rtt.table import MIN_N_P50

PAIR = ("cluster", "follower_id", "leader_id", "method")

OPENING_WINDOWS = 6
"""The number of settled windows that replace a missing history: the first minute of a pair."""

OPENING_REACH_S = 600
"""The maximum distance of an opening before its hour. A pair with an older history needs no opening."""

TRAILING_HOURS = 24
"""The history of a baseline in hours. A fault stays visible while a part of the history has no fault."""

MIN_WINDOWS = 30
"""Five minutes of windows. A level from fewer windows is young and needs additional checks."""


def hours_of(broker_rtt: DataFrame) -> DataFrame:
    """Return the hours with windows: `cluster` and `hour`."""
    return broker_rtt.select("cluster", F.date_trunc("hour", "window_start").alias("hour")).distinct()


def baseline(broker_rtt: DataFrame, hours: DataFrame, accused: DataFrame) -> DataFrame:
    """
    Return each pair's level for each of `hours` (cluster, hour), from the settled windows before it.

    Windows in `accused` (cluster, window_start) are excluded, so that a fault does not become normal. A pair
    with fewer than `OPENING_WINDOWS` windows has NULL levels.
    """
    since = F.col("hour") - F.make_dt_interval(hours=F.lit(TRAILING_HOURS))
    is_history = (F.col("window_start") >= F.col("history_since")) & (F.col("window_start") < F.col("hour"))
    return (
        _enough(broker_rtt)
        .join(accused, on=["cluster", "window_start"], how="left_anti")
        .join(F.broadcast(hours.withColumn("history_since", since)), on="cluster", how="inner")
        .filter(is_history)
        .transform(_levels, [*PAIR, "hour", "history_since"])
        .select(*BROKER_RTT_BASELINE.schema.names)
    )


def opening(broker_rtt: DataFrame, hours: DataFrame) -> DataFrame:
    """
    Return each pair's level from its first minute, which replaces the history of a new recording.

    For each of `hours` (cluster, hour) these are the first six settled windows from `OPENING_REACH_S` before
    it. A pair with more windows before the hour has a baseline. `used_from` is the first window that may use
    the level. An opening cannot reveal a pair that is slow from its first line; a comparison with peers can.
    """
    order = Window.partitionBy(*PAIR, "hour").orderBy("window_start")
    since = F.col("hour") - F.make_dt_interval(secs=F.lit(OPENING_REACH_S))
    until = F.col("hour") + F.make_dt_interval(hours=F.lit(1))
    is_near = (F.col("window_start") >= since) & (F.col("window_start") < until)
    opened = (
        _enough(broker_rtt)
        .join(F.broadcast(hours), on="cluster", how="inner")
        .filter(is_near)
        .withColumn("rank", F.row_number().over(order))
        .filter(F.col("rank") <= OPENING_WINDOWS)
    )
    return _levels(opened, [*PAIR, "hour"]).withColumn(
        "used_from", F.col("last_window_start") + F.make_dt_interval(secs=F.lit(10))
    )


def _enough(broker_rtt: DataFrame) -> DataFrame:
    return broker_rtt.filter(F.col("is_settled") & (F.col("n") >= MIN_N_P50))


def _levels(windows: DataFrame, key: list[str]) -> DataFrame:
    """Add median and spread (1.4826 x median absolute deviation) of p10 and p50 over the windows of a key."""
    group = Window.partitionBy(*key)
    has_enough = F.count(F.lit(1)) >= OPENING_WINDOWS
    levels = [
        column
        for name in ("p10", "p50")
        for column in (
            F.when(has_enough, F.median(f"rtt_{name}_ms")).alias(f"{name}_ms"),
            F.when(has_enough, 1.4826 * F.median(f"{name}_deviation_ms")).alias(f"{name}_spread_ms"),
        )
    ]
    return (
        windows.withColumns(
            {
                f"{name}_deviation_ms": F.abs(
                    F.col(f"rtt_{name}_ms") - F.median(f"rtt_{name}_ms").over(group)
                )
                for name in ("p10", "p50")
            }
        )
        .groupBy(*key)
        .agg(
            F.count(F.lit(1)).alias("windows"),
            F.max("window_start").alias("last_window_start"),
            *levels,
        )
    )
