"""How fast counters of reassigned bytes rose under a limit: by time, since scrapes know no windows."""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from transforms.gold.throttle_compliance.rates import EPISODE
from transforms.gold.throttle_compliance.state import QUOTA_MOST_S
from transforms.windows import WINDOW_S

IDLE_S = QUOTA_MOST_S + WINDOW_S
"""So long may a counter stand still within a move: what passes at once waits up to 12 s for more."""


def counter_rates(marked: DataFrame) -> DataFrame:
    """
    Give each episode's `counter_bytes_per_s` over `counted_s`, and how long the counters moved.

    `marked` are windows of `gold.throttle_compliance` with `start_s`. Each broker is scraped at instants of
    its own, so only windows with a sample of its own count; an increase is of the `counter_s` up to it. The
    scrape in which copying was first seen is left out, and what begins less than a window behind it: the
    quota's first burst; so is the last one, in which it may have ended.
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
