"""The requests behind a cell: a follower's fetches in the leader's log, beside what it saw of them."""

from datetime import datetime, timedelta

import duckdb

from dashboards.asked import DashboardRequest
from schemas.rows import Row

LONGEST = timedelta(hours=1)
"""Of silver no more is read for one look."""

NEAR_S = 5
"""Correlation ids begin anew with each fetcher: an answer so far from the leader's line is another one's."""

MOST = 50

_JOINED = f"""
    WITH timed AS (
        SELECT got.client_id, got.correlation_id, got.logged_at AS received_at,
               coalesce((got.logged_mono_ns - asked.logged_mono_ns) / 1e6,
                        (epoch_us(got.logged_at) - epoch_us(asked.logged_at)) / 1e3) AS elapsed_ms
        FROM (SELECT * FROM seen WHERE cluster = $cluster AND direction = 'received') got
        ASOF JOIN (SELECT * FROM seen WHERE cluster = $cluster AND direction = 'sent') asked
             ON got.client_id = asked.client_id AND got.correlation_id = asked.correlation_id
             AND got.logged_at >= asked.logged_at
    )
    SELECT served.*, elapsed_ms, elapsed_ms - remote_ms AS true_ms
    FROM served LEFT JOIN timed ON served.client_id = timed.client_id
         AND served.correlation_id = timed.correlation_id
         AND abs(epoch(received_at) - epoch(served.logged_at)) <= {NEAR_S}
    WHERE served.cluster = $cluster
    QUALIFY row_number() OVER (PARTITION BY position
            ORDER BY abs(epoch(received_at) - epoch(served.logged_at))) = 1
    ORDER BY coalesce(true_ms, leader_local_ms) DESC, logged_at LIMIT {MOST}"""


def slowest(asked: DashboardRequest, pair: tuple[int, int], span: tuple[datetime, datetime]) -> list[Row]:
    """List a pair's slowest fetches of a span, by true latency where the follower's log is there."""
    follower, leader = pair
    since, until = max(span[0], span[1] - LONGEST), span[1]
    served = asked.warehouse.fetches(since, until, leader, follower)
    seen = asked.warehouse.events(since, until, leader, follower)
    if served is None or seen is None:
        return []
    with duckdb.connect(":memory:") as duck:
        duck.execute("SET TimeZone = 'UTC'")
        duck.register("served", served)
        duck.register("seen", seen)
        found = duck.sql(_JOINED, params={"cluster": asked.cluster})
        rows: list[Row] = found.to_arrow_table().to_pylist()
        return rows
