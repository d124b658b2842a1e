"""What a counter gained between two scrapes; a restart begins anew and takes nothing away."""

from collections.abc import Sequence
from functools import reduce
from operator import or_

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from transforms.histogram import finite
from transforms.windows import Reach

BRIDGED_S = 300
"""
Two samples further apart are no neighbours: what was gained between them belongs to no time one could name.

So what ends in a window depends on no sample that is older than that.
"""

REACH = Reach(lookback_s=BRIDGED_S)

STARTED = "process_start_s"
"""Column, where it is known: when the process began that told the value, seconds since the epoch."""

SAME_START_S = 1.0
"""Starts closer than this are one: exporters round them in different ways."""


def increases(samples: DataFrame, *keep: str) -> DataFrame:
    """
    Give what each series gained between neighbouring samples: `from_at`, `to_at`, `increase`, `is_reset`.

    `samples`: cluster, series_id, at, value, the columns to `keep`, and `process_start_s` where it is known
    (`with_process_start` adds it). `increase` is NULL or 0 and more, see `steps`.
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
    Give what counters that are scraped together gained between neighbouring scrapes, as `*_increase`.

    A row in which one is NaN, infinite, negative or NULL is left out: the next whole one bridges it. Rows
    that are there twice, or came late, give the same.

    A new epoch (`is_reset`) begins where a counter fell or the process began later than the one before:
    all that the counters show was gained since then. `from_at` is then the start of the process, if known,
    though never before the last sample; so is it for a first sample whose process is less than `BRIDGED_S`
    old. Any other first sample gives no row. A process that began *earlier* than the one before is another
    one under the same name: NULL was gained.

    `derived` are sums that begin anew with the counters and are not asked whether they fell; of what is
    `carried`, `*_from` is what stood at the sample before, 0 at a reset, and `*_to` what stands at this one.
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
    Add `process_start_s`: what the same node told of itself at the same instant.

    `starts`: cluster, node, at, value of the series that mean `process_start_s`; `samples` have a node.
    """
    told = starts.groupBy("cluster", "node", "at").agg(F.max("value").alias(STARTED))
    return samples.join(told, on=["cluster", "node", "at"], how="left")


def counted(value: Column) -> Column:
    """
    Return what a counter can show, NULL for anything else.

    >>> told = spark.createDataFrame(
    ...     [(7.0,), (0.0,), (-1.0,), (float("nan"),), (float("-inf"),), (None,)], "value double")
    >>> told.select(counted(F.col("value")).alias("counted")).show()
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
    Tell the start of a sample that lacks it by its neighbours.

    The next process that is known had begun by then, or it was still the one before.
    """
    ordered = Window.partitionBy(*by).orderBy("at")
    behind = F.first(STARTED, ignorenulls=True).over(ordered.rowsBetween(0, Window.unboundedFollowing))
    before = F.last(STARTED, ignorenulls=True).over(ordered.rowsBetween(Window.unboundedPreceding, 0))
    return F.when(behind <= _seconds("at"), behind).otherwise(F.coalesce(F.col(STARTED), before))


def _seconds(at: str) -> Column:
    return F.unix_micros(at) / F.lit(1e6)


def _is_near() -> Column:
    return F.coalesce(_seconds("at") - _seconds("previous_at") <= BRIDGED_S, F.lit(False))


def _moved(way: int) -> Column:
    """Tell whether the process began later (1) or earlier (-1) than the one before."""
    # A start that is known where the one before is not lies behind the sample before: see `_filled_start`.
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
    """Tell since when: the sample before, or the start of a process that began after it."""
    started = F.timestamp_micros(F.round(F.col(STARTED) * 1e6).cast("bigint"))
    no_later = F.when(started > F.col("at"), F.col("at")).otherwise(started)
    is_behind = F.coalesce(no_later > F.col("previous_at"), F.lit(True)) & (_moved(1) | ~F.col("is_near"))
    return F.when(is_behind & started.isNotNull(), no_later).otherwise(F.col("previous_at"))
