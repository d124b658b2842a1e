"""A5: how long a client is lost when a leader moves (KIP-951), from the request logs of both leaders."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from schemas.clients import LEADER_REDIRECT, REDIRECT
from transforms.gold.clocks import bound_us, is_around, offset_us, offsets
from transforms.gold.leader_redirect_cause import (
    EVENT,
    FOUND_WITHIN_S,
    NO_ERROR,
    OF_PARTITION,
    with_change,
    with_lookups,
    with_mover,
)
from transforms.gold.pairing import MAX_ELAPSED_S, NEAR_S
from transforms.gold.produced import exploded, with_run
from transforms.windows import Reach, window_start

NOT_LEADER, FENCED_EPOCH = 6, 74
LOST = (NOT_LEADER, FENCED_EPOCH)
"""What an old leader answers: 6 to a producer, as a rule 74 to a consumer."""

CLOCKS_WITHIN_S = FOUND_WITHIN_S - 2 * NEAR_S
"""So far from an error fetches tell of the clocks; to pair the farthest, lines still further out are read."""

INSTANTS = ("arrived_at", "answered_at", "done_at")

REQUESTS_REACH = Reach(lookback_s=FOUND_WITHIN_S, lookahead_s=FOUND_WITHIN_S)
CHANGES_REACH = REQUESTS_REACH
CLIENT_EVENTS_REACH = Reach(
    lookback_s=FOUND_WITHIN_S + MAX_ELAPSED_S + NEAR_S, lookahead_s=FOUND_WITHIN_S + NEAR_S
)


def leader_redirect(
    requests: DataFrame, topics: DataFrame, runs: DataFrame, changes: DataFrame, fetches: DataFrame
) -> DataFrame:
    """
    Give one row per partition that a client lost and found again at another leader.

    `changes` are `silver.leadership_changes`, `fetches` those of followers (`pairing.fetches`), for the
    brokers' clocks: instants of the new leader are written as the old one's clock would have shown them.

    An event begins with the first error of an old leader behind its last success, and ends when another one
    has served a request that came behind the failing one: answered a PRODUCE, replication and all, or come to
    the end of what a FETCH costs it beside the wait for records. A busy broker writes its line of the error
    late, so that may lie before `errored_at`: then nothing was lost, and all durations are 0.

    Errors of a leader that serves next itself are no event: it was not ready yet. They stand in the event of
    the leader before it, as `errors_at_new_leader`.
    """
    tried = attempts(requests, topics)
    return (
        found_again(first_errors(tried), tried, requests, changes, fetches)
        .transform(with_mover, requests)
        .withColumn("kind", F.lit(REDIRECT))
        .transform(as_rows, runs)
    )


def found_again(
    lost: DataFrame, tried: DataFrame, requests: DataFrame, changes: DataFrame, fetches: DataFrame
) -> DataFrame:
    """
    Add to each `EVENT` where and when the client was served again, and what happened until then.

    Each step reads the events twice, so they are worked out where they are, or each step would double all of
    the steps before.
    """
    lost = lost.localCheckpoint()
    near = near_tries(lost, tried, fetches).localCheckpoint()
    return (
        with_tries(with_end(lost, near), near)
        .localCheckpoint()
        .transform(with_wait, tried)
        .localCheckpoint()
        .transform(with_lookups, requests)
        .transform(with_change, changes)
    )


def as_rows(events: DataFrame, runs: DataFrame) -> DataFrame:
    """Make events rows of `gold.leader_redirect`: add the run, the durations and the window."""
    return (
        events.withColumn("logged_at", F.col("errored_at"))
        .transform(with_run, runs)
        .withColumns(_durations())
        .withColumn("window_start", window_start(F.col("errored_at")))
        .select(*LEADER_REDIRECT.schema.names)
    )


def is_refused() -> Column:
    """Tell a PRODUCE or FETCH that its broker refused since it does not lead the partition (any more)."""
    has_error = F.exists("partitions", lambda part: part["error_code"].isin(*LOST))
    return F.col("api").isin("PRODUCE", "FETCH") & F.coalesce(has_error, F.lit(False))


def attempts(requests: DataFrame, topics: DataFrame) -> DataFrame:
    """Give every try of the clients that met an error of an old leader, one row a partition."""
    ours = asked_by_clients(requests)
    lost = ours.filter(is_refused()).select("cluster", "api", "client_id").distinct()
    near = ours.join(F.broadcast(lost), on=["cluster", "api", "client_id"], how="left_semi")
    return exploded(near, topics).transform(as_tries)


def asked_by_clients(requests: DataFrame) -> DataFrame:
    """Keep what producers and consumers asked for, Plumbline's own traffic left out."""
    is_own = F.col("is_own_traffic").eqNullSafe(F.lit(True))
    is_client = (F.col("api") == "PRODUCE") | (F.col("kind") == "consumer")
    return requests.filter(is_client & ~is_own & F.col("logged_at").isNotNull())


