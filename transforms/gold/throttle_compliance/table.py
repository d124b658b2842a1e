"""Measure replication under a throttle, by window, broker and direction (analysis A4), as SQL."""

from transforms.gold.throttle_compliance.limits import during
from transforms.gold.throttle_compliance.settings import settings_on
from transforms.sql import window_s
from transforms.throttle_configs import DIRECTIONS
from transforms.windows import WINDOW_S

FROM_LOG = (
    *("throttled_bytes", "catching_up_bytes", "in_sync_bytes", "unlisted_bytes", "answers", "inbound_bytes"),
)
"""Sums from the request log: 0 for a window with a log but no such traffic, NULL without a log."""

SUMS = (
    *("moving_partitions", "lagging_replicas", "lag_records", "bean_sum_bytes_per_s", "bean_n"),
    *("reassignment_bytes", "replication_bytes", "counter_s"),
)
LARGEST = ("largest_answer_bytes", "bean_max_bytes_per_s", "on_until_us", "busy_until_us")

_KEY = "cluster, window_s, broker_id, direction, limited_from_us, limit_bytes_per_s"
_LAST_US = f"((window_s + {WINDOW_S}) * 1000000 - 1)"


def throttle_compliance() -> str:
    """
    Return the query of each window, broker, direction and limit: traffic, lists, moves, beans, counters.

    It reads `covered`, `fetched`, `listed`, `lags`, `copies`, `inbound`, `in_force`, `brokers` and `events`.
    """
    queries = (_traffic(), _lags(), _under_way(), _inbound(), settings_on(), "FROM events")
    rows = " UNION ALL BY NAME ".join(f"({query})" for query in queries)
    in_log = (f"CASE WHEN is_logged THEN coalesce(sum({name}), 0) END AS {name}" for name in FROM_LOG)
    sums = (f"sum({name}) AS {name}" for name in SUMS)
    largest = (f"max({name}) AS {name}" for name in LARGEST)
    by_s = (f"{_by_second(name)} AS {name}_by_s" for name in ("throttled", "catching_up"))
    # A list that is `*` names every broker, including brokers without a limit. Every broker has beans, so
    # they make no row.
    return f"""
        WITH measured AS (
            SELECT event.*, limited_from_us, limit_bytes_per_s, {window_s("at_us")} AS window_s
            FROM ({rows}) AS event LEFT JOIN in_force ON in_force.cluster = event.cluster
                AND in_force.broker_id = event.broker_id AND in_force.direction = event.direction
                AND {during("at_us", "limited_from_us", "limited_until_us")}
            WHERE NOT (coalesce(is_wildcard, false) AND limited_from_us IS NULL)
        )
        SELECT
            {_KEY}, {", ".join((*in_log, *sums, *largest, *by_s))}, min(on_from_us) AS on_from_us,
            coalesce(bool_or(is_listed), false) AS is_listed,
            coalesce(list_sort(list(DISTINCT peer_id) FILTER (peer_id IS NOT NULL)), []) AS peers
        FROM measured JOIN covered USING (cluster, window_s) GROUP BY {_KEY}, is_logged
        HAVING limited_from_us IS NOT NULL OR bool_or(is_listed) OR sum(moving_partitions) > 0
    """


def _by_second(name: str) -> str:
    """Return one sum of bytes per second of the window, 0 where a second has none."""
    at_s = f"at_us // 1000000 % {WINDOW_S}"
    sums = (f"coalesce(sum({name}_bytes) FILTER ({at_s} = {second}), 0)" for second in range(WINDOW_S))
    return f"CASE WHEN is_logged THEN [{', '.join(sums)}] END"


