"""A performance test's windows in order: how long each is, and whether it is behind the warm-up."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from schemas.gold.run_comparison import RUN_WINDOWS

RUN = ("cluster", "run", "arm")
MOST_PARTS = 400
"""A run of 5 s windows comes to so many in half an hour; neighbours of a longer one are put together."""

US_PER_S = 1e6


def run_windows(windows: DataFrame, facts: DataFrame) -> DataFrame:
    """Put each run's windows together to at most `MOST_PARTS`; `facts` as of `run_figures.run_facts`."""
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
    Add `window_index`, `seconds`, `at_s` and `is_measured` to each window, duplicates left out.

    The tool does not say how long a window is: it follows from its rate, and where nothing was sent from the
    line before. A window counts as measured when it began behind the warm-up.
    """
    of_run = Window.partitionBy(*RUN).orderBy("place")
    place = F.substring_index("position", "/", -1).try_cast("bigint")
    gap = _seconds(F.lag("logged_at").over(of_run), F.col("logged_at"))
    by_rate = F.when(F.col("records_per_s") > 0, F.col("records") / F.col("records_per_s"))
    warm_up = F.coalesce("warm_up_s", F.lit(0.0))
    since_start = _seconds(F.col("started_at"), F.col("logged_at"))
    so_far = F.sum("seconds").over(of_run.rowsBetween(Window.unboundedPreceding, 0))
    began_behind = since_start - F.col("seconds") >= warm_up
    return (
        windows.dropDuplicates(["cluster", "position"])
        .withColumn("place", place)
        .join(facts.select(*RUN, "started_at", "warm_up_s"), on=list(RUN), how="left")
        .withColumn("window_index", F.row_number().over(of_run) - 1)
        .withColumn("seconds", F.coalesce(by_rate, gap))
        .withColumn("at_s", F.coalesce(since_start, so_far))
        .withColumn("is_measured", (warm_up == 0) | F.coalesce(began_behind, F.lit(False)))
    )


def sums() -> list[Column]:
    """Add windows up: what is a mean or a rate is weighted, and NULL where a window lacks it."""
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
    """Give a total of all windows, NULL where one of them has no value: a part is no whole."""
    return F.when(F.count(each) == F.count(F.lit(1)), total)


def _seconds(since: Column, until: Column) -> Column:
    return (F.unix_micros(until) - F.unix_micros(since)) / F.lit(US_PER_S)
