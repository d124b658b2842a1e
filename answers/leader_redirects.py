"""A5: clients that lost their leader, one by one and by client version (KIP-951)."""

from answers.selection import IN_SPAN, OF_CLIENT, OF_TOPIC, GoldSelection
from schemas.gold.leader_redirect import DISCONNECT
from schemas.rows import Row

MIN_FOR_P99 = 100
"""The minimum number of events for a p99. With fewer events the p99 is the maximum."""

EVENTS = f"""
    SELECT * FROM gold.leader_redirect
    WHERE {IN_SPAN} AND {OF_CLIENT} AND {OF_TOPIC}
      AND ($broker::INTEGER IS NULL OR old_leader_id = $broker OR new_leader_id = $broker)
    ORDER BY errored_at, topic, partition, client_id"""
_MOVED = f"FILTER (kind IS DISTINCT FROM '{DISCONNECT}')"
_DIED = f"FILTER (kind = '{DISCONNECT}')"
BY_VERSION = f"""
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
           count(redirect_ms) {_DIED} AS disconnects,
           median(redirect_ms) {_DIED} AS disconnect_p50_ms, max(redirect_ms) {_DIED} AS disconnect_max_ms
    FROM ({EVENTS}) GROUP BY ALL ORDER BY api, software_version"""


def events(selection: GoldSelection) -> list[Row]:
    """Return one row per client, partition and lost leader."""
    return selection.rows(EVENTS)


def by_version(selection: GoldSelection) -> list[Row]:
    """Return `leader_redirect_summary`: one row per API and client version, disconnects separate."""
    return selection.rows(BY_VERSION)
