"""Replica fetches with the log lines of leader and follower joined, and their latency at the follower."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.window import WindowSpec

from schemas.silver.client_events import CLIENT_EVENTS
from transforms.gold.build import Inputs
from transforms.windows import Reach, window_start

MAX_ELAPSED_S = 30
"""`replica.socket.timeout.ms`: a replica fetcher abandons a request after this time."""

NEAR_S = 5
"""The maximum time between the follower's and the leader's line of one fetch, including clock skew."""

ANY_SKEW_S = 12 * 3600
"""The tolerance with all lines available, when session and correlation ids suffice even with a wrong zone."""

REQUESTS_REACH = Reach(lookback_s=2 * NEAR_S, lookahead_s=2 * NEAR_S)
CLIENT_EVENTS_REACH = Reach(lookback_s=3 * NEAR_S + MAX_ELAPSED_S, lookahead_s=3 * NEAR_S)

MONO_RESOLUTION_MS = 1e-6

MATCH = ("cluster", "leader_id", "follower_id", "client_id", "correlation_id", "session_id")
"""The key of one fetch in both logs. A session id of 0 is not unique, so such fetches match by time only."""

FETCHER = (
    "cluster",
    "node_id",
    "follower_id",
    "fetcher_id",
    "destination_id",
    "client_id",
    "correlation_id",
)
"""The key of one request of a fetcher. After a restart the fetcher counts from 0 again."""

FETCHES = (
    "cluster",
    "window_start",
    "logged_at",
    "logged_mono_ns",
    "clock_resolution_ms",
    "leader_id",
    "kind",
    "follower_id",
    "client_id",
    "correlation_id",
    "connection",
    "total_ms",
    "remote_ms",
    "send_ms",
    "elapsed_ms",
    "elapsed_resolution_ms",
    "received_at",
    "is_ambiguous",
)


def fetches(requests: DataFrame, client_events: DataFrame, *, skew_s: int = NEAR_S) -> DataFrame:
    """
    Return each FETCH once, with `elapsed_ms` at the follower; NULL without the follower's log.

    Re-sent lines and Plumbline's own traffic are excluded. `is_ambiguous` marks follower fetches whose key
    also fits a fetch close in time; their `elapsed_ms` is NULL. Within a session, lines up to `skew_s` apart
    match. A stream reads only a few windows, so it must use `NEAR_S`.
    """
    answers = with_twin(elapsed(client_events), F.col("received_at"), skew_s)
    answers = answers.filter(~F.col("is_twin")).select(
        *[F.col(name).alias(f"answer_{name}") for name in MATCH],
        "received_at",
        "elapsed_ms",
        "elapsed_resolution_ms",
    )
    is_same = [F.col(name) == F.col(f"answer_{name}") for name in MATCH]
    # Both sides mark twins, so at most one response is near enough and the join adds no rows.
    is_near = _apart_us(F.col("received_at"), F.col("logged_at")) <= _near_us(skew_s)
    return (
        with_twin(served(requests), F.col("logged_at"), skew_s)
        .join(answers, on=[*is_same, is_near, ~F.col("is_twin")], how="left")
        .withColumn("window_start", window_start(F.col("logged_at")))
        .withColumn("is_ambiguous", F.col("is_twin") & (F.col("kind") == "follower"))
        .select(*FETCHES)
    )


def paired(inputs: Inputs, requests: DataFrame) -> DataFrame:
    """Return the fetches among `requests`, paired with the client events near the windows, computed once."""
    skew_s = NEAR_S if inputs.spans else ANY_SKEW_S
    return inputs.once(fetches(requests, inputs.near(CLIENT_EVENTS), skew_s=skew_s), "fetches")


def served(requests: DataFrame) -> DataFrame:
    """Return the FETCH requests of the request log, without duplicates and own traffic."""
    is_fetch = (F.col("api") == "FETCH") & F.col("kind").isin("follower", "consumer", "raft")
    is_own = F.col("is_own_traffic").eqNullSafe(F.lit(True))
    # A KRaft node without a known leader fetches from itself, which is no traffic between two nodes.
    is_own = is_own | F.col("follower_id").eqNullSafe(F.col("broker_id"))
    return (
        requests.filter(is_fetch & ~is_own & F.col("logged_at").isNotNull())
        .withColumn("leader_id", F.col("broker_id"))
        .withColumn("session_id", F.coalesce("response_session_id", F.lit(0)))
        .select(*MATCH, "position", *[name for name in FETCHES if name in _AS_LOGGED])
        .transform(_once, Window.partitionBy(*MATCH).orderBy("logged_at", "position"))
    )


def elapsed(client_events: DataFrame) -> DataFrame:
    """
    Return the requests of replica fetchers with their responses: `elapsed_ms`, `received_at` and `MATCH`.

    Both lines have the same clock: monotonic nanoseconds if both lines have them. A response belongs to the
    last preceding request with its key, so a restarted fetcher never matches requests before its restart.
    """
    order = Window.partitionBy(*FETCHER).orderBy(
        # In a log with milliseconds both lines can have the same instant; the request is first.
        "logged_at",
        "logged_mono_ns",
        F.col("direction").desc(),
        "position",
    )
    line = F.struct("direction", "logged_at", "logged_mono_ns", "clock_resolution_ms")
    return (
        _fetcher_lines(client_events)
        .transform(_once, order)
        .withColumn("sent", F.lag(line).over(order))
        .filter((F.col("direction") == "received") & (F.col("sent.direction") == "sent"))
        .withColumns(_elapsed())
        .filter(F.col("elapsed_ms").between(0, MAX_ELAPSED_S * 1e3) & F.col("is_one_run"))
        .withColumn("leader_id", F.col("destination_id"))
        .withColumn("session_id", F.coalesce("session_id", F.lit(0)))
        .withColumn("received_at", F.col("logged_at"))
        .select(*MATCH, "position", "received_at", "elapsed_ms", "elapsed_resolution_ms")
    )


def ambiguous(requests: DataFrame, client_events: DataFrame) -> DataFrame:
    """Count the fetches without `elapsed_ms` because of an ambiguous key: (cluster, seen_by, n)."""
    sides = {
        "leader": with_twin(served(requests).filter(F.col("kind") == "follower"), F.col("logged_at")),
        "follower": with_twin(elapsed(client_events), F.col("received_at")),
    }
    seen = [side.select("cluster", F.lit(name).alias("seen_by"), "is_twin") for name, side in sides.items()]
    return seen[0].unionByName(seen[1]).groupBy("cluster", "seen_by").agg(F.count_if("is_twin").alias("n"))


def with_twin(rows: DataFrame, at: Column, skew_s: int = NEAR_S) -> DataFrame:
    """Add `is_twin`: another row with the same `MATCH` key is so near that a line could belong to either."""
    order = Window.partitionBy(*MATCH).orderBy(at, "position")
    is_near = [_apart_us(at, side(at).over(order)) <= 2 * _near_us(skew_s) for side in (F.lag, F.lead)]
    return rows.withColumn("is_twin", F.coalesce(F.greatest(*is_near), F.lit(False)))


_AS_LOGGED = {
    "logged_at",
    "logged_mono_ns",
    "clock_resolution_ms",
    "kind",
    "connection",
    "total_ms",
    "remote_ms",
    "send_ms",
}


def _fetcher_lines(client_events: DataFrame) -> DataFrame:
    is_fetcher = (F.col("api") == "FETCH") & F.col("follower_id").isNotNull()
    return (
        client_events.filter(is_fetcher & F.col("logged_at").isNotNull())
        .select(
            *FETCHER,
            "direction",
            "session_id",
            "logged_at",
            "logged_mono_ns",
            "clock_resolution_ms",
            "position",
        )
        # The common columns of `FETCHER` and `MATCH`, so that one shuffle serves the windows of both.
        .repartition("cluster", "follower_id", "destination_id", "client_id", "correlation_id")
    )


def _elapsed() -> dict[str, Column]:
    mono_ns = F.col("logged_mono_ns") - F.col("sent.logged_mono_ns")
    wall_us = F.unix_micros("logged_at") - F.unix_micros("sent.logged_at")
    coarser = F.greatest("clock_resolution_ms", "sent.clock_resolution_ms")
    return {
        "elapsed_ms": F.coalesce(mono_ns / 1e6, wall_us / 1e3),
        "elapsed_resolution_ms": F.when(mono_ns.isNotNull(), F.lit(MONO_RESOLUTION_MS)).otherwise(coarser),
        # A reboot resets the monotonic clock; the wall clock shows that the lines are from two runs.
        "is_one_run": wall_us <= MAX_ELAPSED_S * 1_000_000,
    }


def _once(rows: DataFrame, order: WindowSpec) -> DataFrame:
    """
    Remove re-sent lines: rows with the same position, which are adjacent in any order by columns of the line.

    The following windows use the same order, so this needs no additional shuffle or sort.
    """
    is_again = F.col("position").eqNullSafe(F.lag("position").over(order)) & F.col("position").isNotNull()
    return rows.withColumn("is_again", is_again).filter(~F.col("is_again")).drop("is_again")


def _near_us(skew_s: int) -> Column:
    """Return the maximum distance of matching lines. Without a session only time separates equal ids."""
    near_s = F.when(F.col("session_id") == 0, F.lit(NEAR_S)).otherwise(F.lit(skew_s))
    return near_s.cast("bigint") * 1_000_000


def _apart_us(one: Column, other: Column) -> Column:
    return F.abs(F.unix_micros(one) - F.unix_micros(other))
