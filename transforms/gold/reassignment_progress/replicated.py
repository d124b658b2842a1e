"""Follower fetches by partition, and the lag of followers, from the leaders' request logs, as SQL."""

from transforms.sql import window_s
from transforms.windows import WINDOW_S

CARRY_S = 60
"""The time for which the last known offset stays valid, because a fetch session repeats only changes."""

_CARRY_US = CARRY_S * 1_000_000


def replicated(entries: str) -> str:
    """
    Return the query of each partition of each follower's FETCH.

    `entries` is a table of the result of `entries.entries`, without other requests. `offset` and
    `high_watermark` are the last known values of up to `CARRY_S` before, because a session omits unchanged
    values. `is_catching_up` marks a fetch from below the high watermark, which no replica in the ISR sends;
    NULL if one of the two values is unknown. `records` are the offsets up to the next fetch offset; NULL if
    that is unknown.
    """
    in_order = "PARTITION BY cluster, follower_id, topic, partition ORDER BY logged_us"
    return f"""
        SELECT
            cluster, position, logged_us, follower_id, leader_id, topic, partition, bytes, asked AS "offset",
            watermark AS high_watermark, asked < watermark AS is_catching_up,
            CASE WHEN bytes > 0 AND following > asked THEN following - asked END AS records
        FROM (
            SELECT
                * REPLACE (coalesce(bytes, 0) AS bytes),
                coalesce("offset", last_value("offset" IGNORE NULLS) OVER lately) AS asked,
                coalesce(high_watermark, last_value(high_watermark IGNORE NULLS) OVER lately) AS watermark,
                first_value("offset" IGNORE NULLS) OVER later AS following
            FROM {entries} WHERE kind = 'follower'
            WINDOW
                lately AS ({in_order} RANGE BETWEEN {_CARRY_US} PRECEDING AND CURRENT ROW),
                later AS ({in_order} RANGE BETWEEN 1 FOLLOWING AND {_CARRY_US} FOLLOWING)
        )
    """


def replica_lags() -> str:
    """
    Return the query of each catching-up replica's lag at the end of each window: `lag_records`, `told_us`.

    `bytes` and `records` are those it fetched in the window while it caught up. `bytes_per_record` is that of
    the last `CARRY_S`. A replica that has not been seen catching up for this long has no row. It reads
    `fetched`, the result of `replicated`.
    """
    replica = "cluster, follower_id, topic, partition"
    return f"""
        WITH seen AS (
            SELECT
                {replica}, {window_s("logged_us")} AS seen_in_s,
                coalesce(bool_or(is_catching_up), false) AS is_held,
                coalesce(sum(bytes) FILTER (is_catching_up), 0) AS bytes,
                sum(bytes) FILTER (records IS NOT NULL) AS known_bytes, sum(records) AS records,
                max(logged_us) AS told_us, arg_max_null(leader_id, (logged_us, position)) AS leader_id,
                arg_max_null("offset", (logged_us, position)) AS asked,
                arg_max_null(high_watermark, (logged_us, position)) AS watermark
            FROM fetched SEMI JOIN (SELECT {replica} FROM fetched WHERE is_catching_up) USING ({replica})
            GROUP BY {replica}, seen_in_s
        )
        SELECT
            {replica}, seen_in_s + step_s AS window_s, arg_max_null(leader_id, seen_in_s) AS leader_id,
            max(told_us) AS told_us, sum(bytes) FILTER (step_s = 0) AS bytes,
            sum(records) FILTER (step_s = 0) AS records,
            CASE WHEN sum(records) > 0 THEN sum(known_bytes) / sum(records) END AS bytes_per_record,
            arg_max_null(watermark, seen_in_s) - arg_max_null(asked, seen_in_s) AS lag,
            CASE WHEN lag IS NOT NULL THEN greatest(lag, 0) END AS lag_records
        FROM seen, range(0, {CARRY_S + 1}, {WINDOW_S}) AS steps(step_s)
        GROUP BY {replica}, window_s HAVING bool_or(is_held)
    """
