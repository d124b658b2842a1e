"""The slowest fetches of a follower from a leader: the leader's log, joined with the follower's log."""

from datetime import timedelta

from answers.formats import NONE
from answers.gold.reader import QueryRows
from answers.gold.selection import GoldSelection
from answers.listing import Column, Listing, identifier, milliseconds
from transforms.gold.entries import IS_FOLLOWER, LOGGED_DATE, foreign

LONGEST = timedelta(hours=1)
"""The maximum span, because silver has a row per request. A longer span is cut to its end."""

NEAR_S = 5
"""Correlation ids repeat when a fetcher restarts, so a response this far from the leader's line is of another
request."""

REACH = timedelta(seconds=2 * NEAR_S)
"""How much earlier and later than the leader's lines the follower's lines are read."""

MOST = 50
"""The maximum number of fetches."""

SLOWEST = f"""
    WITH served AS (
        SELECT cluster, position, logged_at, correlation_id, client_id, total_ms, remote_ms,
               total_ms - remote_ms AS leader_local_ms, request_queue_ms, local_ms, response_queue_ms, send_ms
        FROM silver.requests
        WHERE cluster = $cluster AND logged_at >= $begin AND logged_at < $end AND {IS_FOLLOWER}
          AND broker_id = $leader AND follower_id = $follower
          AND (listener IS NULL OR (cluster, listener, {LOGGED_DATE}) NOT IN ({foreign("silver.listeners")}))
    ),
    lines AS (
        SELECT client_id, correlation_id, direction, logged_at, logged_mono_ns FROM silver.client_events
        WHERE cluster = $cluster AND logged_at >= $since AND logged_at < $until AND api = 'FETCH'
          AND node_id = $follower AND destination_id = $leader
    ),
    timed AS (
        SELECT response.client_id, response.correlation_id, response.logged_at AS received_at,
               coalesce((response.logged_mono_ns - request.logged_mono_ns) / 1e6,
                        (epoch_us(response.logged_at) - epoch_us(request.logged_at)) / 1e3) AS elapsed_ms
        FROM (FROM lines WHERE direction = 'received') AS response
        ASOF JOIN (FROM lines WHERE direction = 'sent') AS request
             ON response.client_id = request.client_id AND response.correlation_id = request.correlation_id
             AND response.logged_at >= request.logged_at
    )
    SELECT served.*, elapsed_ms, elapsed_ms - remote_ms AS true_ms
    FROM served LEFT JOIN timed ON served.client_id = timed.client_id
         AND served.correlation_id = timed.correlation_id
         AND abs(epoch(received_at) - epoch(served.logged_at)) <= {NEAR_S}
    QUALIFY row_number() OVER (
        PARTITION BY position ORDER BY abs(epoch(received_at) - epoch(served.logged_at)) NULLS LAST) = 1
    ORDER BY true_ms DESC NULLS LAST, leader_local_ms DESC NULLS LAST, logged_at LIMIT {MOST}"""


def slowest(selection: GoldSelection, pair: tuple[int, int]) -> QueryRows:
    """Return the slowest fetches by true latency, or by leader_local without the follower's log."""
    follower, leader = pair
    span = selection.by_minute
    begin, end = max(span.since, span.until - LONGEST), span.until
    read = {"since": begin - REACH, "until": end + REACH}
    return selection.rows(SLOWEST, follower=follower, leader=leader, begin=begin, end=end, **read)


REQUESTS = Listing(
    name="request-table",
    title="Slowest requests",
    columns=(
        Column(
            "at the leader, UTC",
            lambda row: NONE if row["logged_at"] is None else f"{row['logged_at']:%H:%M:%S.%f}"[:-3],
            "logged_at",
            is_text=True,
        ),
        identifier("correlation id", "correlation_id"),
        milliseconds("true ms", "true_ms", style="strong"),
        milliseconds("elapsed at the follower ms", "elapsed_ms"),
        milliseconds("total ms", "total_ms"),
        milliseconds("purgatory ms", "remote_ms"),
        milliseconds("leader's own ms", "leader_local_ms"),
        milliseconds("request queue ms", "request_queue_ms", in_terminal=False),
        milliseconds("local ms", "local_ms", in_terminal=False),
        milliseconds("response queue ms", "response_queue_ms", in_terminal=False),
        milliseconds("send ms", "send_ms", in_terminal=False),
    ),
)
