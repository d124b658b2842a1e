"""Replica fetches with the log lines of leader and follower joined, and their latency at the follower."""

from schemas.silver.client_events import CLIENT_EVENTS
from schemas.silver.requests import REQUESTS
from transforms.gold.build import Inputs
from transforms.gold.entries import IS_OTHERS, is_follower, is_raft
from transforms.sql import Rows
from transforms.windows import WINDOW_S, Reach

MAX_ELAPSED_S = 30
"""`replica.socket.timeout.ms`: a replica fetcher abandons a request after this time."""

NEAR_S = 5
"""The maximum time between the follower's and the leader's line of one fetch, including clock skew."""

ANY_SKEW_S = 12 * 3600
"""The tolerance with all lines available, when session and correlation ids suffice even with a wrong zone."""

REQUESTS_REACH = Reach(lookback_s=2 * NEAR_S, lookahead_s=2 * NEAR_S)
CLIENT_EVENTS_REACH = Reach(lookback_s=3 * NEAR_S + MAX_ELAPSED_S, lookahead_s=3 * NEAR_S)

MONO_RESOLUTION_MS = 1e-6

REQUESTS_COLUMNS = (
    *("cluster", "broker_id", "kind", "follower_id", "client_id", "correlation_id"),
    *("response_session_id", "position", "logged_at", "logged_mono_ns", "clock_resolution_ms", "connection"),
    *("total_ms", "remote_ms", "send_ms", "is_own_traffic"),
)
CLIENT_EVENTS_COLUMNS = (
    *("cluster", "node_id", "api", "follower_id", "fetcher_id", "destination_id", "client_id"),
    *("correlation_id", "session_id", "direction", "position"),
    *("logged_at", "logged_mono_ns", "clock_resolution_ms"),
)

SHORTEST_MS = -5.0
"""
The shortest valid round trip. Millisecond timestamps and slewed clocks cause small negative values. They are
included, because removing one tail would shift all quantiles. A shorter one is the step of a clock.
"""

MATCH = "cluster, leader_id, follower_id, client_id, correlation_id, session_id"
"""The key of one fetch in both logs. A session id of 0 is not unique, so such fetches match by time only."""

FETCHER = "cluster, node_id, follower_id, fetcher_id, destination_id, client_id, correlation_id"
"""The key of one request of a fetcher. After a restart the fetcher counts from 0 again."""

SERVED = f"""
    SELECT
        cluster, broker_id AS leader_id, follower_id, client_id, correlation_id,
        coalesce(response_session_id, 0) AS session_id, position, kind, connection,
        epoch_us(logged_at) AS logged_us, logged_mono_ns, clock_resolution_ms, total_ms, remote_ms, send_ms
    FROM requests
    WHERE kind IN ('follower', 'consumer', 'raft', 'share') AND {IS_OTHERS}
        -- A KRaft node without a known leader fetches from itself, which is no traffic between two nodes.
        AND follower_id IS DISTINCT FROM broker_id
"""
"""The FETCH and SHARE_FETCH requests of the log, without own traffic; re-sent lines are still there."""

_LINES = """
    SELECT
        cluster, node_id, follower_id, fetcher_id, destination_id, client_id, correlation_id, session_id,
        direction, position, epoch_us(logged_at) AS logged_us, logged_mono_ns, clock_resolution_ms
    FROM client_events
    WHERE api = 'FETCH' AND follower_id IS NOT NULL AND logged_at IS NOT NULL
"""

# In a log with milliseconds both lines can have the same instant; the request is first.
_IN_ORDER = f"PARTITION BY {FETCHER} ORDER BY logged_us, logged_mono_ns, direction DESC, position"

# Both lines have the same clock: monotonic nanoseconds if both lines have them. A response belongs to the
# last preceding request with its key, so a restarted fetcher never matches requests before its restart. A
# reboot resets the monotonic clock; the wall clock shows that the lines are from two runs.
_ELAPSED = f"""
    SELECT
        cluster, destination_id AS leader_id, follower_id, client_id, correlation_id,
        coalesce(session_id, 0) AS session_id, position, logged_us AS received_us,
        coalesce((logged_mono_ns - sent_mono_ns) / 1e6, (logged_us - sent_us) / 1e3) AS elapsed_ms,
        CASE WHEN logged_mono_ns - sent_mono_ns IS NOT NULL THEN {MONO_RESOLUTION_MS}
            ELSE greatest(clock_resolution_ms, sent_resolution_ms) END AS elapsed_resolution_ms
    FROM (
        SELECT
            *, lag(direction) OVER before AS sent, lag(logged_us) OVER before AS sent_us,
            lag(logged_mono_ns) OVER before AS sent_mono_ns,
            lag(clock_resolution_ms) OVER before AS sent_resolution_ms
        FROM lines WINDOW before AS ({_IN_ORDER})
    )
    WHERE direction = 'received' AND sent = 'sent' AND logged_us - sent_us <= {MAX_ELAPSED_S} * 1000000
        AND elapsed_ms BETWEEN 0 AND {MAX_ELAPSED_S} * 1000
"""