def _traffic() -> str:
    """Return the bytes of each answer for its leader and for its follower, split by the lists."""
    fetched = f"SELECT *, {window_s('logged_us')} AS window_s FROM fetched WHERE bytes > 0"
    ends = _by_direction(
        f"({fetched}) SEMI JOIN covered USING (cluster, window_s)", "leader_id", "follower_id"
    )
    columns = ("cluster", "topic", "direction")
    is_same = " AND ".join(f"all_of.{name} = answer.{name}" for name in columns)
    is_during = during("logged_us", "all_of.listed_from_us", "all_of.listed_until_us")
    on_list = f"{is_same} AND {is_during}"
    on_replica = f"""{on_list} AND all_of.listed_partition = answer.partition
        AND all_of.listed_broker = answer.broker_id""".replace("all_of.", "replica.")
    return f"""
        SELECT
            * EXCLUDE (peer_id, position), CASE WHEN throttled_bytes > 0 THEN peer_id END AS peer_id,
            CASE WHEN coalesce(catching_up_bytes, 0) + coalesce(unlisted_bytes, 0) > 0 THEN at_us END
                AS busy_until_us,
            CASE WHEN throttled_bytes > 0 THEN 1 END AS answers, throttled_bytes AS largest_answer_bytes
        FROM (
            SELECT
                cluster, broker_id, direction, peer_id, position, logged_us AS at_us,
                sum(bytes) FILTER (is_on) AS throttled_bytes,
                sum(bytes) FILTER (is_on AND is_catching_up) AS catching_up_bytes,
                sum(bytes) FILTER (is_on AND NOT is_catching_up) AS in_sync_bytes,
                sum(bytes) FILTER (NOT is_on AND is_catching_up) AS unlisted_bytes
            FROM (
                SELECT answer.*, coalesce(replica.listed_from_us, all_of.listed_from_us) IS NOT NULL AS is_on
                FROM ({ends}) AS answer LEFT JOIN listed AS replica ON {on_replica}
                LEFT JOIN (FROM listed WHERE listed_broker IS NULL) AS all_of ON {on_list}
            ) GROUP BY cluster, broker_id, direction, peer_id, position, logged_us
        ) WHERE throttled_bytes IS NOT NULL OR unlisted_bytes IS NOT NULL
    """


def _lags() -> str:
    ends = _by_direction("lags", "leader_id", "follower_id")
    return f"""
        SELECT cluster, broker_id, direction, {_LAST_US} AS at_us, 1 AS lagging_replicas, lag_records
        FROM ({ends}) WHERE lag_records > 0
    """


def _under_way() -> str:
    """
    Return the copies of each window for their leader and destination, with the end of each in the window.

    `moving_partitions` is 1 for a copy that is open at the end of the window, and 0 for one that ended in
    it. The leader is the current one, which may have changed since the move began.
    """
    moving = f"""
        SELECT
            cluster, destination_id, coalesce(lags.leader_id, source_id) AS leader_id,
            least(ended_us, {_LAST_US}) AS at_us, at_us AS busy_until_us,
            CASE WHEN ended_us <= {_LAST_US} THEN 0 ELSE 1 END AS moving_partitions
        FROM covered JOIN copies USING (cluster)
        LEFT JOIN (SELECT * RENAME (follower_id AS destination_id) FROM lags) AS lags
            USING (cluster, topic, partition, window_s, destination_id)
        WHERE moved_us <= {_LAST_US} AND coalesce(ended_us >= window_s * 1000000, true)
    """
    columns = "cluster, broker_id, direction, at_us, busy_until_us, moving_partitions"
    return f"SELECT {columns} FROM ({_by_direction(f'({moving})', 'leader_id', 'destination_id')})"


def _inbound() -> str:
    ends = _by_direction("inbound", "leader_id", "destination_id")
    return f"SELECT cluster, broker_id, direction, logged_us AS at_us, bytes AS inbound_bytes FROM ({ends})"


def _by_direction(rows: str, leader: str, follower: str) -> str:
    """Return each row twice: once for the leading broker and once for the following one."""
    return " UNION ALL ".join(
        f"SELECT *, '{direction}' AS direction, {own} AS broker_id, {peer} AS peer_id FROM {rows}"
        for direction, own, peer in zip(DIRECTIONS, (leader, follower), (follower, leader), strict=True)
    )
