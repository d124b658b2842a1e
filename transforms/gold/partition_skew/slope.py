"""The slope of a client's partition share against the leader's latency, with its interval."""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from transforms.gold.partition_skew.ratios import ratio, total_of
from transforms.gold.partition_skew.span import REQUEST_LOG
from transforms.gold.partition_skew.table import ON_TOPIC

Z_95 = 1.959964
MIN_WINDOWS = 5
"""The minimum number of windows for an interval."""


def slope(windows: DataFrame) -> DataFrame:
    """
    Return the slope of share against the leader's mean latency, with a jackknife interval over windows.

    Share and latency are relative to their means in each window, so effects on all leaders (a burst, a
    pause) have no influence. The jackknife omits windows, because the partitions of a window are not
    independent.
    """
    latency = ratio(F.col("produce_sum_ms"), F.col("produce_n"))
    in_window = Window.partitionBy(*ON_TOPIC, "window_start")
    apart = windows.withColumn("latency_ms", latency).filter(F.col("latency_ms").isNotNull())
    apart = apart.withColumns(
        {
            "x": F.col("latency_ms") - F.avg("latency_ms").over(in_window),
            "y": F.col("share") - F.avg("share").over(in_window),
        }
    )
    each = apart.groupBy(*ON_TOPIC, "window_start").agg(
        F.sum(F.col("x") * F.col("y")).alias("xy"), F.sum(F.col("x") * F.col("x")).alias("xx")
    )
    sums = each.groupBy(*ON_TOPIC).agg(
        F.sum("xy").alias("xy"),
        F.sum("xx").alias("xx"),
        F.count(F.lit(1)).cast("int").alias("windows"),
        F.sort_array(F.collect_list(F.struct("xy", "xx"))).alias("each"),
    )
    left_out = F.transform("each", lambda w: ratio(F.col("xy") - w["xy"], F.col("xx") - w["xx"]))
    n, middle = F.col("windows"), ratio(F.col("xy"), F.col("xx"))
    mean = total_of(F.col("left_out")) / n
    spread = total_of(F.transform("left_out", lambda one: (one - mean) * (one - mean)))
    half = F.when(n >= MIN_WINDOWS, Z_95 * F.sqrt(spread * (n - 1) / n))
    return sums.withColumn("left_out", left_out).select(
        *ON_TOPIC,
        F.lit(REQUEST_LOG).alias("method"),
        "windows",
        middle.alias("share_per_ms"),
        (middle - half).alias("share_per_ms_low"),
        (middle + half).alias("share_per_ms_high"),
    )
