"""Rates of throttled bytes: in the first quota window, in whole quota periods, and the maximum."""

from collections.abc import Callable

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from transforms.gold.throttle_compliance.state import QUOTA_WINDOW_S

EPISODE = ("cluster", "broker_id", "direction", "limited_from")
STRETCH = (*EPISODE, "stretch")
"""A stretch of traffic: adjacent windows in which a replica catches up or is copied."""

MIN_N = 3
T_95 = {3: 4.303, 4: 3.182, 5: 2.776, 6: 2.571, 7: 2.447, 8: 2.365, 9: 2.306, 10: 2.262, 15: 2.145, 20: 2.093}
Z_95 = 1.96


def by_second(marked: DataFrame) -> DataFrame:
    """
    Return the seconds of each stretch from the first to the last catching-up byte: `first_s`, `last_s`.

    If no replica catches up under a limit, the bytes of in-sync replicas determine the range.
    """
    of_stretch = Window.partitionBy(*STRETCH)
    has_copy = F.max("catching_up").over(Window.partitionBy(*EPISODE)) > 0
    is_meant = F.when(has_copy, F.col("catching_up") > 0).otherwise(F.col("throttled") > 0)
    is_copy = F.when(is_meant, F.col("second"))
    both = F.arrays_zip(F.col("throttled_by_s"), F.col("catching_up_by_s"))
    return (
        marked.filter("is_active OR NOT has_copies")
        .select(*STRETCH, "start_s", F.posexplode(both).alias("index", "bytes"))
        .select(
            *STRETCH,
            (F.col("start_s") + F.col("index")).alias("second"),
            F.col("bytes.throttled_by_s").alias("throttled"),
            F.col("bytes.catching_up_by_s").alias("catching_up"),
        )
        .groupBy(*STRETCH, "second")
        .agg(F.sum("throttled").alias("throttled"), F.sum("catching_up").alias("catching_up"))
        .withColumns({"first_s": F.min(is_copy).over(of_stretch), "last_s": F.max(is_copy).over(of_stretch)})
        .filter(F.col("second").between(F.col("first_s"), F.col("last_s")))
        .withColumn("is_copy", is_meant)
    )


def rates(by_s: DataFrame) -> DataFrame:
    """Return mean rates over quota windows: the first one, the whole periods after it, and the maximum."""
    sliding = Window.partitionBy(*STRETCH).orderBy("second").rangeBetween(1 - QUOTA_WINDOW_S, 0)
    since = F.col("second") - F.col("first_s")
    mean = F.col("in_window") / QUOTA_WINDOW_S
    in_first = F.when(F.col("since") < QUOTA_WINDOW_S, F.col("throttled"))
    of_stretch = (
        by_s.withColumns({"since": since, "in_window": F.sum("throttled").over(sliding)})
        .groupBy(*STRETCH)
        .agg(
            F.sort_array(F.collect_list(F.struct(*_SECOND))).alias("seconds"),
            (F.sum(in_first) / QUOTA_WINDOW_S).alias("first"),
            F.max(mean).alias("best"),
            F.max(F.when(F.col("since") >= 2 * QUOTA_WINDOW_S - 1, mean)).alias("best_later"),
            (F.max("last_s") - F.max("first_s") + 1).alias("took_s"),
        )
    )
    after_first = F.filter(periods(F.col("seconds")), lambda _, index: index > 0)
    by_episode = (
        of_stretch.withColumn("full", after_first)
        .groupBy(*EPISODE)
        .agg(
            F.flatten(F.collect_list("full")).alias("full"),
            F.max("first").alias("first_window_bytes_per_s"),
            F.max("best").alias("best_window_bytes_per_s"),
            F.max("best_later").alias("best_later_bytes_per_s"),
            F.sum("took_s").alias("moving_s_of_log"),
        )
    )
    full, rate = F.col("full"), F.col("rate_bytes_per_s")
    took_s = _total(full, lambda one: one.until_s - one.from_s)
    apart = _total(full, lambda one: F.pow(one.throttled / (one.until_s - one.from_s) - rate, 2))
    half = t_95(F.col("n")) * F.sqrt(apart / (F.col("n") - 1) / F.col("n"))
    is_enough = F.col("n") >= MIN_N
    return (
        by_episode.withColumn("n", F.size("full"))
        .withColumn("rate_bytes_per_s", _total(full, lambda one: one.throttled) / took_s)
        .withColumns(
            {
                "catching_up_rate_bytes_per_s": _total(full, lambda one: one.catching_up) / took_s,
                "rate_low_bytes_per_s": F.when(is_enough, F.greatest(rate - half, F.lit(0.0))),
                "rate_high_bytes_per_s": F.when(is_enough, rate + half),
            }
        )
        .drop("full")
    )


_SECOND = ("second", "throttled", "catching_up", "is_copy")


def periods(seconds_: Column) -> Column:
    """
    Return the whole quota periods of a stretch's ordered seconds: `from_s`, `until_s` and bytes.

    The quota averages over 11 to 12 s (SampledStat keeps a sample until its last event is 11 s old), so a
    burst repeats after 11 to 12 s. A period begins with a byte and ends at the first byte at least 11 s
    later. The rest after the last such byte is not a whole period.
    """

    def step(so_far: Column, one: Column) -> Column:
        opens = one.is_copy & (one.second - so_far.from_s >= QUOTA_WINDOW_S)
        done = F.struct(
            so_far.from_s.alias("from_s"),
            one.second.alias("until_s"),
            so_far.throttled.alias("throttled"),
            so_far.catching_up.alias("catching_up"),
        )
        return F.struct(
            F.when(opens, one.second).otherwise(so_far.from_s).alias("from_s"),
            *(
                F.when(opens, one[name]).otherwise(so_far[name] + one[name]).alias(name)
                for name in ("throttled", "catching_up")
            ),
            F.when(opens, F.concat(so_far.done, F.array(done))).otherwise(so_far.done).alias("done"),
        )

    nothing = F.lit(0).cast("bigint")
    period = "struct<from_s: bigint, until_s: bigint, throttled: bigint, catching_up: bigint>"
    begun = F.struct(
        F.element_at(seconds_, 1).second.alias("from_s"),
        nothing.alias("throttled"),
        nothing.alias("catching_up"),
        F.array().cast(f"array<{period}>").alias("done"),
    )
    return F.aggregate(seconds_, begun, step, lambda so_far: so_far.done)


def _total(values: Column, term: Callable[[Column], Column]) -> Column:
    """Return the sum of a term over an array; NULL for an empty array."""
    total = F.aggregate(values, F.lit(0.0), lambda so_far, one: so_far + term(one).cast("double"))
    return F.when(F.size(values) > 0, total)


def t_95(n: Column) -> Column:
    """
    Return Student's factor of the 95 % interval of a mean, for the next smaller `n` in the table.

    >>> counts = spark.createDataFrame([(2,), (3,), (12,), (500,), (None,)], "n int")
    >>> [row[0] for row in counts.select(t_95(F.col("n"))).collect()]
    [None, 4.303, 2.262, 1.96, None]
    """
    factor = F.when(n > max(T_95) * 2, Z_95)
    for known in sorted(T_95, reverse=True):
        factor = factor.when(n >= known, T_95[known])
    return factor
