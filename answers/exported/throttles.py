"""Whether throttles hold, by the rules of `answers.throttles.verdict`, and how moves proceed."""

from answers.exported.declared import ExportedQuestion, exported
from answers.throttles import verdict
from answers.throttles.limits import stretches

HOLDS = {
    verdict.INEFFECTIVE: f"""
        (unlisted > {verdict.UNLISTED_S} * bound
         AND catching_up < {verdict.LISTED_SHARE} * (catching_up + unlisted))
        OR (bound IS NULL AND catching_up > 0)""",
    verdict.STUCK: f"""
        bound IS NOT NULL AND catching_up <= coalesce(inbound, 0)
        AND moving_windows >= greatest(getvariable('span_s') / 10, {verdict.STUCK_WINDOWS})""",
    verdict.OVER_LIMIT: f"""
        rate > (1 + {verdict.MEAN_TOLERANCE}) * bound OR best > (1 + {verdict.WINDOW_TOLERANCE}) * bound""",
    verdict.LEFT_OVER: f"""
        (bound IS NOT NULL OR is_listed) AND was_moved AND on_until - busy_until >= {verdict.LEFT_OVER_S}""",
}
"""The conditions of the states that are served, over the newest span of a broker and direction."""

STATES = tuple(name for name, _ in verdict.RULES if name in HOLDS)
"""The states; the first that holds is served."""

# `stretches` takes the span of each moment for a cluster of its own.
_ROWS = """
SELECT t.* REPLACE (
    {'moment': moment, 'cluster': cluster} AS cluster, to_timestamp(window_start) AS window_start,
    to_timestamp(on_from) AS on_from, to_timestamp(on_until) AS on_until,
    to_timestamp(busy_until) AS busy_until)
FROM spans JOIN latest.throttle_compliance t USING (cluster, window_start)"""

QUESTION = ExportedQuestion(
    prepared={
        # Rates are over the whole span, so a young throttle has a low rate.
        "throttles": """
SELECT *, in_force.bytes_per_s AS bound
FROM (SELECT moment, cluster, broker_id AS broker, direction,
             arg_max({'bytes_per_s': limit_bytes_per_s, 'since': limited_from}, on_until)
                 FILTER (on_until >= window_start + 10 AND limit_bytes_per_s IS NOT NULL) AS in_force,
             bool_or(is_listed AND on_until >= window_start + 10) AS is_listed, max(on_until) AS on_until,
             sum(throttled_bytes) AS throttled, sum(catching_up_bytes) AS catching_up,
             sum(unlisted_bytes) AS unlisted, sum(inbound_bytes) AS inbound,
             count(DISTINCT window_start) FILTER (moving_partitions > 0) AS moving_windows
      FROM spans JOIN latest.throttle_compliance USING (cluster, window_start) GROUP BY ALL)""",
        # Quota periods are consecutive (`answers.throttles.periods`): their mean is that of all seconds from
        # the end of the first period to the end of the last one.
        "throttle_rates": f"""
WITH copies AS (
    SELECT *, list_filter(seconds, lambda second, nth: is_copy[nth]) AS instants FROM ({stretches(_ROWS)})),
periods AS (
    SELECT *, list_filter(instants,
                  lambda second: second >= instants[1] + {verdict.QUOTA_WINDOW_S})[1] AS since,
           list_reduce(instants, lambda begin, second: CASE
               WHEN second >= begin + {verdict.QUOTA_WINDOW_S} THEN second ELSE begin END) AS until
    FROM copies)
SELECT cluster.moment AS moment, cluster.cluster AS cluster, broker_id AS broker, direction, limited_from,
       max(best) AS best, sum(list_sum(list_filter(throttled, lambda bytes, nth:
           seconds[nth] >= since AND seconds[nth] < until))) / nullif(sum(until - since), 0) AS rate
FROM periods GROUP BY ALL""",
        "busy": """
SELECT moment, cluster, max(busy_until) AS busy_until, max(moving_partitions IS NOT NULL) AS was_moved
FROM fresh JOIN remembered.throttle_compliance t USING (cluster)
WHERE t.window_start < until AND t.window_start >= until - getvariable('remember_s') GROUP BY ALL""",
    },
    exported=(
        exported("""
-- cluster broker direction
-- throttle_limit_bytes_per_second | throttle_compliance.limit_bytes_per_s | Limit in force.
-- throttle_bytes_per_second | throttle_compliance.throttled_bytes | What the quota counts.
-- throttle_catching_up_bytes_per_second | throttle_compliance.catching_up_bytes | What it delays.
-- throttle_unlisted_bytes_per_second | throttle_compliance.unlisted_bytes | Unlisted bytes.
SELECT moment, cluster, broker, direction, bound AS plumbline_throttle_limit_bytes_per_second,
       throttled / getvariable('span_s') AS plumbline_throttle_bytes_per_second,
       catching_up / getvariable('span_s') AS plumbline_throttle_catching_up_bytes_per_second,
       unlisted / getvariable('span_s') AS plumbline_throttle_unlisted_bytes_per_second
FROM throttles"""),
        exported(f"""
-- cluster broker direction state
-- throttle_state | throttle_compliance.throttled_bytes | 1: the state, of {", ".join(STATES)}.
WITH known AS (
    SELECT DISTINCT moment, cluster, broker, direction
    FROM seen JOIN fresh USING (moment, cluster), (SELECT unnest(['leader', 'follower']) AS direction)),
judged AS (
    SELECT k.*, CASE {" ".join(f"WHEN {HOLDS[name]} THEN '{name}'" for name in STATES)} END AS first_state
    FROM known k LEFT JOIN throttles t USING (moment, cluster, broker, direction)
    LEFT JOIN throttle_rates r ON r.moment = k.moment AND r.cluster = k.cluster AND r.broker = k.broker
        AND r.direction = k.direction AND r.limited_from IS NOT DISTINCT FROM in_force.since
    LEFT JOIN busy ON busy.moment = k.moment AND busy.cluster = k.cluster)
SELECT moment, cluster, broker, direction, state,
       coalesce(first_state = state, false)::INT AS plumbline_throttle_state
FROM judged, (SELECT unnest({list(STATES)}) AS state)"""),
        exported("""
-- cluster
-- reassignments | reassignment_progress.ended_at | Unfinished moves of replicas.
-- reassignment_bytes_per_second | reassignment_progress.bytes_moved | Moved.
-- reassignment_remaining_bytes | reassignment_progress.bytes_to_go | Bytes to go.
WITH moves AS (
    SELECT moment, cluster, moved_at, source_id, destination_id, sum(bytes_moved) AS moved,
           arg_max({'n': bytes_to_go}, window_start).n AS to_go,
           arg_max({'n': ended_at}, window_start).n IS NULL
           AND NOT coalesce(bool_or(is_superseded), false) AS is_open
    FROM spans JOIN latest.reassignment_progress USING (cluster, window_start) GROUP BY ALL)
SELECT moment, cluster, count(DISTINCT moved_at) FILTER (is_open) AS plumbline_reassignments,
       coalesce(sum(moved), 0) / getvariable('span_s') AS plumbline_reassignment_bytes_per_second,
       coalesce(sum(to_go) FILTER (is_open), 0) AS plumbline_reassignment_remaining_bytes
FROM fresh LEFT JOIN moves USING (moment, cluster) GROUP BY ALL"""),
    ),
    alerts={"PlumblineThrottle": "plumbline_throttle_state == 1"},
)
