"""
When the followers confirmed each PRODUCE request, from the leader's request log, as SQL.

A follower's FETCH with fetchOffset x confirms all offsets below x. The handler thread of that FETCH moves the
high watermark and completes the waiting PRODUCE (Kafka 4.3: `Partition.fetchRecords`, `DelayedProduce`). So
the wait ends while the releasing FETCH is handled. Both lines are from one log, so no clocks are compared.
"""

from transforms.gold.entries import NO_ERROR, named
from transforms.sql import window_s

FINE_MS, COARSE_MS = 1.0, 2.0
"""The tolerance of the release, for a clock finer than a millisecond and a coarser one."""

# A handler thread handles a request from `begin_us` to `end_us`.
_LINE = """
    cluster, position, broker_id AS leader_id, client_id, epoch_us(logged_at) AS logged_us,
    logged_us - round(total_ms * 1e3)::BIGINT AS started_us,
    started_us + round(request_queue_ms * 1e3)::BIGINT AS begin_us,
    begin_us + round(local_ms * 1e3)::BIGINT AS end_us
"""

# Responses of a connection are in order, so time also orders ids that restart at 0, and a line that was sent
# again is next to itself.
FETCHES = f"""
    SELECT
        cluster, position, leader_id, follower_id, client_id, correlation_id, started_us,
        lag(correlation_id) OVER before + 1 = correlation_id AS is_adjacent,
        lag(started_us) OVER before AS before_started_us, lag(logged_us) OVER before AS before_logged_us
    FROM (SELECT {_LINE}, follower_id, connection, correlation_id FROM rows)
    WINDOW before AS (
        PARTITION BY cluster, leader_id, connection, client_id ORDER BY logged_us, correlation_id, position
    )
    QUALIFY position IS DISTINCT FROM lag(position) OVER before
"""
"""The follower fetches, each with the one before it on its connection."""

PRODUCED = named(f"""
    SELECT * EXCLUDE (partitions), unnest(partitions, max_depth := 2) FROM (
        SELECT
            {_LINE}, total_ms, remote_ms,
            logged_us - round((send_ms + response_queue_ms) * 1e3)::BIGINT AS released_us,
            CASE WHEN clock_resolution_ms < 1 THEN {FINE_MS} ELSE {COARSE_MS} END AS tolerance_ms,
            {window_s("logged_us")} AS window_s, partitions
        FROM rows
    )
""")
"""A row per partition of a PRODUCE. Rows of a line that was sent again change no later step."""

FETCHED = named(f"""
    SELECT * EXCLUDE (partitions), unnest(partitions, max_depth := 2)
    FROM (SELECT {_LINE}, follower_id, partitions FROM rows)
""")
"""A row per partition of a follower's FETCH."""

_PARTITION = "cluster, leader_id, topic, partition"

LOGS = f"SELECT row_number() OVER () AS log, * FROM (SELECT DISTINCT {_PARTITION} FROM fetched)"
"""A number for each partition of a leader: joins by names take three times as long."""

CONFIRMED = f"""
    SELECT
        log, follower_id, "offset",
        arg_min({{ack: position, begin_us: begin_us, end_us: end_us}}, (started_us, position)) AS first
    FROM fetched JOIN logs USING ({_PARTITION})
    WHERE coalesce(error_code, {NO_ERROR}) = {NO_ERROR} AND "offset" IS NOT NULL
    GROUP BY ALL
"""
"""The first FETCH with each offset. Offsets grow: the first one above a base offset has the next offset."""

ACKS = f"""
    WITH waiting AS (
        SELECT
            cluster, position, log, topic, partition, "offset", follower_id, begin_us, released_us,
            tolerance_ms
        FROM asked JOIN logs USING ({_PARTITION})
        JOIN (SELECT DISTINCT log, follower_id FROM confirmed) USING (log)
        WHERE remote_ms > 0 AND "offset" >= 0
    ),
    confirming AS (
        SELECT
            waiting.* EXCLUDE (begin_us), first.ack AS ack, first.end_us AS end_us,
            -- A fetch before the append confirmed an earlier topic of this name.
            CASE WHEN first.end_us >= waiting.begin_us THEN first.begin_us END AS begin_us
        FROM waiting ASOF LEFT JOIN confirmed ON
            waiting.log = confirmed.log AND waiting.follower_id = confirmed.follower_id
            AND waiting."offset" < confirmed."offset"
    )
    SELECT
        cluster, position, follower_id,
        arg_max({{topic: topic, ack: ack, end_us: end_us}}, (begin_us, topic, partition)) AS last,
        -- The follower has confirmed the request when it has confirmed all of its partitions.
        CASE WHEN count(begin_us) = count(*) THEN max(begin_us) END AS begin_us,
        any_value(released_us) AS released_us, any_value(tolerance_ms * 1e3)::BIGINT AS tolerance_us
    FROM confirming GROUP BY ALL
"""
"""One row per request and follower: its last confirming FETCH, and when its handling began."""

RELEASERS = """
    SELECT
        cluster, position,
        arg_max({follower_id: follower_id, ack: last.ack, topic: last.topic, begin_us: begin_us},
            (begin_us, follower_id))
            FILTER (is_in_time AND last.end_us >= released_us - tolerance_us) AS releaser,
        list_reverse_sort(list(begin_us) FILTER (is_in_time)) AS begins,
        list(follower_id) FILTER (NOT is_in_time) AS missing
    FROM (SELECT *, coalesce(begin_us <= released_us + tolerance_us, false) AS is_in_time FROM acks)
    GROUP BY ALL
"""
"""The latest FETCH whose handling reaches the release, all in time, and who was not in time."""