def as_tries(rows: DataFrame) -> DataFrame:
    """Tell how each partition of a request (`produced.exploded`) was answered; leave out what was not."""
    waited_us = F.when(F.col("api") == "FETCH", F.round(F.col("remote_ms") * 1_000).cast("bigint"))
    done_us = F.unix_micros("logged_at") - F.coalesce(waited_us, F.lit(0))
    return rows.filter(F.col("error_code").isNotNull()).select(
        *OF_PARTITION,
        "leader_id",
        "connection",
        "software_version",
        F.col("started_at").alias("arrived_at"),
        F.col("logged_at").alias("answered_at"),
        F.timestamp_micros(done_us).alias("done_at"),
        "position",
        "error_code",
        F.col("error_code").isin(*LOST).alias("is_lost"),
        (F.col("error_code") == NO_ERROR).alias("is_served"),
        F.col("hinted_leader_id"),
        F.col("hinted_leader_epoch"),
    )


def first_errors(tried: DataFrame) -> DataFrame:
    """Keep the errors that come behind a success of the same client at the same broker, or behind nothing."""
    at_broker = Window.partitionBy(*OF_PARTITION, "leader_id").orderBy("answered_at", "position")
    was_lost = F.coalesce(F.lag("is_lost").over(at_broker), F.lit(False))
    since_last_s = F.unix_micros("answered_at") - F.unix_micros(F.lag("answered_at").over(at_broker))
    is_stale = F.coalesce(since_last_s > FOUND_WITHIN_S * 1_000_000, F.lit(False))
    return (
        tried.withColumn("is_first", F.col("is_lost") & (~was_lost | is_stale))
        .filter("is_first")
        .select(
            *OF_PARTITION,
            F.col("answered_at").alias("errored_at"),
            F.col("arrived_at").alias("asked_at"),
            F.col("leader_id").alias("old_leader_id"),
            "connection",
            "software_version",
            "error_code",
            F.col("hinted_leader_id").isNotNull().alias("hinted"),
            F.col("hinted_leader_id"),
            F.col("hinted_leader_epoch").alias("leader_epoch"),
        )
    )


def near_tries(errors: DataFrame, tried: DataFrame, fetches: DataFrame) -> DataFrame:
    """Give the tries around each first error, in the clock of the broker that answered with it."""
    around = F.make_dt_interval(secs=F.lit(2 * FOUND_WITHIN_S))
    renamed = tried.withColumnsRenamed({name: f"of_{name}" for name in OF_PARTITION}).select(
        *(f"of_{name}" for name in OF_PARTITION),
        *("leader_id", *INSTANTS, "is_lost", "is_served"),
        F.col("connection").alias("tried_on"),
    )
    is_its = [F.col(name) == F.col(f"of_{name}") for name in OF_PARTITION]
    is_near = F.col("answered_at").between(F.col("errored_at") - around, F.col("errored_at") + around)
    offset = F.coalesce("offset_us", F.lit(0))
    return (
        errors.select(*EVENT, "asked_at")
        .join(renamed, on=[*is_its, is_near], how="inner")
        .join(clocks(errors, fetches), on=[*EVENT, "leader_id"], how="left")
        .withColumn("offset_us", offset)
        .withColumns({at: F.timestamp_micros(F.unix_micros(at) - offset) for at in INSTANTS})
    )


def clocks(errors: DataFrame, fetches: DataFrame) -> DataFrame:
    """
    Give of each other broker how far its clock is ahead of the one that answered with the error.

    What the replica fetches between the two tell around the error; without any there is no row.
    """
    told = offsets(fetches).withColumnRenamed("cluster", "of_cluster")
    is_its = [
        F.col("cluster") == F.col("of_cluster"),
        F.col("old_leader_id") == F.col("from_id"),
        is_around(F.col("errored_at"), CLOCKS_WITHIN_S),
    ]
    bounds = (
        errors.select(*EVENT)
        .join(told, on=is_its, how="inner")
        .groupBy(*EVENT, F.col("to_id").alias("leader_id"))
        .agg(F.median("low_us").alias("low"), F.median("high_us").alias("high"))
    )
    low, high = F.col("low"), F.col("high")
    return bounds.select(
        *EVENT,
        "leader_id",
        offset_us(low, high).alias("offset_us"),
        (bound_us(low, high) / 1e3).alias("clock_bound_ms"),
    )


def is_behind() -> Column:
    """
    Tell whether a try came behind the failing one.

    Elsewhere that is by the arrivals of both; at the old leader itself by the error, or requests that it was
    still working on would tell that it leads.
    """
    is_old = F.col("leader_id") == F.col("old_leader_id")
    return F.col("arrived_at") > F.when(is_old, F.col("errored_at")).otherwise(F.col("asked_at"))


