"""The first success of a client after it lost a leader, and the causes of its wait."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from transforms.gold.fetch_latency.clocks import clocks
from transforms.gold.fetch_latency.pairing import NEAR_S
from transforms.gold.leader_redirect.cause import EVENT, FOUND_WITHIN_S, with_change, with_lookups
from transforms.gold.leader_redirect.client_tries import OF_PARTITION
from transforms.windows import seconds, window_start

CLOCKS_WITHIN_S = FOUND_WITHIN_S - 2 * NEAR_S
"""The maximum distance of fetches for clock offsets. Pairing them needs lines up to `NEAR_S` further away."""

INSTANTS = ("arrived_at", "answered_at", "done_at")


def found_again(
    lost: DataFrame, tried: DataFrame, requests: DataFrame, changes: DataFrame, fetches: DataFrame
) -> DataFrame:
    """Add the first success after each `EVENT`, and what happened until then."""
    return (
        with_tries(lost, near_tries(lost, tried, fetches))
        .transform(with_wait, tried)
        .transform(with_lookups, requests)
        .transform(with_change, changes)
    )


def near_tries(lost: DataFrame, tried: DataFrame, fetches: DataFrame) -> DataFrame:
    """
    Return one row per event and try around it, with the try as `tried`.

    The instants of the try are converted to the clock of the old leader.
    """
    around = seconds(2 * FOUND_WITHIN_S)
    keys = [F.col(name).alias(f"of_{name}") for name in OF_PARTITION]
    names = ("leader_id", "is_lost", "is_served", "correlation_id")
    tries = tried.select(*keys, *INSTANTS, *names, F.col("connection").alias("on"))
    is_same = [F.col(name) == F.col(f"of_{name}") for name in OF_PARTITION]
    is_near = F.col("answered_at").between(F.col("errored_at") - around, F.col("errored_at") + around)
    offsets = clocks(fetches, CLOCKS_WITHIN_S).withColumnsRenamed(
        {"cluster": "clock_of", "window_start": "clock_in"}
    )
    is_clock = [
        F.col("cluster") == F.col("clock_of"),
        F.col("old_leader_id") == F.col("from_id"),
        F.col("leader_id") == F.col("to_id"),
        window_start(F.col("errored_at")) == F.col("clock_in"),
    ]
    offset_us = F.coalesce("offset_us", F.lit(0))
    instants = [F.timestamp_micros(F.unix_micros(at) - offset_us).alias(at) for at in INSTANTS]
    columns = [*instants, *(F.col(name) for name in (*names, "on", "clock_bound_ms"))]
    return (
        lost.join(tries, on=[*is_same, is_near], how="inner")
        .join(offsets, on=is_clock, how="left")
        .select(*lost.columns, F.struct(*columns, offset_us.alias("offset_us")).alias("tried"))
    )


def is_later_try() -> Column:
    """
    Return whether a try is later than the failing one.

    At another broker, the criterion is the arrival of both requests or the client's correlation ids, because
    a late log line makes an arrival look too late. At the old leader, the criterion is the error response.
    Otherwise requests that it was still processing would look like successes after the error.
    """
    is_old = F.col("tried.leader_id") == F.col("old_leader_id")
    arrived_at = F.col("tried.arrived_at")
    has_later_count = F.col("tried.correlation_id") > F.col("asked_as")
    is_counted = has_later_count & (arrived_at > F.col("asked_at") - seconds(NEAR_S)) & ~is_old
    is_later = arrived_at > F.when(is_old, F.col("errored_at")).otherwise(F.col("asked_at"))
    return is_later | F.coalesce(is_counted, F.lit(False))


def with_tries(lost: DataFrame, near: DataFrame) -> DataFrame:
    """
    Add the first success after the error, and the tries until then.

    The columns are `succeeded_at`, `new_leader_id` and its clock offset, the first try and the errors at the
    new leader, and the errors at the old leader. Events that end at the old leader are removed.
    """
    latest = F.col("errored_at") + seconds(FOUND_WITHIN_S)
    is_end = F.col("tried.is_served") & is_later_try() & (F.col("tried.done_at") <= latest)
    names = ("done_at", "leader_id", "offset_us", "clock_bound_ms")
    end = F.when(is_end, F.struct(*(f"tried.{name}" for name in names)))
    ended = near.withColumn("end", F.min(end).over(Window.partitionBy(*EVENT))).withColumns(
        {
            "succeeded_at": F.when(F.col("end").isNotNull(), F.greatest("errored_at", "end.done_at")),
            "new_leader_id": F.col("end.leader_id"),
            "offset_us": F.col("end.offset_us"),
            "clock_bound_ms": F.col("end.clock_bound_ms"),
        }
    )
    is_timely = F.col("tried.arrived_at") <= F.coalesce("succeeded_at", latest)
    is_refused = F.col("tried.is_lost") & (F.col("tried.answered_at") >= F.col("errored_at")) & is_timely
    is_old = F.col("tried.leader_id") == F.col("old_leader_id")
    is_new = F.col("tried.leader_id") == F.col("new_leader_id")
    first = F.min(F.when(is_new & is_later_try() & is_timely, F.struct("tried.arrived_at", "tried.on")))
    tried_at = F.when(F.col("first").isNotNull(), F.greatest("errored_at", "first.arrived_at"))
    return (
        ended.filter(~F.col("new_leader_id").eqNullSafe(F.col("old_leader_id")))
        .groupBy(*lost.columns, "succeeded_at", "new_leader_id", "offset_us", "clock_bound_ms")
        .agg(
            first.alias("first"),
            F.count_if(is_old & is_refused).alias("errors_at_old_leader"),
            F.count_if(is_new & is_refused).alias("errors_at_new_leader"),
        )
        .withColumns({"tried_at": tried_at, "tried_on": F.col("first.on")})
        .drop("first")
    )


def with_wait(events: DataFrame, tried: DataFrame) -> DataFrame:
    """
    Add `blocked_us`: how long the new leader processed earlier requests of the first try's connection.

    A broker reads the next request of a connection after the response to the previous one (`SocketServer`
    mutes the connection), so these requests never overlap.
    """
    held = tried.select(
        F.col("cluster").alias("of_cluster"),
        F.col("leader_id").alias("held_at"),
        F.col("connection").alias("held_on"),
        F.col("position").alias("held_in"),
        F.unix_micros("arrived_at").alias("from_us"),
        F.unix_micros("done_at").alias("until_us"),
    ).dropDuplicates(["of_cluster", "held_at", "held_in"])
    since = F.unix_micros("errored_at") + F.col("offset_us")
    until = F.unix_micros("tried_at") + F.col("offset_us")
    is_same = [
        F.col("cluster") == F.col("of_cluster"),
        F.col("new_leader_id") == F.col("held_at"),
        F.col("tried_on") == F.col("held_on"),
        F.col("from_us") < until,
        F.col("until_us") > since,
    ]
    # The left join can have no request; F.least and F.greatest would skip its NULL.
    held_us = F.when(
        F.col("held_in").isNotNull(),
        F.least(F.col("until_us"), until) - F.greatest(F.col("from_us"), since),
    )
    return (
        events.join(held, on=is_same, how="left")
        .groupBy(*events.columns)
        .agg(F.coalesce(F.sum(held_us), F.lit(0)).alias("blocked_us"))
    )
