"""Moves of replicas (KIP-455), as SQL: the requested targets, the copies they need, and their ends."""

from transforms.errors import NO_ERROR
from transforms.gold.entries import IS_ACCEPTED, named

CALL_S = 30
"""The maximum time between the lines of a forwarded request at the broker and at the controller."""

BEGINS_WITHIN_S = 60
"""The maximum time to a new replica's first fetch. A target that does not catch up by then needs no copy."""

BEFORE_S = 5
"""Copies may begin this long before the line, which is written after the response."""

REASSIGNMENTS_COLUMNS = (
    *("cluster", "api", "topic_name", "partition_index", "replicas", "client_id", "correlation_id"),
    *("principal", "error_code", "logged_at", "position"),
)
ISR_CHANGES_COLUMNS = (
    *("cluster", "topic_id", "topic_name", "partition_index", "logged_at", "isr", "error_code"),
)


IS_REQUESTED = f"""
    api = 'ALTER_PARTITION_REASSIGNMENTS' AND coalesce(error_code, {NO_ERROR}) = {NO_ERROR}
    AND logged_at IS NOT NULL
"""
"""The condition of accepted requests, on `silver.reassignments`."""


def calls() -> str:
    """
    Return the query of each partition of each accepted reassignment, until it is superseded or cancelled.

    `moved_us`, the instant of the request's first line, identifies the move. It reads `reassignments`.
    """
    request = "cluster, client_id, correlation_id, topic_name, partition_index, replicas"
    return f"""
        WITH accepted AS (
            SELECT
                cluster, topic_name AS topic, partition_index AS partition, epoch_us(logged_at) AS moved_us,
                position, replicas, client_id, principal, moved_us // 1000000
                    - lag(epoch_us(logged_at) // 1000000)
                    OVER (PARTITION BY {request} ORDER BY logged_at, position) AS since_s
            FROM reassignments
            WHERE {IS_REQUESTED}
        ),
        -- The tool repeats the request to change a throttle; the move continues.
        begun AS (
            SELECT * FROM accepted WHERE coalesce(since_s > {CALL_S}, true)
            WINDOW of_partition AS (PARTITION BY cluster, topic, partition ORDER BY moved_us, position)
            QUALIFY replicas IS NULL OR replicas IS DISTINCT FROM lag(replicas) OVER of_partition
        ),
        followed AS (
            SELECT *, lead(moved_us) OVER (PARTITION BY cluster, topic, partition ORDER BY moved_us, position)
                AS superseded_us FROM begun
        )
        SELECT * EXCLUDE (position, since_s) FROM followed WHERE replicas IS NOT NULL
    """


def copies(begun: str) -> str:
    """
    Return the query of each replica that a move copies, with source, destination and end.

    `begun` is a query of `replicated` from the first `BEGINS_WITHIN_S` of the moves. Targets that catch up in
    this time are new. `ended_us` is when the leader reported the replica in the ISR, or when the move was
    superseded; NULL until then. It reads `calls`, `isr_changes` and `topics`.
    """
    in_sync = f"""
        SELECT cluster, topic, partition_index AS partition, epoch_us(logged_at) AS told_us, isr
        FROM ({named("isr_changes")})
        WHERE {IS_ACCEPTED} AND logged_at IS NOT NULL
    """
    return f"""
        SELECT * EXCLUDE (told_us), least(told_us, superseded_us) AS ended_us
        FROM (
            SELECT
                cluster, topic, partition, moved_us, superseded_us, follower_id AS destination_id,
                arg_min_null(leader_id, logged_us) AS source_id, max(len(replicas)) AS replication_factor
            FROM calls JOIN ({begun}) USING (cluster, topic, partition)
            WHERE is_catching_up AND list_contains(replicas, follower_id) AND logged_us
                BETWEEN moved_us - {BEFORE_S * 1_000_000}
                AND least(moved_us + {BEGINS_WITHIN_S * 1_000_000}, superseded_us)
            GROUP BY cluster, topic, partition, moved_us, superseded_us, follower_id
        ) AS copy,
        LATERAL (
            SELECT min(told_us) AS told_us FROM ({in_sync}) AS joined
            WHERE joined.cluster = copy.cluster AND joined.topic = copy.topic
                AND joined.partition = copy.partition AND told_us > moved_us
                AND list_contains(isr, destination_id)
        )
    """
