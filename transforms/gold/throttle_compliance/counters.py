"""The rate of the reassignment-byte counters under a limit, by the duration between scrapes."""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from transforms.gold.throttle_compliance.rates import EPISODE
from transforms.gold.throttle_compliance.state import QUOTA_MOST_S
from transforms.windows import WINDOW_S

IDLE_S = QUOTA_MOST_S + WINDOW_S
"""The maximum pause of a counter within a move, because a burst is followed by up to 12 s without bytes."""


def counter_rates(marked: DataFrame) -> DataFrame:
    """
    Return `counter_bytes_per_s` of each episode over `counted_s`, and the duration of movement.

    `marked` are windows of `gold.throttle_compliance` with `start_s`. Scrapes of brokers are not aligned, so
    only windows with a sample of the broker count. An increase covers the `counter_s` before the sample.
    Excluded are the first scrape with copying and increases that begin less than a window after it, which
    contain the quota's first burst, and the last scrape, in which copying may have ended.
    """
    in_order = Window.partitionBy(*EPISODE).orderBy("start_s")
    before = in_order.rowsBetween(Window.unboundedPreceding, -1)
    so_far = in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    of_stretch = Window.partitionBy(*EPISODE, "counted")
    copying = F.when(F.col("reassignment_bytes") > 0, F.col("start_s"))
    since = F.col("start_s") - F.col("counter_s")
    idle_s = since - F.last(copying, ignorenulls=True).over(before)
    begins = copying.isNotNull() & F.coalesce(idle_s > IDLE_S, F.lit(True))
    first, last = F.min(copying).over(of_stretch), F.max(copying).over(of_stretch)
    is_inside = (since >= F.col("first_s") + WINDOW_S) & (F.col("start_s") < F.col("last_s"))
    inside_s = F.sum(F.when(is_inside, F.col("counter_s")))
    inside_bytes = F.sum(F.when(is_inside, F.col("reassignment_bytes")))
    return (
        marked.filter("counter_s > 0")
        .withColumn("begins", F.when(begins, 1).otherwise(0))
        .withColumn("counted", F.sum("begins").over(so_far))
        .withColumns({"first_s": first, "last_s": last})
        .filter("start_s <= last_s")
        .groupBy(*EPISODE)
        .agg(
            F.sum("counter_s").alias("moving_s_of_counters"),
            inside_s.alias("counted_s"),
            F.try_divide(inside_bytes, inside_s).alias("counter_bytes_per_s"),
        )
    )
