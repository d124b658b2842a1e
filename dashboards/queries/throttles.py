"""A4 out of gold: what passed under each throttle, and how far moves of replicas are."""

from dashboards.asked import DashboardRequest
from dashboards.queries.links import IN_SPAN
from schemas.rows import Row

QUOTA_WINDOW_S = 11
"""What Kafka's own quota looks at."""

_PICKED = f"""
    SELECT * FROM gold.throttle_compliance
    WHERE {IN_SPAN} AND ($broker::INTEGER IS NULL OR broker_id = $broker)"""
_LIMIT = "broker_id, direction, limited_from, limit_bytes_per_s"
_LIMITS = f"""
    WITH picked AS ({_PICKED}),
    seconds AS (
        SELECT broker_id, direction, limited_from, epoch(window_start) + nth - 1 AS second,
               throttled_by_s[nth] AS throttled
        FROM (SELECT *, unnest(range(1, len(throttled_by_s) + 1)) AS nth FROM picked)
    ),
    sliding AS (
        SELECT broker_id, direction, limited_from, sum(throttled) OVER (
                   PARTITION BY broker_id, direction, limited_from ORDER BY second
                   RANGE BETWEEN {QUOTA_WINDOW_S - 1} PRECEDING AND CURRENT ROW) AS in_window
        FROM seconds
    ),
    best AS (
        SELECT broker_id, direction, limited_from,
               max(in_window) / {QUOTA_WINDOW_S} AS best_window_bytes_per_s
        FROM sliding GROUP BY ALL
    ),
    sums AS (
        SELECT {_LIMIT}, min(window_start) AS since, max(window_start) + INTERVAL 10 SECOND AS until,
               bool_or(is_listed) AS is_listed, sum(throttled_bytes)::BIGINT AS throttled_bytes,
               sum(catching_up_bytes)::BIGINT AS catching_up_bytes,
               sum(in_sync_bytes)::BIGINT AS in_sync_bytes, sum(unlisted_bytes)::BIGINT AS unlisted_bytes,
               arg_max(lag_records, window_start) AS lag_records
        FROM picked GROUP BY ALL
    )
    SELECT sums.*, best_window_bytes_per_s, ratio(best_window_bytes_per_s, limit_bytes_per_s) AS of_limit
    FROM sums LEFT JOIN best ON sums.broker_id = best.broker_id AND sums.direction = best.direction
         AND sums.limited_from IS NOT DISTINCT FROM best.limited_from
    ORDER BY since, sums.broker_id, sums.direction"""
_TRAFFIC = f"""
    SELECT broker_id, direction, time_bucket(to_seconds($step_s), picked.window_start) AS window_start,
           sum(throttled_bytes) / (10 * count(DISTINCT picked.window_start)) AS throttled_bytes_per_s,
           max(limit_bytes_per_s) AS limit_bytes_per_s
    FROM ({_PICKED}) AS picked
    GROUP BY broker_id, direction, time_bucket(to_seconds($step_s), picked.window_start)
    ORDER BY broker_id, direction, 3"""
_MOVES = f"""
    WITH picked AS (
        SELECT * FROM gold.reassignment_progress
        WHERE {IN_SPAN}
          AND ($broker::INTEGER IS NULL OR source_id = $broker OR destination_id = $broker)
    ),
    last AS (
        SELECT moved_at, source_id, destination_id, max(moved_by) AS moved_by, max(partitions) AS partitions,
               arg_max(partitions_done, window_start) AS partitions_done,
               sum(bytes_moved)::BIGINT AS bytes_moved,
               arg_max(bytes_to_go, window_start) AS bytes_to_go, max(ended_at) AS ended_at,
               bool_or(is_superseded) AS is_superseded, min(window_start) AS since,
               max(window_start) + INTERVAL 10 SECOND AS until
        FROM picked GROUP BY ALL
    )
    SELECT moved_at, max(moved_by) AS moved_by, max(partitions) AS partitions,
           max(partitions_done) AS partitions_done, count(DISTINCT destination_id) AS destinations,
           sum(bytes_moved)::BIGINT AS bytes_moved, sum(bytes_to_go) AS bytes_to_go,
           ratio(sum(bytes_moved), epoch(max(until)) - epoch(min(since))) AS rate_bytes_per_s,
           CASE WHEN bool_or(coalesce(is_superseded, false)) THEN 'superseded'
                WHEN count(ended_at) = count(*) THEN 'done' ELSE 'under_way' END AS state,
           CASE WHEN count(ended_at) = count(*) THEN max(ended_at) END AS ended_at,
           max(until) AS until
    FROM last GROUP BY moved_at ORDER BY moved_at"""


def limits(asked: DashboardRequest) -> list[Row]:
    """Tell of each broker, direction and limit what passed: its most in any 11 s, beside the limit."""
    return asked.rows(_LIMITS)


def traffic(asked: DashboardRequest) -> list[Row]:
    """Give the throttled bytes a second of each broker and direction, step by step."""
    return asked.rows(_TRAFFIC)


def moves(asked: DashboardRequest) -> list[Row]:
    """Tell of each move how far it is."""
    return asked.rows(_MOVES)
