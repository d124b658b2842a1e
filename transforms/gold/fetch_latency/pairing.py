"""Follower and leader brought together: how long each replica fetch took where it was asked for."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.window import WindowSpec

from transforms.windows import Reach, window_start

MAX_ELAPSED_S = 30
"""`replica.socket.timeout.ms`: a replica fetcher gives a request up after so long."""

NEAR_S = 5
"""The answer's line and the leader's line of one fetch lie no further apart, skew of both clocks included."""

ANY_SKEW_S = 12 * 3600
"""With all lines at hand a session's id and count say enough: brokers whose zone was set wrongly pair too."""

REQUESTS_REACH = Reach(lookback_s=2 * NEAR_S, lookahead_s=2 * NEAR_S)
CLIENT_EVENTS_REACH = Reach(lookback_s=3 * NEAR_S + MAX_ELAPSED_S, lookahead_s=3 * NEAR_S)

MONO_RESOLUTION_MS = 1e-6

MATCH = ("cluster", "leader_id", "follower_id", "client_id", "correlation_id", "session_id")
"""What both logs know of one fetch. A session id of 0 says nothing, so there nearness in time must do."""

FETCHER = (
    "cluster",
    "node_id",
    "follower_id",
    "fetcher_id",
    "destination_id",
    "client_id",
    "correlation_id",
)
"""One request of one fetcher, until the fetcher is started again and counts from 0 anew."""

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
    Return every FETCH once, with `elapsed_ms` at the follower; NULL where its log is missing.

    Re-sent lines and Plumbline's own traffic are left out. `is_ambiguous` marks the follower fetches that
    share their key with another one near by: they get no `elapsed_ms`, since none is better than a guess.
    Within a session, lines up to `skew_s` apart belong together; a stream, which reads a few windows at a
    time, cannot look further than `NEAR_S`.
    """
    answers = with_twin(elapsed(client_events), F.col("received_at"), skew_s)
    answers = answers.filter(~F.col("is_twin")).select(
        *[F.col(name).alias(f"answer_{name}") for name in MATCH],
        "received_at",
        "elapsed_ms",
        "elapsed_resolution_ms",
    )
    is_same = [F.col(name) == F.col(f"answer_{name}") for name in MATCH]
    # A twin is marked on either side, so at most one answer is near enough and the join adds no rows.
    is_near = _apart_us(F.col("received_at"), F.col("logged_at")) <= _near_us(skew_s)
    return (
        with_twin(served(requests), F.col("logged_at"), skew_s)
        .join(answers, on=[*is_same, is_near, ~F.col("is_twin")], how="left")
        .withColumn("window_start", window_start(F.col("logged_at")))
        .withColumn("is_ambiguous", F.col("is_twin") & (F.col("kind") == "follower"))
        .select(*FETCHES)
    )


def served(requests: DataFrame) -> DataFrame:
    """Keep the FETCHes that a broker served, each once, its own traffic left out."""
    is_fetch = (F.col("api") == "FETCH") & F.col("kind").isin("follower", "consumer", "raft")
    is_own = F.col("is_own_traffic").eqNullSafe(F.lit(True))
    # A KRaft node without a leader asks itself: that is no way between two nodes.
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
    Pair what each replica fetcher sent with what it received: `elapsed_ms`, `received_at` and `MATCH`.

    Both lines come from one clock: monotonic nanoseconds when both carry them. A response belongs to the
    last request of its key before it, so a fetcher that is started again never meets its former self.
    """
    order = Window.partitionBy(*FETCHER).orderBy(
        # In a log of whole milliseconds both lines can share an instant: the request came first.
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
    """Count what was dropped because its key fits more than one line: (cluster, seen_by, n)."""
    sides = {
        "leader": with_twin(served(requests).filter(F.col("kind") == "follower"), F.col("logged_at")),
        "follower": with_twin(elapsed(client_events), F.col("received_at")),
    }
    seen = [side.select("cluster", F.lit(name).alias("seen_by"), "is_twin") for name, side in sides.items()]
    return seen[0].unionByName(seen[1]).groupBy("cluster", "seen_by").agg(F.count_if("is_twin").alias("n"))


def with_twin(rows: DataFrame, at: Column, skew_s: int = NEAR_S) -> DataFrame:
    """Add `is_twin`: another row of the same `MATCH` key is so near that one line could belong to either."""
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
        # By what `FETCHER` and `MATCH` share: one shuffle serves the windows of both.
        .repartition("cluster", "follower_id", "destination_id", "client_id", "correlation_id")
    )


def _elapsed() -> dict[str, Column]:
    mono_ns = F.col("logged_mono_ns") - F.col("sent.logged_mono_ns")
    wall_us = F.unix_micros("logged_at") - F.unix_micros("sent.logged_at")
    coarser = F.greatest("clock_resolution_ms", "sent.clock_resolution_ms")
    return {
        "elapsed_ms": F.coalesce(mono_ns / 1e6, wall_us / 1e3),
        "elapsed_resolution_ms": F.when(mono_ns.isNotNull(), F.lit(MONO_RESOLUTION_MS)).otherwise(coarser),
        # A reboot starts monotonic time anew; the wall clock shows that the lines are of two runs.
        "is_one_run": wall_us <= MAX_ELAPSED_S * 1_000_000,
    }


def _once(rows: DataFrame, order: WindowSpec) -> DataFrame:
    """
    Drop what was sent again: the same position, which any order of a line's own columns puts side by side.

    The windows that follow use the same order, so being exact costs no shuffle and no sort of its own.
    """
    is_again = F.col("position").eqNullSafe(F.lag("position").over(order)) & F.col("position").isNotNull()
    return rows.withColumn("is_again", is_again).filter(~F.col("is_again")).drop("is_again")


def _near_us(skew_s: int) -> Column:
    """Outside a session nothing but nearness tells two fetches of one count apart."""
    near_s = F.when(F.col("session_id") == 0, F.lit(NEAR_S)).otherwise(F.lit(skew_s))
    return near_s.cast("bigint") * 1_000_000


def _apart_us(one: Column, other: Column) -> Column:
    return F.abs(F.unix_micros(one) - F.unix_micros(other))
