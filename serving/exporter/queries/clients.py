"""What is served of clients, throttles and moves. What has nothing to measure is NaN, a count of it 0."""

CLIENTS = (
    """
SELECT moment, cluster, topic, bytes / getvariable('events_span_s') AS plumbline_topic_bytes_per_second,
       CASE WHEN is_enough THEN ratio END AS plumbline_topic_skew_ratio
FROM topics WHERE nth <= getvariable('topics')""",
    """
SELECT f.moment, f.cluster, coalesce(max(ratio), 'NaN') AS plumbline_worst_topic_skew_ratio
FROM fresh f LEFT JOIN topics t ON t.moment = f.moment AND t.cluster = f.cluster AND is_enough GROUP BY ALL""",
    """
SELECT moment, cluster, kinds.kind, count(redirect_ms) AS plumbline_leader_redirects,
       count(*) FILTER (event AND redirect_ms IS NULL) AS plumbline_leader_redirects_unfinished
FROM fresh JOIN (VALUES ('redirect'), ('disconnect')) AS kinds(kind) ON true
LEFT JOIN (SELECT moment, cluster, kind, redirect_ms, true AS event
           FROM events JOIN leader_redirect USING (cluster, window_start)) e USING (moment, cluster, kind)
GROUP BY ALL""",
    """
SELECT moment, cluster, kinds.kind, q::DOUBLE::VARCHAR AS quantile, coalesce(
       CASE q WHEN 1.0 THEN max(redirect_ms) ELSE quantile_disc(redirect_ms, 0.5) END / 1000, 'NaN')
       AS plumbline_leader_redirect_seconds
FROM fresh JOIN (VALUES ('redirect'), ('disconnect')) AS kinds(kind) ON true
JOIN (VALUES (0.5), (1.0)) AS asked(q) ON true
LEFT JOIN (SELECT moment, cluster, kind, redirect_ms
           FROM events JOIN leader_redirect USING (cluster, window_start)) e USING (moment, cluster, kind)
GROUP BY moment, cluster, kinds.kind, q""",
    """
SELECT f.moment, f.cluster, coalesce(sum(lookups), 0) / getvariable('events_span_s')
       AS plumbline_metadata_lookups_per_second,
       coalesce(sum(topics), 0) / getvariable('events_span_s') AS plumbline_metadata_topics_per_second,
       coalesce(sum(bytes), 0) / getvariable('events_span_s') AS plumbline_metadata_bytes_per_second
FROM fresh f LEFT JOIN askers a ON a.moment = f.moment AND a.cluster = f.cluster GROUP BY ALL""",
    """
SELECT moment, cluster, client, lookups / getvariable('events_span_s')
       AS plumbline_client_metadata_lookups_per_second,
       bytes / getvariable('events_span_s') AS plumbline_client_metadata_bytes_per_second,
       topics / nullif(lookups, 0) AS plumbline_client_metadata_topics_per_lookup
FROM askers WHERE nth <= getvariable('clients')""",
)

_THROTTLES = """
WITH cluster_busy AS (
    SELECT moment, cluster, max(busy_until) AS busy_until, max(moving_partitions IS NOT NULL) AS was_moved
    FROM fresh JOIN throttle_compliance t USING (cluster)
    WHERE t.window_start < until AND t.window_start >= until - getvariable('remember_s') GROUP BY ALL),
sums AS (
    SELECT moment, cluster, broker_id AS broker, direction,
           arg_max(limit_bytes_per_s, on_until) FILTER (on_until >= window_start + 10) AS bound,
           bool_or(is_listed AND on_until >= window_start + 10) AS is_listed, max(on_until) AS on_until,
           sum(throttled_bytes) AS throttled, sum(catching_up_bytes) AS catching_up,
           sum(unlisted_bytes) AS unlisted, sum(inbound_bytes) AS inbound,
           count(DISTINCT window_start) FILTER (moving_partitions > 0) AS moving_windows
    FROM spans JOIN throttle_compliance USING (cluster, window_start) GROUP BY ALL),
known AS (SELECT DISTINCT moment, cluster, broker, direction FROM seen JOIN fresh USING (moment, cluster),
          (VALUES ('leader'), ('follower')) AS directions(direction))
"""
"""The last span of each broker and direction: a rate is over all of it, so a young throttle reads low."""

THROTTLES = (
    _THROTTLES
    + """
SELECT moment, cluster, broker, direction, bound AS plumbline_throttle_limit_bytes_per_second,
       throttled / getvariable('span_s') AS plumbline_throttle_bytes_per_second,
       catching_up / getvariable('span_s') AS plumbline_throttle_catching_up_bytes_per_second,
       unlisted / getvariable('span_s') AS plumbline_throttle_unlisted_bytes_per_second
FROM sums""",
    _THROTTLES
    + """
, judged AS (
    SELECT k.*, coalesce(unlisted > bound AND catching_up < 0.5 * (catching_up + unlisted), false)
           OR (s.moment IS NOT NULL AND bound IS NULL AND coalesce(catching_up, 0) > 0) AS ineffective,
           coalesce(bound IS NOT NULL AND moving_windows * 10 >= getvariable('span_s')
                    AND catching_up <= inbound, false) AS stuck,
           coalesce(throttled > 1.25 * bound * getvariable('span_s'), false) AS over_limit,
           coalesce((bound IS NOT NULL OR is_listed) AND was_moved AND on_until - busy_until >= 25, false)
           AS left_over
    FROM known k LEFT JOIN sums s USING (moment, cluster, broker, direction)
    LEFT JOIN cluster_busy USING (moment, cluster))
SELECT moment, cluster, broker, direction, unnest([
       {'state': 'over_limit', 'plumbline_throttle_state': over_limit::INT},
       {'state': 'ineffective', 'plumbline_throttle_state': ineffective::INT},
       {'state': 'stuck', 'plumbline_throttle_state': stuck::INT},
       {'state': 'left_over', 'plumbline_throttle_state': left_over::INT}], recursive := true)
FROM judged""",
    """
WITH moves AS (
    SELECT moment, cluster, moved_at, source_id, destination_id, sum(bytes_moved) AS moved,
           arg_max({'n': bytes_to_go}, window_start).n AS to_go,
           arg_max({'n': ended_at}, window_start).n IS NULL
           AND NOT coalesce(bool_or(is_superseded), false) AS is_open
    FROM spans JOIN reassignment_progress USING (cluster, window_start) GROUP BY ALL)
SELECT f.moment, f.cluster, count(DISTINCT moved_at) FILTER (is_open) AS plumbline_reassignments,
       coalesce(sum(moved), 0) / getvariable('span_s') AS plumbline_reassignment_bytes_per_second,
       coalesce(sum(to_go) FILTER (is_open), 0) AS plumbline_reassignment_remaining_bytes
FROM fresh f LEFT JOIN moves m ON m.moment = f.moment AND m.cluster = f.cluster GROUP BY ALL""",
)
