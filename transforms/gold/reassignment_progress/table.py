"""A4: progress of moves by window and destination, from requests, fetches and log sizes, as SQL."""

from transforms.gold.throttle_compliance.limits import during
from transforms.sql import window_s
from transforms.windows import WINDOW_S

_WINDOW_US = WINDOW_S * 1_000_000
_END_US = f"(window_s * 1000000 + {_WINDOW_US})"

_REPLICA = "cluster, topic, partition, destination_id"

# A copy per window, from the start to the end of its move. A finished copy has rows until then too, so that
# the sums include it.
_GRID = f"""
    SELECT copies.*, window_s, coalesce(ended_us < {_END_US}, false) AS is_done
    FROM covered JOIN (
        SELECT
            *, max(ended_us) OVER of_move AS last_end_us,
            count(*) OVER of_move - count(ended_us) OVER of_move AS open
        FROM copies WINDOW of_move AS (PARTITION BY cluster, moved_us)
    ) AS copies USING (cluster)
    WHERE is_logged AND moved_us < {_END_US} AND (open > 0 OR last_end_us >= window_s * 1000000)
"""

_LAGS = """
    SELECT
        cluster, topic, partition, follower_id AS destination_id, window_s, bytes AS bytes_moved,
        bytes_per_record, lag_records, told_us
    FROM lags
"""

_INBOUND = f"""
    SELECT {_REPLICA}, moved_us, {window_s("logged_us")} AS window_s, sum(bytes) AS inbound_bytes
    FROM inbound GROUP BY ALL
"""

_SIZES = f"""
    SELECT
        cluster, broker_id, topic, partition, {window_s("at_us")} AS window_s,
        arg_max_null(size_bytes, at_us) AS size_bytes, max(at_us) AS sized_us
    FROM sizes GROUP BY ALL
"""


def _side(side: str) -> str:
    """Return the join of the log size at the source or the destination."""
    return f"""LEFT JOIN log_sizes AS {side} ON {side}.cluster = copy.cluster AND {side}.topic = copy.topic
        AND {side}.partition = copy.partition AND {side}.window_s = copy.window_s
        AND {side}.broker_id = copy.{side}_id"""


# `size_to_go` is the source's log size minus the copy's. A copy without a log is empty if its broker was
# scraped.
_BY_COPY = f"""
    WITH log_sizes AS ({_SIZES}),
    scraped AS (SELECT DISTINCT cluster, broker_id AS destination_id, window_s, 0 AS empty FROM log_sizes)
    SELECT
        copy.*, bytes_moved, bytes_per_record, lag_records, told_us, inbound_bytes,
        source.size_bytes - coalesce(destination.size_bytes, empty) AS missing_bytes,
        CASE WHEN missing_bytes IS NOT NULL THEN greatest(missing_bytes, 0) END AS size_to_go,
        coalesce(destination.sized_us, source.sized_us) AS sized_us
    FROM ({_GRID}) AS copy
    LEFT JOIN ({_LAGS}) AS lag USING ({_REPLICA}, window_s)
    LEFT JOIN ({_INBOUND}) AS sent USING ({_REPLICA}, moved_us, window_s)
    LEFT JOIN scraped USING (cluster, destination_id, window_s)
    {_side("source")} {_side("destination")}
"""

_IS_KNOWN = "NOT is_done AND lag_records IS NOT NULL"

# The copies between two brokers. Finished copies have no remaining bytes. A copy without recent bytes gets
# the bytes per record of the other copies.
_BY_PAIR = f"""
    SELECT
        cluster, moved_us, window_s, source_id, destination_id, count(*) AS copies,
        count(*) FILTER (is_done) AS copies_done, coalesce(sum(bytes_moved), 0) AS bytes_moved,
        coalesce(sum(lag_records) FILTER ({_IS_KNOWN}), 0) AS records_to_go,
        count(*) FILTER ({_IS_KNOWN}) AS copies_known, copies - copies_done AS copies_open,
        sum(bytes_per_record * bytes_moved)
            / nullif(sum(bytes_moved) FILTER (bytes_per_record IS NOT NULL), 0) AS typical,
        coalesce(sum(lag_records * bytes_per_record) FILTER ({_IS_KNOWN}), 0) AS own,
        coalesce(sum(lag_records) FILTER ({_IS_KNOWN} AND bytes_per_record IS NULL), 0) AS others,
        own + CASE WHEN others = 0 THEN 0 ELSE others * typical END AS by_offsets,
        coalesce(sum(size_to_go) FILTER (NOT is_done), 0) AS by_sizes,
        CASE WHEN count(size_to_go) FILTER (NOT is_done) = copies_open AND copies_open > 0 THEN 'log_sizes'
            WHEN copies_known = copies_open AND by_offsets IS NOT NULL THEN 'offsets' END AS to_go_by,
        CASE to_go_by WHEN 'log_sizes' THEN by_sizes WHEN 'offsets' THEN by_offsets END AS bytes_to_go,
        CASE to_go_by WHEN 'log_sizes' THEN max(sized_us) FILTER (NOT is_done)
            WHEN 'offsets' THEN max(told_us) FILTER ({_IS_KNOWN}) END AS told_us,
        coalesce(sum(inbound_bytes), 0) AS inbound_bytes, max(replication_factor) AS replication_factor,
        CASE WHEN copies_open = 0 THEN max(ended_us) END AS ended_us,
        bool_or(is_done AND ended_us IS NOT DISTINCT FROM superseded_us) AS is_superseded
    FROM by_copy GROUP BY cluster, moved_us, window_s, source_id, destination_id
"""

# The requester and the partitions of the whole move, and how many are not done at the end of a window.
_OF_MOVE = """
    SELECT cluster, moved_us, count(*) AS partitions, max(concat_ws(' ', client_id, principal)) AS moved_by
    FROM calls GROUP BY ALL
"""
_STILL = f"""
    SELECT cluster, moved_us, window_s, count(*) FILTER (coalesce(done_us >= {_END_US}, true)) AS still
    FROM (SELECT DISTINCT cluster, moved_us, window_s FROM by_copy)
    JOIN (
        SELECT cluster, moved_us, topic, partition,
            CASE WHEN count(*) = count(ended_us) THEN max(ended_us) END AS done_us
        FROM copies GROUP BY cluster, moved_us, topic, partition
    ) USING (cluster, moved_us) GROUP BY ALL
"""


def reassignment_progress() -> str:
    """
    Return the query of each window and pair of brokers in which a move was under way or ended.

    The limits are those at the end of the window: the source's as leader, the destination's as follower. It
    reads `covered`, `calls`, `copies`, `lags`, `inbound`, `sizes` and `in_force`.
    """
    limits = "".join(
        f"""LEFT JOIN in_force AS of_{side} ON of_{side}.cluster = pair.cluster
            AND of_{side}.broker_id = pair.{side}_id AND of_{side}.direction = '{direction}'
            AND {during(f"{_END_US} - 1", f"of_{side}.limited_from_us", f"of_{side}.limited_until_us")} """
        for side, direction in (("source", "leader"), ("destination", "follower"))
    )
    return f"""
        WITH by_copy AS ({_BY_COPY})
        SELECT
            pair.*, of_source.limit_bytes_per_s AS source_limit_bytes_per_s,
            of_destination.limit_bytes_per_s AS destination_limit_bytes_per_s, partitions, moved_by,
            partitions - still AS partitions_done
        FROM ({_BY_PAIR}) AS pair LEFT JOIN ({_OF_MOVE}) USING (cluster, moved_us)
        LEFT JOIN ({_STILL}) USING (cluster, moved_us, window_s) {limits}
    """