def fetches(skew_s: int = NEAR_S) -> str:
    """
    Return the query of each FETCH and SHARE_FETCH once, with `elapsed_ms` at the follower.

    `elapsed_ms` is NULL without the follower's log, and for consumers.
    It reads `requests` (`REQUESTS_COLUMNS`) and `client_events` (`CLIENT_EVENTS_COLUMNS`). Re-sent lines and
    Plumbline's own traffic are left out. `is_ambiguous` marks follower fetches whose key also fits a fetch
    close in time; their `elapsed_ms` is NULL. It is NULL too if the follower's clock stepped back. Within a
    session, lines up to `skew_s` apart match. A stream reads only a few windows, so it must use `NEAR_S`.
    `window_s` is the start of the window in epoch seconds.
    """
    # Both sides mark twins, so at most one response is near enough and the join adds no rows.
    return f"""
        WITH served AS ({_once(SERVED, f"PARTITION BY {MATCH} ORDER BY logged_us, position")}),
        lines AS ({_once(_LINES, _IN_ORDER)}),
        elapsed AS ({_ELAPSED}),
        asked AS ({_with_twin("served", "logged_us", skew_s)}),
        answers AS (SELECT * FROM ({_with_twin("elapsed", "received_us", skew_s)}) WHERE NOT is_twin)
        SELECT
            asked.cluster, logged_us // {WINDOW_S * 1_000_000} * {WINDOW_S} AS window_s, logged_us,
            logged_mono_ns, clock_resolution_ms, asked.leader_id, kind, asked.follower_id, asked.client_id,
            asked.correlation_id, connection, total_ms, remote_ms, send_ms,
            CASE WHEN elapsed_ms - (total_ms - send_ms) < {SHORTEST_MS} THEN NULL ELSE elapsed_ms END
                AS elapsed_ms,
            elapsed_resolution_ms, received_us, asked.is_twin AND kind = 'follower' AS is_ambiguous
        FROM asked LEFT JOIN answers ON
            {" AND ".join(f"asked.{name} = answers.{name}" for name in MATCH.split(", "))}
            AND abs(received_us - logged_us) <= {_near_us("asked.session_id", skew_s)} AND NOT asked.is_twin
    """


def rows_of(inputs: Inputs, requests_reach: Reach | None = None) -> dict[str, Rows]:
    """Return the rows that `fetches` reads, by name."""
    is_replica = f"({is_follower(inputs)}) OR ({is_raft(inputs)})"
    counts = f"coalesce(kind NOT IN ('follower', 'raft'), true) OR {is_replica}"
    return {
        "requests": inputs.rows(REQUESTS, REQUESTS_COLUMNS, requests_reach, where=counts),
        "client_events": inputs.rows(CLIENT_EVENTS, CLIENT_EVENTS_COLUMNS),
    }


def skew_of(inputs: Inputs) -> int:
    """Return the tolerance for these inputs in seconds."""
    return ANY_SKEW_S if inputs.spans is None else NEAR_S


def _once(rows: str, order: str) -> str:
    """Remove re-sent lines: rows with the same position, which are neighbours in any order of columns."""
    return f"{rows} QUALIFY position IS NULL OR position IS DISTINCT FROM lag(position) OVER ({order})"


def _with_twin(rows: str, at_us: str, skew_s: int) -> str:
    """Add `is_twin`: another row with the same key is so near that a line could belong to either."""
    order = f"OVER (PARTITION BY {MATCH} ORDER BY {at_us}, position)"
    near_us = _near_us("session_id", skew_s, times=2)
    before, after = f"{at_us} - lag({at_us}) {order}", f"lead({at_us}) {order} - {at_us}"
    is_twin = f"coalesce(greatest({before} <= {near_us}, {after} <= {near_us}), false)"
    return f"SELECT *, {is_twin} AS is_twin FROM {rows}"


def _near_us(session_id: str, skew_s: int, *, times: int = 1) -> str:
    """Return the maximum distance of matching lines. Without a session only time separates equal ids."""
    near_us, skew_us = (times * seconds * 1_000_000 for seconds in (NEAR_S, skew_s))
    return f"(CASE WHEN {session_id} = 0 THEN {near_us} ELSE {skew_us} END)"
