"""A5 and A6 out of gold: clients that lost their leader, and what metadata lookups cost."""

from collections.abc import Sequence

from dashboards.asked import DashboardRequest
from dashboards.queries.links import IN_SPAN, OF_CLIENT
from schemas.rows import Row

MIN_FOR_P99 = 100
MIN_POINTS, MIN_TOPICS = 5, 16

_EVENTS = f"""
    SELECT * FROM gold.leader_redirect
    WHERE {IN_SPAN} AND {OF_CLIENT} AND ($topic::VARCHAR IS NULL OR topic = $topic)
      AND ($broker::INTEGER IS NULL OR old_leader_id = $broker OR new_leader_id = $broker)
    ORDER BY errored_at, topic, partition, client_id"""
_MOVED = "FILTER (kind IS DISTINCT FROM 'disconnect')"
_DIED = "FILTER (kind = 'disconnect')"
_REDIRECTS = f"""
    SELECT cluster, api, software_version, count(redirect_ms) {_MOVED} AS n,
           count(*) {_MOVED} - count(redirect_ms) {_MOVED} AS unfinished,
           median(redirect_ms) {_MOVED} AS redirect_p50_ms,
           CASE WHEN count(redirect_ms) {_MOVED} >= {MIN_FOR_P99}
                THEN quantile_cont(redirect_ms, 0.99) {_MOVED} END AS redirect_p99_ms,
           max(redirect_ms) {_MOVED} AS redirect_max_ms,
           median(client_part_ms) {_MOVED} AS client_part_p50_ms,
           median(broker_part_ms) {_MOVED} AS broker_part_p50_ms,
           avg(hinted::INTEGER) {_MOVED} AS hinted_share,
           sum(errors_at_old_leader) {_MOVED}::BIGINT AS wasted_requests,
           count(*) {_DIED} AS disconnects,
           median(redirect_ms) {_DIED} AS disconnect_p50_ms, max(redirect_ms) {_DIED} AS disconnect_max_ms
    FROM ({_EVENTS}) GROUP BY ALL ORDER BY api, software_version"""

_CLIENT = "client_id, software_version, run"
_PICKED = f"""
    SELECT * REPLACE (coalesce(software_version, '') AS software_version, coalesce(run, '') AS run)
    FROM gold.metadata_lookup WHERE {IN_SPAN} AND {OF_CLIENT}"""
_LOOKUPS = f"""
    WITH picked AS ({_PICKED}),
    asked_first AS (
        SELECT {_CLIENT}, topic, min(window_start) AS window_start
        FROM (SELECT {_CLIENT}, window_start, unnest(topics) AS topic FROM picked) GROUP BY ALL
    ),
    first AS (SELECT {_CLIENT}, window_start, count(*) AS new FROM asked_first GROUP BY ALL),
    points AS (
        SELECT {_CLIENT}, new, sum(new) OVER so_far AS x, sum(topics_asked) OVER so_far AS y
        FROM picked LEFT JOIN first USING (client_id, software_version, run, window_start)
        WINDOW so_far AS (PARTITION BY {_CLIENT} ORDER BY window_start ROWS UNBOUNDED PRECEDING)
    ),
    growth AS (
        SELECT {_CLIENT}, CASE WHEN count(*) >= {MIN_POINTS} AND max(x) >= {MIN_TOPICS}
                               THEN regr_slope(ln(y), ln(x)) END AS growth_exponent
        FROM points WHERE new > 0 AND x > 1 AND y > 0 GROUP BY ALL
    ),
    sums AS (
        SELECT {_CLIENT}, max(arm) AS arm, sum(lookups)::BIGINT AS lookups,
               sum(all_topics_lookups)::BIGINT AS all_topics_lookups,
               sum(topics_asked)::BIGINT AS topics_asked, max(topics_asked_most) AS topics_asked_most,
               sum(response_bytes)::BIGINT AS response_bytes,
               sum(lookups_after_error)::BIGINT AS lookups_after_error
        FROM picked GROUP BY ALL
    ),
    new AS (SELECT {_CLIENT}, sum(new)::BIGINT AS new_topics FROM first GROUP BY ALL)
    SELECT sums.* REPLACE (
               nullif(sums.software_version, '') AS software_version, nullif(sums.run, '') AS run),
           coalesce(new_topics, 0) AS new_topics, growth_exponent,
           ratio(topics_asked, lookups - all_topics_lookups) AS topics_per_lookup,
           ratio(1000 * response_bytes, new_topics) AS bytes_per_1000_new_topics
    FROM sums LEFT JOIN new USING (client_id, software_version, run)
    LEFT JOIN growth USING (client_id, software_version, run)
    ORDER BY client_id, software_version, run"""
_LOOKUP_STEPS = f"""
    SELECT {_CLIENT}, max(arm) AS arm, time_bucket(to_seconds($step_s), window_start) AS window_start,
           sum(lookups)::BIGINT AS lookups, sum(all_topics_lookups)::BIGINT AS all_topics_lookups,
           sum(topics_asked)::BIGINT AS topics_asked
    FROM gold.metadata_lookup WHERE {IN_SPAN} AND {OF_CLIENT}
    GROUP BY {_CLIENT}, time_bucket(to_seconds($step_s), window_start) ORDER BY window_start"""
_TOPICS = f"""
    SELECT {_CLIENT}, topics FROM gold.metadata_lookup
    WHERE {IN_SPAN} AND {OF_CLIENT} AND len(topics) > 0 ORDER BY window_start"""


def redirects(asked: DashboardRequest) -> list[Row]:
    """List the events of lost leaders."""
    return asked.rows(_EVENTS)


def redirects_by_version(asked: DashboardRequest) -> list[Row]:
    """Add the events up by API and client version, those of dead leaders apart."""
    return asked.rows(_REDIRECTS)


def lookups(asked: DashboardRequest) -> list[Row]:
    """Tell what lookups cost each client over the span, and how that grows with its topics."""
    evicted = _evicted(asked.rows(_TOPICS))
    return [{**row, "evicted_topics": evicted.get(_who(row), 0)} for row in asked.rows(_LOOKUPS)]


def lookups_over_time(asked: DashboardRequest) -> list[Row]:
    """Give each client's lookups step by step."""
    return asked.rows(_LOOKUP_STEPS)


def _evicted(windows: Sequence[Row]) -> dict[tuple[str | None, ...], int]:
    """Count the topics that a refresh left out; one that asks for unknown topics alone is no refresh."""
    remembered: dict[tuple[str | None, ...], set[int]] = {}
    evicted: dict[tuple[str | None, ...], int] = {}
    for row in windows:
        before, topics = remembered.get(_who(row), set()), set(row["topics"])
        is_refresh = bool(before & topics)
        evicted[_who(row)] = evicted.get(_who(row), 0) + (len(before - topics) if is_refresh else 0)
        remembered[_who(row)] = topics if is_refresh else before | topics
    return evicted


def _who(row: Row) -> tuple[str | None, ...]:
    return row["client_id"], row["software_version"], row["run"]
