"""How fast throttled bytes passed: in the quota's first window, in whole periods of it, at best."""

from collections.abc import Callable

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from transforms.gold.throttle_compliance.state import QUOTA_WINDOW_S

EPISODE = ("cluster", "broker_id", "direction", "limited_from")
STRETCH = (*EPISODE, "stretch")
"""A stretch of traffic: neighbouring windows in which a replica caught up or was to be copied."""

MIN_N = 3
T_95 = {3: 4.303, 4: 3.182, 5: 2.776, 6: 2.571, 7: 2.447, 8: 2.365, 9: 2.306, 10: 2.262, 15: 2.145, 20: 2.093}
Z_95 = 1.96


def by_second(marked: DataFrame) -> DataFrame:
    """
    Give the seconds of each stretch from its first byte of catching up to its last: `first_s`, `last_s`.

    Where no replica catches up under a limit, but replicas in sync are counted, from their first byte on.
    """
    of_stretch = Window.partitionBy(*STRETCH)
    has_copy = F.max("catching_up").over(Window.partitionBy(*EPISODE)) > 0
    is_meant = F.when(has_copy, F.col("catching_up") > 0).otherwise(F.col("throttled") > 0)
    is_copy = F.when(is_meant, F.col("second"))
    both = F.arrays_zip(F.col("throttled_by_s"), F.col("catching_up_by_s"))
    return (
        marked.filter("is_active OR NOT has_copies")
        .select(*STRETCH, "start_s", F.posexplode(both).alias("nth", "of"))
        .select(
            *STRETCH,
            (F.col("start_s") + F.col("nth")).alias("second"),
            F.col("of.throttled_by_s").alias("throttled"),
            F.col("of.catching_up_by_s").alias("catching_up"),
        )
        .groupBy(*STRETCH, "second")
        .agg(F.sum("throttled").alias("throttled"), F.sum("catching_up").alias("catching_up"))
        .withColumns({"first_s": F.min(is_copy).over(of_stretch), "last_s": F.max(is_copy).over(of_stretch)})
        .filter(F.col("second").between(F.col("first_s"), F.col("last_s")))
        .withColumn("is_copy", is_meant)
    )


def rates(by_s: DataFrame) -> DataFrame:
    """Work out means over windows of the quota: the first one, the full ones behind it, the best of all."""
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
    behind_first = F.filter(periods(F.col("seconds")), lambda _, nth: nth > 0)
    told = (
        of_stretch.withColumn("full", behind_first)
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
        told.withColumn("n", F.size("full"))
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
    Part the seconds of a stretch, in order, into whole periods of the quota: `from_s`, `until_s` and bytes.

    The quota looks back over 11 to 12 s (SampledStat keeps a sample until its last event is 11 s old), so
    what passes at once does so again 11 to 12 s later. A period begins with a byte and lasts until the first
    one that comes 11 s later or more; what follows the last such byte is no whole period.
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


def _total(of: Column, what: Callable[[Column], Column]) -> Column:
    """Add up over an array; NULL over an empty one."""
    total = F.aggregate(of, F.lit(0.0), lambda so_far, one: so_far + what(one).cast("double"))
    return F.when(F.size(of) > 0, total)


def t_95(n: Column) -> Column:
    """
    Give the factor of a 95 % interval of a mean of `n` values: Student's, of the next smaller `n` known here.

    >>> counts = spark.createDataFrame([(2,), (3,), (12,), (500,), (None,)], "n int")
    >>> [row[0] for row in counts.select(t_95(F.col("n"))).collect()]
    [None, 4.303, 2.262, 1.96, None]
    """
    factor = F.when(n > max(T_95) * 2, Z_95)
    for known in sorted(T_95, reverse=True):
        factor = factor.when(n >= known, T_95[known])
    return factor
