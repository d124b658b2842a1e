"""A5: how long a client is lost when a leader moves (KIP-951), from the request logs of both leaders."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from schemas.clients import LEADER_REDIRECT
from transforms.gold.produced import exploded, with_run
from transforms.windows import Reach, window_start

NOT_LEADER, FENCED_EPOCH, NO_ERROR = 6, 74, 0
LOST = (NOT_LEADER, FENCED_EPOCH)
"""What an old leader answers: 6 to a producer, as a rule 74 to a consumer."""

FOUND_WITHIN_S = 60
"""An event that has not ended by then is one without an end."""

REQUESTS_REACH = Reach(lookback_s=FOUND_WITHIN_S, lookahead_s=FOUND_WITHIN_S)

OF_PARTITION = ("cluster", "api", "client_id", "topic", "partition")
EVENT = (*OF_PARTITION, "errored_at", "old_leader_id")


def leader_redirect(requests: DataFrame, topics: DataFrame, runs: DataFrame) -> DataFrame:
    """
    Give one row per partition that a client lost and found again at another leader.

    An event begins with the first error of an old leader behind its last success, and ends with the first
    request that another one serves. Errors of a leader that serves next itself are no event: it was not
    ready yet. They stand in the event of the leader before it, as `errors_at_new_leader`.
    """
    tried = attempts(requests, topics)
    found = with_end(first_errors(tried), tried)
    return (
        with_lookups(with_tries(found, tried), requests)
        .withColumn("logged_at", F.col("errored_at"))
        .transform(with_run, runs)
        .withColumns(_durations())
        .withColumn("window_start", window_start(F.col("errored_at")))
        .select(*LEADER_REDIRECT.schema.names)
    )


def attempts(requests: DataFrame, topics: DataFrame) -> DataFrame:
    """Give every try of the clients that met an error of an old leader, one row a partition."""
    is_own = F.col("is_own_traffic").eqNullSafe(F.lit(True))
    is_client = (F.col("api") == "PRODUCE") | (F.col("kind") == "consumer")
    ours = requests.filter(is_client & ~is_own & F.col("logged_at").isNotNull())
    has_error = F.exists("partitions", lambda part: part["error_code"].isin(*LOST))
    lost = ours.filter(has_error).select("cluster", "api", "client_id").distinct()
    near = ours.join(F.broadcast(lost), on=["cluster", "api", "client_id"], how="left_semi")
    rows = exploded(near, topics).filter(F.col("error_code").isNotNull())
    return rows.select(
        *OF_PARTITION,
        "leader_id",
        "connection",
        "software_version",
        F.col("started_at").alias("arrived_at"),
        F.col("logged_at").alias("answered_at"),
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
            F.col("leader_id").alias("old_leader_id"),
            "connection",
            "software_version",
            "error_code",
            F.col("hinted_leader_id").isNotNull().alias("hinted"),
            F.col("hinted_leader_id"),
            F.col("hinted_leader_epoch").alias("leader_epoch"),
        )
    )


def with_end(errors: DataFrame, tried: DataFrame) -> DataFrame:
    """Add the first request that was served after the error: where, and when it arrived there."""
    served = tried.filter("is_served").select(*OF_PARTITION, "arrived_at", "leader_id")
    is_behind = [
        F.col("arrived_at") > F.col("errored_at"),
        F.col("arrived_at") <= F.col("errored_at") + F.make_dt_interval(secs=F.lit(FOUND_WITHIN_S)),
    ]
    joined = _of_event(errors, served, is_behind)
    first = F.min(F.struct("arrived_at", "leader_id"))
    ends = joined.groupBy(*EVENT).agg(first.alias("end"))
    return (
        errors.join(ends, on=list(EVENT), how="left")
        .withColumn("succeeded_at", F.col("end.arrived_at"))
        .withColumn("new_leader_id", F.col("end.leader_id"))
        .filter(~F.col("new_leader_id").eqNullSafe(F.col("old_leader_id")))
    )


def with_tries(events: DataFrame, tried: DataFrame) -> DataFrame:
    """Add the first try at the new leader, its errors, and those that the old one answered with."""
    until = F.coalesce("succeeded_at", F.col("errored_at") + F.make_dt_interval(secs=F.lit(FOUND_WITHIN_S)))
    is_between = [F.col("answered_at") >= F.col("errored_at"), F.col("arrived_at") <= until]
    told = tried.select(*OF_PARTITION, "leader_id", "arrived_at", "answered_at", "is_lost")
    is_old = F.col("leader_id") == F.col("old_leader_id")
    is_new = F.col("leader_id") == F.col("new_leader_id")
    sums = (
        _of_event(events, told, is_between)
        .groupBy(*EVENT)
        .agg(
            F.min(F.when(is_new & (F.col("arrived_at") > F.col("errored_at")), F.col("arrived_at"))).alias(
                "tried_at"
            ),
            F.count_if(is_old & F.col("is_lost")).alias("errors_at_old_leader"),
            F.count_if(is_new & F.col("is_lost")).alias("errors_at_new_leader"),
        )
    )
    return events.join(sums, on=list(EVENT), how="left")


def with_lookups(events: DataFrame, requests: DataFrame) -> DataFrame:
    """Count the METADATA requests of the client, at any broker, between the error and the success."""
    lookups = (
        requests.filter(F.col("api") == "METADATA")
        .select("cluster", "client_id", F.col("started_at").alias("asked_at"), "position")
        .dropDuplicates(["cluster", "position"])
        .withColumnsRenamed({"cluster": "of_cluster", "client_id": "of_client", "position": "asked_in"})
    )
    on = [
        F.col("cluster") == F.col("of_cluster"),
        F.col("client_id") == F.col("of_client"),
        F.col("asked_at").between(F.col("errored_at"), F.col("succeeded_at")),
    ]
    counts = (
        events.select(*EVENT, "succeeded_at")
        .join(lookups, on=on, how="inner")
        .groupBy(*EVENT)
        .agg(F.count(F.lit(1)).alias("metadata_requests"))
    )
    return events.join(counts, on=list(EVENT), how="left").fillna(0, subset=["metadata_requests"])


def _of_event(events: DataFrame, rows: DataFrame, conditions: list[Column]) -> DataFrame:
    """Join an event with rows of its client and partition."""
    renamed = rows.withColumnsRenamed({name: f"of_{name}" for name in OF_PARTITION})
    same = [F.col(name) == F.col(f"of_{name}") for name in OF_PARTITION]
    return events.join(renamed, on=[*same, *conditions], how="inner")


def _durations() -> dict[str, Column]:
    def between_ms(since: str, until: str) -> Column:
        return (F.unix_micros(until) - F.unix_micros(since)) / 1e3

    return {
        "redirect_ms": between_ms("errored_at", "succeeded_at"),
        "client_part_ms": between_ms("errored_at", "tried_at"),
        "broker_part_ms": between_ms("tried_at", "succeeded_at"),
    }