def with_end(errors: DataFrame, near: DataFrame) -> DataFrame:
    """Add the first request that was served after the error: where, and when that was done."""
    is_soon = F.col("done_at") <= F.col("errored_at") + F.make_dt_interval(secs=F.lit(FOUND_WITHIN_S))
    first = F.min(F.struct("done_at", "leader_id", "offset_us", "clock_bound_ms"))
    served = near.filter(F.col("is_served") & is_behind() & is_soon)
    ends = served.groupBy(*EVENT).agg(first.alias("end"))
    return (
        errors.join(ends, on=list(EVENT), how="left")
        .withColumn("succeeded_at", F.when(F.col("end").isNotNull(), F.greatest("errored_at", "end.done_at")))
        .withColumn("new_leader_id", F.col("end.leader_id"))
        .withColumn("offset_us", F.col("end.offset_us"))
        .withColumn("clock_bound_ms", F.col("end.clock_bound_ms"))
        .filter(~F.col("new_leader_id").eqNullSafe(F.col("old_leader_id")))
        .drop("end")
    )


def with_tries(events: DataFrame, near: DataFrame) -> DataFrame:
    """Add the first try at the new leader, its errors, and those that the old one answered with."""
    until = F.coalesce("succeeded_at", F.col("errored_at") + F.make_dt_interval(secs=F.lit(FOUND_WITHIN_S)))
    is_after = F.col("is_lost") & (F.col("answered_at") >= F.col("errored_at"))
    is_old = F.col("leader_id") == F.col("old_leader_id")
    is_new = F.col("leader_id") == F.col("new_leader_id")
    tries = near.select(*EVENT, "asked_at", "leader_id", "arrived_at", "answered_at", "is_lost", "tried_on")
    sums = (
        events.select(*EVENT, "new_leader_id", "succeeded_at")
        .join(tries, on=list(EVENT), how="inner")
        .filter(F.col("arrived_at") <= until)
        .groupBy(*EVENT)
        .agg(
            F.min(F.when(is_new & is_behind(), F.struct("arrived_at", "tried_on"))).alias("first"),
            F.count_if(is_old & is_after).alias("errors_at_old_leader"),
            F.count_if(is_new & is_after).alias("errors_at_new_leader"),
        )
    )
    joined = events.join(sums, on=list(EVENT), how="left")
    tried_at = F.when(F.col("first").isNotNull(), F.greatest("errored_at", "first.arrived_at"))
    return joined.withColumns({"tried_at": tried_at, "tried_on": F.col("first.tried_on")}).drop("first")


def with_wait(events: DataFrame, tried: DataFrame) -> DataFrame:
    """
    Add `blocked_us`: how long the new leader held earlier requests of the connection of the first try.

    A broker reads a connection's next request once it has answered the one before (`SocketServer` mutes it),
    so these never overlap.
    """
    held = tried.select(
        F.col("cluster").alias("of_cluster"),
        F.col("leader_id").alias("held_at"),
        F.col("connection").alias("held_on"),
        F.col("position").alias("held_in"),
        F.unix_micros("arrived_at").alias("from_us"),
        F.unix_micros("done_at").alias("until_us"),
    ).dropDuplicates(["of_cluster", "held_at", "held_in"])
    offset = F.coalesce("offset_us", F.lit(0))
    since, until = F.unix_micros("errored_at") + offset, F.unix_micros("tried_at") + offset
    is_its = [
        F.col("cluster") == F.col("of_cluster"),
        F.col("new_leader_id") == F.col("held_at"),
        F.col("tried_on") == F.col("held_on"),
        F.col("from_us") < until,
        F.col("until_us") > since,
    ]
    held_us = F.least(F.col("until_us"), until) - F.greatest(F.col("from_us"), since)
    sums = (
        events.select(*EVENT, "new_leader_id", "tried_on", "tried_at", "offset_us")
        .join(held, on=is_its, how="inner")
        .groupBy(*EVENT)
        .agg(F.sum(held_us).alias("blocked_us"))
    )
    return events.join(sums, on=list(EVENT), how="left").fillna(0, subset=["blocked_us"])


def _durations() -> dict[str, Column]:
    def between_ms(since: str, until: str) -> Column:
        return (F.unix_micros(until) - F.unix_micros(since)) / 1e3

    not_ready = between_ms("tried_at", "leads_from")
    blocked = F.when(F.col("tried_at").isNotNull(), F.col("blocked_us") / 1e3)
    return {
        "redirect_ms": between_ms("errored_at", "succeeded_at"),
        "client_part_ms": between_ms("errored_at", "tried_at") - blocked,
        "broker_part_ms": between_ms("tried_at", "succeeded_at") + blocked,
        "blocked_ms": blocked,
        "not_ready_ms": F.when(not_ready > 0, not_ready).when(not_ready <= 0, 0.0),
    }
