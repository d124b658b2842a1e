"""The increase of counters between two scrapes, with resets after a restart."""

from collections.abc import Sequence
from functools import reduce
from operator import or_

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from transforms.histogram import finite
from transforms.windows import Reach

BRIDGED_S = 300
"""
The maximum distance of neighbouring samples. The increase over a longer gap has no meaningful time.

Therefore an increase that ends in a window depends on no sample older than this.
"""

REACH = Reach(lookback_s=BRIDGED_S)

STARTED = "process_start_s"
"""Optional column: the start of the process that exposed the value, in seconds since the epoch."""

SAME_START_S = 1.0
"""Starts that differ by less are equal, because exporters round them differently."""


def increases(samples: DataFrame, *keep: str) -> DataFrame:
    """
    Return the increase of each series between neighbouring samples.

    `samples` has cluster, series_id, at, value, the columns to `keep`, and optionally `process_start_s`
    (see `with_process_start`). The result has `from_at`, `to_at`, `is_reset` and `increase`, which is NULL or
    at least 0 (see `steps`).
    """
    rows = steps(samples, ("cluster", "series_id", *keep), ("value",))
    return rows.withColumnRenamed("value_increase", "increase").select(
        "cluster", "series_id", *keep, "from_at", "to_at", "increase", "is_reset"
    )


def steps(
    samples: DataFrame,
    by: Sequence[str],
    counters: Sequence[str],
    derived: Sequence[str] = (),
    carried: Sequence[str] = (),
) -> DataFrame:
    """
    Return the increases of counters that are scraped together between neighbouring scrapes, as `*_increase`.

    A row with a NaN, infinite, negative or NULL value is ignored; the next complete row spans the gap.
    Duplicate and late rows do not change the result.

    A reset (`is_reset`) is a decrease of a counter or a later start of the process. After a reset the
    increase is the whole value, and `from_at` is the start of the process if known, but never before the
    previous sample. The same applies to a first sample whose process is less than `BRIDGED_S` old; any other
    first sample has no row. If the process started *earlier* than the previous one, another process has the
    same name, and the increase is NULL.

    `derived` are sums that restart with the counters and may decrease without a reset. For `carried`
    columns, `*_from` is the value of the previous sample (0 at a reset) and `*_to` the value of this one.
    """
    values = (*counters, *derived, *carried)
    known = samples if STARTED in samples.columns else samples.withColumn(STARTED, F.lit(None).cast("double"))
    series = Window.partitionBy(*by).orderBy("at")
    before = {f"previous_{name}": F.lag(name).over(series) for name in (*values, "at", STARTED)}
    return (
        known.groupBy(*by, "at")
        .agg(*[F.max(counted(F.col(name))).alias(name) for name in values], _start().alias(STARTED))
        .dropna(subset=list(values))
        .withColumn(STARTED, _filled_start(by))
        .withColumns(before)
        .withColumns({"is_near": _is_near(), "is_young": _seconds("at") - F.col(STARTED) <= BRIDGED_S})
        .withColumn("is_reset", ~F.col("is_near") | _moved(1) | _moved(-1) | _fell(counters))
        .filter(F.col("is_near") | F.coalesce("is_young", F.lit(False)))
        .withColumns({f"{name}_increase": _increase(name) for name in (*counters, *derived)})
        .withColumns({f"{name}_from": _before_reset(name) for name in carried})
        .withColumns({f"{name}_to": F.col(name) for name in carried})
        .select(
            *by,
            _from_at().alias("from_at"),
            F.col("at").alias("to_at"),
            *[f"{name}_increase" for name in (*counters, *derived)],
            *[f"{name}_{end}" for name in carried for end in ("from", "to")],
            "is_reset",
        )
    )


def with_process_start(samples: DataFrame, starts: DataFrame) -> DataFrame:
    """
    Add `process_start_s` from the same node and instant.

    `starts` has cluster, node, at and value of the series that mean `process_start_s`. `samples` has a node.
    """
    known = starts.groupBy("cluster", "node", "at").agg(F.max("value").alias(STARTED))
    return samples.join(known, on=["cluster", "node", "at"], how="left")


def counted(value: Column) -> Column:
    """
    Return the value if it is a valid counter value, else NULL.

    >>> samples = spark.createDataFrame(
    ...     [(7.0,), (0.0,), (-1.0,), (float("nan"),), (float("-inf"),), (None,)], "value double")
    >>> samples.select(counted(F.col("value")).alias("counted")).show()
    +-------+
    |counted|
    +-------+
    |    7.0|
    |    0.0|
    |   NULL|
    |   NULL|
    |   NULL|
    |   NULL|
    +-------+
    <BLANKLINE>
    """
    number = finite(value)
    return F.when(number >= 0, number)


def _start() -> Column:
    return F.max(counted(F.col(STARTED)))


def _filled_start(by: Sequence[str]) -> Column:
    """
    Return the process start of a sample, from its neighbours if it is missing.

    The next known start applies if it is not after the sample; otherwise the previous one does.
    """
    ordered = Window.partitionBy(*by).orderBy("at")
    following = F.first(STARTED, ignorenulls=True).over(ordered.rowsBetween(0, Window.unboundedFollowing))
    before = F.last(STARTED, ignorenulls=True).over(ordered.rowsBetween(Window.unboundedPreceding, 0))
    return F.when(following <= _seconds("at"), following).otherwise(F.coalesce(F.col(STARTED), before))


def _seconds(at: str) -> Column:
    return F.unix_micros(at) / F.lit(1e6)


def _is_near() -> Column:
    return F.coalesce(_seconds("at") - _seconds("previous_at") <= BRIDGED_S, F.lit(False))


def _moved(way: int) -> Column:
    """Return whether the process started later (1) or earlier (-1) than the previous one."""
    # If only this start is known, it is after the previous sample: see `_filled_start`.
    was = F.coalesce(F.col(f"previous_{STARTED}"), F.lit(0.0))
    return F.coalesce((F.col(STARTED) - was) * way > SAME_START_S, F.lit(False))


def _fell(counters: Sequence[str]) -> Column:
    fell = [F.coalesce(F.col(name) < F.col(f"previous_{name}"), F.lit(False)) for name in counters]
    return reduce(or_, fell)


def _increase(name: str) -> Column:
    is_another = F.col("is_near") & _moved(-1)
    since_start = F.when(~is_another, F.col(name))
    return F.when(F.col("is_reset"), since_start).otherwise(F.col(name) - F.col(f"previous_{name}"))


def _before_reset(name: str) -> Column:
    return F.when(F.col("is_reset"), F.lit(0.0)).otherwise(F.col(f"previous_{name}"))


def _from_at() -> Column:
    """Return the start of the increase: the previous sample, or the start of a newer process."""
    started = F.timestamp_micros(F.round(F.col(STARTED) * 1e6).cast("bigint"))
    no_later = F.when(started > F.col("at"), F.col("at")).otherwise(started)
    is_after = F.coalesce(no_later > F.col("previous_at"), F.lit(True)) & (_moved(1) | ~F.col("is_near"))
    return F.when(is_after & started.isNotNull(), no_later).otherwise(F.col("previous_at"))
