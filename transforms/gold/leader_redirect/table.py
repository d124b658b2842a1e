"""A5: how long a client has no leader when a leader moves (KIP-951), from the logs of both leaders."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from schemas.gold.leader_redirect import LEADER_REDIRECT, REDIRECT
from transforms.gold.fetch_latency.pairing import MAX_ELAPSED_S, NEAR_S
from transforms.gold.leader_redirect.cause import FOUND_WITHIN_S, with_mover
from transforms.gold.leader_redirect.client_tries import OF_PARTITION, attempts
from transforms.gold.leader_redirect.found import found_again
from transforms.gold.partition_skew.produced import with_run
from transforms.windows import Reach, window_start

REQUESTS_REACH = Reach(lookback_s=FOUND_WITHIN_S, lookahead_s=FOUND_WITHIN_S)
CHANGES_REACH = REQUESTS_REACH
CLIENT_EVENTS_REACH = Reach(
    lookback_s=FOUND_WITHIN_S + MAX_ELAPSED_S + NEAR_S, lookahead_s=FOUND_WITHIN_S + NEAR_S
)


def leader_redirect(
    requests: DataFrame, topics: DataFrame, runs: DataFrame, changes: DataFrame, fetches: DataFrame
) -> DataFrame:
    """
    Return one row per partition whose leader a client lost and found again at another broker.

    `changes` is `silver.leadership_changes`. `fetches` are follower fetches (`pairing.fetches`) for the clock
    offsets: instants of the new leader are converted to the clock of the old leader.

    An event begins with the first error of the old leader after its last success. It ends when another broker
    has served a later request: a PRODUCE including replication, or a FETCH without the wait for records. A
    busy broker logs the error late, so the end can be before `errored_at`. Then all durations are 0.

    Errors of a broker that serves the next request itself are no event, because it was not ready yet. They
    count as `errors_at_new_leader` in the event of the previous leader.
    """
    tried = attempts(requests, topics)
    return (
        found_again(first_errors(tried), tried, requests, changes, fetches)
        .transform(with_mover, requests)
        .withColumn("kind", F.lit(REDIRECT))
        .transform(as_rows, runs)
    )


def as_rows(events: DataFrame, runs: DataFrame) -> DataFrame:
    """Return events as rows of `gold.leader_redirect`, with run, durations and window."""
    return (
        events.withColumn("logged_at", F.col("errored_at"))
        .transform(with_run, runs)
        .withColumns(_durations())
        .withColumn("window_start", window_start(F.col("errored_at")))
        .select(*LEADER_REDIRECT.schema.names)
    )


def first_errors(tried: DataFrame) -> DataFrame:
    """Return the errors that follow a success of the same client at the same broker, or no earlier try."""
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
            F.col("correlation_id").alias("asked_as"),
            F.col("leader_id").alias("old_leader_id"),
            "connection",
            "software_version",
            "error_code",
            F.col("hinted_leader_id").isNotNull().alias("hinted"),
            F.col("hinted_leader_id"),
            F.col("hinted_leader_epoch").alias("leader_epoch"),
        )
    )


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
