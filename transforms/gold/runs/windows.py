"""The windows of performance-test runs: their duration, and whether they are after the warm-up."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from schemas.gold.run_comparison import RUN_WINDOWS

RUN = ("cluster", "run", "arm")
MOST_PARTS = 400
"""The maximum number of parts, half an hour of 5 s windows. Windows of longer runs are merged."""

US_PER_S = 1e6


def run_windows(windows: DataFrame, facts: DataFrame) -> DataFrame:
    """Return each run's windows, merged into at most `MOST_PARTS` parts. `facts`: see `run_facts`."""
    timed = timed_windows(windows, facts)
    every = Window.partitionBy(*RUN)
    part = F.floor(
        F.col("window_index") * F.least(F.lit(1.0), F.lit(MOST_PARTS) / F.count(F.lit(1)).over(every))
    )
    return (
        timed.withColumn("part", part.cast("int"))
        .groupBy(*RUN, "part")
        .agg(F.max("at_s").alias("at_s"), *sums(), F.every("is_measured").alias("is_measured"))
        .select(*RUN_WINDOWS.schema.names)
    )


def timed_windows(windows: DataFrame, facts: DataFrame) -> DataFrame:
    """
    Add `window_index`, `seconds`, `at_s` and `is_measured` to each window, without duplicates.

    The tool does not print the duration of a window. It follows from the rate, or from the previous line if
    nothing was sent. A window is measured if it began after the warm-up.
    """
    of_run = Window.partitionBy(*RUN).orderBy("place")
    place = F.substring_index("position", "/", -1).try_cast("bigint")
    gap = _seconds(F.lag("logged_at").over(of_run), F.col("logged_at"))
    by_rate = F.when(F.col("records_per_s") > 0, F.col("records") / F.col("records_per_s"))
    warm_up = F.coalesce("warm_up_s", F.lit(0.0))
    since_start = _seconds(F.col("started_at"), F.col("logged_at"))
    so_far = F.sum("seconds").over(of_run.rowsBetween(Window.unboundedPreceding, 0))
    began_after = since_start - F.col("seconds") >= warm_up
    return (
        windows.dropDuplicates(["cluster", "position"])
        .withColumn("place", place)
        .join(facts.select(*RUN, "started_at", "warm_up_s"), on=list(RUN), how="left")
        .withColumn("window_index", F.row_number().over(of_run) - 1)
        .withColumn("seconds", F.coalesce(by_rate, gap))
        .withColumn("at_s", F.coalesce(since_start, so_far))
        .withColumn("is_measured", (warm_up == 0) | F.coalesce(began_after, F.lit(False)))
    )


def sums() -> list[Column]:
    """Return the sums of windows. Means and rates are weighted, and NULL if a window has none."""
    records, seconds = F.col("records"), F.col("seconds")
    nothing_sent = records == 0
    return [
        _whole(seconds, F.sum(seconds)).alias("seconds"),
        F.sum(records).alias("records"),
        _whole(seconds, F.sum(records) / F.nullif(F.sum(seconds), F.lit(0.0))).alias("records_per_s"),
        _mean(F.when(nothing_sent, F.lit(0.0)).otherwise(F.col("mib_per_s")), seconds).alias("mib_per_s"),
        _mean(F.when(nothing_sent, F.lit(0.0)).otherwise(F.col("avg_ms")), records).alias("avg_ms"),
        F.max("max_ms").alias("max_ms"),
    ]


def _mean(value: Column, weight: Column) -> Column:
    weights = F.sum(weight)
    return _whole(value * weight, F.when(weights > 0, F.sum(value * weight) / weights))


def _whole(each: Column, total: Column) -> Column:
    """Return the total over all windows; NULL if a window has no value."""
    return F.when(F.count(each) == F.count(F.lit(1)), total)


def _seconds(since: Column, until: Column) -> Column:
    return (F.unix_micros(until) - F.unix_micros(since)) / F.lit(US_PER_S)
