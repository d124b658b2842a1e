"""The verdict on each throttle over a time range, from `gold.throttle_compliance`."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from schemas.gold.throttle_compliance import THROTTLE_COMPLIANCE_SUMMARY
from transforms.gold.throttle_compliance.counters import counter_rates
from transforms.gold.throttle_compliance.rates import EPISODE, STRETCH, by_second, rates
from transforms.gold.throttle_compliance.state import NONE, cause, measured, state, why
from transforms.windows import WINDOW_S, seconds


def throttle_compliance_summary(windows: DataFrame) -> DataFrame:
    """
    Return one row per broker, direction and limit: the rate after the first quota window, and its verdict.

    The first 11 s of a stretch have separate columns: the quota allows a burst, and the byte-rate MBean
    divides by too few seconds. The whole quota periods after them have no edge effects.
    """
    marked = with_stretches(windows)
    return (
        _sums(marked)
        .transform(_joined, rates(by_second(marked)))
        .transform(_joined, counter_rates(marked))
        .transform(_joined, _lag(marked))
        .withColumns(
            {
                "n": F.coalesce("n", F.lit(0)).cast("bigint"),
                "moving_s": F.coalesce("moving_s_of_log", "moving_s_of_counters", "active_s").cast("bigint"),
                "first_window_overshoot": _overshoot(),
            }
        )
        .withColumn("utilisation", F.try_divide(measured(), F.col("limit_bytes_per_s")))
        .withColumn("state", state())
        .filter(_is_relevant())
        .withColumn("cause", cause())
        .withColumn("why", why())
        .withColumn("measured_by", _measured_by())
        .select(*THROTTLE_COMPLIANCE_SUMMARY.schema.names)
    )


def _is_relevant() -> Column:
    """Return whether a row has content: not so while a tool has removed the rates but not yet the lists."""
    is_nothing = F.col("limit_bytes_per_s").isNull() & (F.col("state") == NONE) & (F.col("moving_s") == 0)
    return ~is_nothing


def with_stretches(windows: DataFrame) -> DataFrame:
    """Add `is_active`, `is_cluster_active`, and `stretch`, the number of each sequence of active windows."""
    once = windows.dropDuplicates(["cluster", "window_start", *EPISODE[1:]])
    copied = [F.coalesce(F.col(name).cast("double"), F.lit(0.0)) > 0 for name in _COPIED]
    is_active = copied[0] | copied[1] | copied[2] | copied[3]
    in_order = Window.partitionBy(*EPISODE).orderBy("window_start")
    was_active = F.lag("is_active").over(in_order)
    so_far = in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    begins = F.when(F.col("is_active") & ~F.coalesce(was_active, F.lit(False)), 1).otherwise(0)
    of_window = Window.partitionBy("cluster", "window_start")
    return (
        once.withColumn("is_active", is_active)
        .withColumn("is_cluster_used", F.max(F.coalesce("throttled_bytes", F.lit(0)) > 0).over(of_window))
        .withColumn("is_cluster_active", F.max("is_active").over(of_window))
        .withColumn("is_cluster_moved", F.max(_is_moved()).over(of_window))
        .withColumn("cluster_busy_until", F.max("busy_until").over(of_window))
        .transform(_with_idle)
        .withColumn("has_copies", F.max("is_active").over(Window.partitionBy(*EPISODE)))
        .withColumn("begins", begins)
        .withColumn("stretch", F.sum("begins").over(so_far))
        .withColumn("start_s", F.unix_seconds("window_start"))
    )


def _is_moved() -> Column:
    """Return whether a reassignment was under way; a replica can also catch up after a restart."""
    return F.col("moving_partitions").isNotNull() | (F.coalesce("reassignment_bytes", F.lit(0.0)) > 0)


def _with_idle(marked: DataFrame) -> DataFrame:
    """
    Add `idle_s`, the time in which a setting was on after the last copy, and `is_after`.

    A window without data has no row. A setting that is on before and after such a window was on in it.
    """
    in_order = Window.partitionBy(*EPISODE).orderBy("window_start")
    end = F.col("window_start") + seconds(WINDOW_S)
    until_before = F.lag("on_until").over(in_order)
    was_on = until_before == F.lag(end).over(in_order)
    on_from = F.when((F.col("on_from") == F.col("window_start")) & was_on, until_before).otherwise(
        F.col("on_from")
    )
    # Metrics only show the window in which a counter increased.
    counted_until = F.when(F.col("is_cluster_active") & F.col("cluster_busy_until").isNull(), end)
    # F.greatest skips NULL.
    since = F.greatest(on_from, "cluster_busy_until", counted_until)
    idle_s = (F.unix_micros("on_until") - F.unix_micros(since)) / 1e6
    last = F.max(F.when(F.col("is_cluster_active"), F.col("window_start"))).over(Window.partitionBy(*EPISODE))
    return marked.withColumns(
        {
            "idle_s": F.when(idle_s > 0, idle_s).otherwise(0.0),
            "is_after": F.coalesce(F.col("window_start") >= last, F.lit(True)),
        }
    )


_COPIED = ("catching_up_bytes", "unlisted_bytes", "moving_partitions", "reassignment_bytes")


def _sums(marked: DataFrame) -> DataFrame:
    """Return the sums of the windows of each episode."""
    end = F.max("window_start") + seconds(WINDOW_S)
    active = F.col("is_active")
    idle = F.sum(F.when(F.col("is_after"), F.col("idle_s")))
    beans = F.nullif(F.sum(F.when(active, F.col("bean_n"))), F.lit(0))
    bean = F.sum(F.when(active, F.col("bean_sum_bytes_per_s"))) / beans
    active_s = F.count_if(active) * WINDOW_S
    is_on = F.max("limit_bytes_per_s").isNotNull() | F.max("is_listed")
    return marked.groupBy(*EPISODE).agg(
        F.min("window_start").alias("since"),
        end.alias("until"),
        F.max("limit_bytes_per_s").alias("limit_bytes_per_s"),
        F.max("is_listed").alias("is_listed"),
        F.max("is_cluster_moved").alias("has_moved"),
        F.max("is_cluster_used").alias("is_used"),
        *(F.sum(name).alias(name) for name in ("catching_up_bytes", "in_sync_bytes", "unlisted_bytes")),
        F.max("largest_answer_bytes").alias("largest_answer_bytes"),
        F.array_distinct(F.flatten(F.collect_list("peers"))).alias("peers"),
        F.max("bean_max_bytes_per_s").alias("bean_max_bytes_per_s"),
        bean.alias("bean_bytes_per_s"),
        active_s.alias("active_s"),
        F.when(is_on, F.coalesce(idle, F.lit(0.0))).alias("idle_after_s"),
    )


def _lag(marked: DataFrame) -> DataFrame:
    """
    Return the inbound rate, the replicated rate and the lag of each episode's last stretch.

    Its first and last windows are excluded, because they are partial. Rates use bytes, because offsets are
    misleading if records differ in size.
    """
    last = F.max("stretch").over(Window.partitionBy(*EPISODE))
    of_stretch = Window.partitionBy(*STRETCH)
    begun = F.min("start_s").over(of_stretch)
    over = F.max(F.when(F.col("is_active"), F.col("start_s"))).over(of_stretch)
    whole = (
        marked.withColumns({"last": last, "begun": begun, "over": over})
        .filter((F.col("stretch") == F.col("last")) & F.col("is_active"))
        .filter("start_s > begun AND start_s < over")
    )
    n_s = F.count(F.lit(1)) * WINDOW_S
    known = F.when(F.col("lag_records").isNotNull(), F.col("start_s"))
    return whole.groupBy(*EPISODE).agg(
        F.min_by("lag_records", known).alias("lag_first_records"),
        F.max_by("lag_records", known).alias("lag_last_records"),
        F.regr_slope("lag_records", "start_s").alias("lag_slope_records_per_s"),
        F.count(F.lit(1)).alias("whole_windows"),
        F.count_if(F.col("moving_partitions") > 0).alias("moving_windows"),
        (F.sum("inbound_bytes") / n_s).alias("inbound_bytes_per_s"),
        (F.sum("catching_up_bytes") / n_s).alias("passed_bytes_per_s"),
    )


def _joined(sums: DataFrame, others: DataFrame) -> DataFrame:
    renamed = others.withColumnsRenamed({name: f"of_{name}" for name in EPISODE})
    same = [F.col(name).eqNullSafe(F.col(f"of_{name}")) for name in EPISODE]
    return sums.join(renamed, on=same, how="left").drop(*(f"of_{name}" for name in EPISODE))


def _overshoot() -> Column:
    above = F.try_divide("first_window_bytes_per_s", "limit_bytes_per_s") - 1
    return F.when(above.isNotNull(), F.greatest(above, F.lit(0.0)))


def _measured_by() -> Column:
    return F.when(F.col("rate_bytes_per_s").isNotNull(), "request_log").when(
        F.col("counter_bytes_per_s").isNotNull(), "counters"
    )
