"""
The clock offset of two brokers, from the replica fetches between them, as SQL.

The follower sends a fetch before the leader reads it, and receives the response after the leader begins to
send it. The two log lines of a fetch therefore give a lower and an upper bound of the offset. The bounds are
medians over many fetches, because a late line of a busy broker would dominate the narrowest bounds. Medians
are taken of each 10 s first, and then of all these around a window, because brokers exchange hundreds of
fetches per second. If 0 is between the bounds, there is no correction.
"""

from transforms.sql import window_s

PAIR = "cluster, from_id, to_id"

FETCHES_COLUMNS = "cluster, leader_id, follower_id, logged_us, received_us, total_ms, send_ms, elapsed_ms"
"""The columns of `fetches`: follower fetches with both lines, from `pairing.fetches`."""

BOUNDS = f"""
    WITH there AS (
        SELECT
            cluster, follower_id AS from_id, leader_id AS to_id, {window_s("logged_us")} AS seen_s,
            trunc(median(logged_us - round(send_ms * 1000)::BIGINT - received_us))::BIGINT AS low_us,
            trunc(median(
                logged_us - round(total_ms * 1000)::BIGINT - (received_us - round(elapsed_ms * 1000)::BIGINT)
            ))::BIGINT AS high_us
        FROM fetches GROUP BY ALL
    )
    FROM there UNION ALL SELECT cluster, to_id, from_id, seen_s, -high_us, -low_us FROM there
"""
"""The bounds of the clock of `to_id` minus that of `from_id` in each 10 s, for both directions of a pair."""


def clocks(windows: str, reach_s: int) -> str:
    """
    Return the query of `offset_us` in windows: how far the clock of `to_id` is ahead of that of `from_id`.

    `windows` is a query of `window_s`. The offset uses the `fetches` (`FETCHES_COLUMNS`) up to `reach_s`
    before and after the window. `clock_bound_ms` is its maximum error. A window without fetches has no row.
    """
    return f"""
        SELECT
            {PAIR}, window_s, {offset_us("low_us", "high_us")} AS offset_us,
            greatest(abs(offset_us - low_us), abs(high_us - offset_us)) / 1e3 AS clock_bound_ms
        FROM (
            SELECT {PAIR}, window_s, median(low_us) AS low_us, median(high_us) AS high_us
            FROM ({BOUNDS}) JOIN (SELECT DISTINCT window_s FROM ({windows}))
                ON abs(seen_s - window_s) <= {reach_s}
            GROUP BY ALL
        )
    """


def offset_us(low: str, high: str) -> str:
    """
    Return the smallest correction that the bounds allow.

    >>> import duckdb
    >>> rows = "VALUES (-300, 200), (400, 900), (-90, -40), (20, 10)"
    >>> duckdb.sql(f"SELECT list({offset_us('low', 'high')}) FROM ({rows}) AS t(low, high)").fetchall()
    [([0, 400, -40, 15],)]
    """
    nearest = f"greatest({low}, least(0, {high}))"
    return f"trunc(CASE WHEN {low} > {high} THEN ({low} + {high}) / 2 ELSE {nearest} END)::BIGINT"
