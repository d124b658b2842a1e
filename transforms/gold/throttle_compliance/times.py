"""The times with a throttle or a move, as SQL. Windows outside them have no rows about throttles."""

PROGRESS_COLUMNS = ("cluster", "moved_at", "source_id", "destination_id", "window_start", "ended_at")


def times_on() -> str:
    """
    Return the query of the times with a setting or a move, in epoch seconds; a NULL end means that it is on.

    It reads `throttle_changes`, `calls`, and the existing `reassignment_progress` for the ends of moves.
    """
    key = "cluster, resource, resource_name, config"
    return f"""
        WITH settings AS (
            SELECT operation, epoch_us(logged_at) AS since_us, lead(epoch_us(logged_at))
                OVER (PARTITION BY {key} ORDER BY logged_at, position, operation) AS until_us
            FROM throttle_changes
        ),
        by_pair AS (
            SELECT
                cluster, epoch_us(moved_at) AS moved_us,
                arg_max_null(epoch_us(ended_at), window_start) AS ended_us
            FROM reassignment_progress GROUP BY cluster, moved_at, source_id, destination_id
        ),
        ends AS (
            SELECT cluster, moved_us, CASE WHEN count(*) = count(ended_us) THEN max(ended_us) END AS until_us
            FROM by_pair GROUP BY cluster, moved_us
        ),
        times AS (
            SELECT since_us, until_us FROM settings WHERE operation != 'delete'
            UNION ALL
            SELECT moved_us, until_us FROM calls LEFT JOIN ends USING (cluster, moved_us)
        )
        SELECT DISTINCT since_us // 1000000 AS since_s, until_us // 1000000 + 1 AS until_s FROM times
    """
