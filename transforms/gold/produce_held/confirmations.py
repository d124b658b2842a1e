"""
When the followers confirmed each PRODUCE request, from the leader's request log, as SQL.

A follower's FETCH with fetchOffset x confirms all offsets below x. The handler thread of that FETCH moves the
high watermark and completes the waiting PRODUCE (Kafka 4.3: `Partition.fetchRecords`, `DelayedProduce`). So
the wait ends while the releasing FETCH is handled. Both lines are from one log, so no clocks are compared.
"""

from transforms.errors import NO_ERROR
from transforms.gold.entries import named
from transforms.sql import window_s

FINE_US, COARSE_US = 1000, 2000
"""The tolerance of the release, for a clock finer than a millisecond and a coarser one."""

LONGEST_S = 31
"""The longest wait that is followed: `request.timeout.ms` (30 s), and a second to handle it."""

NEAR_S = 5
"""
The fetches of a request are logged from this much before it starts until this much after its own line.

So its row is the same whatever else is built with it. A releasing FETCH waits too, but for
`replica.fetch.wait.max.ms` (0.5 s).
"""

REFUSED = (7, 19, 20)
"""REQUEST_TIMED_OUT, NOT_ENOUGH_REPLICAS and NOT_ENOUGH_REPLICAS_AFTER_APPEND."""

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
        PARTITION BY cluster, leader_id, connection, client_id ORDER BY logged_us, correlation_id
    )
    QUALIFY position IS DISTINCT FROM lag(position) OVER before
"""
"""The follower fetches, each with the one before it on its connection."""

PRODUCED = f"""
    SELECT
        row_number() OVER () AS request, {_LINE}, total_ms, remote_ms,
        logged_us - round((send_ms + response_queue_ms) * 1e3)::BIGINT AS released_us,
        CASE WHEN clock_resolution_ms < 1 THEN {FINE_US} ELSE {COARSE_US} END AS tolerance_us,
        {window_s("logged_us")} AS window_s, partitions
    FROM (FROM rows QUALIFY position IS NULL OR row_number() OVER (PARTITION BY cluster, position) = 1)
"""
"""The PRODUCE requests, each with a number, because to join and group by a text takes longer."""

ASKED = named("""
    SELECT request, cluster, leader_id, topic_id, topic_name, partition, "offset", error_code
    FROM (SELECT request, cluster, leader_id, unnest(partitions, max_depth := 2) FROM requests)
""")
"""A row per partition of a request."""

FETCHED = named(f"""
    SELECT * EXCLUDE (partitions), unnest(partitions, max_depth := 2)
    FROM (
        SELECT {_LINE}, follower_id, partitions FROM rows
    )
""")
"""A row per partition of a follower's FETCH."""

_PARTITION = "cluster, leader_id, topic, partition"

LOGS = f"""
    SELECT row_number() OVER (ORDER BY topic, partition, leader_id, cluster) AS log, *
    FROM (SELECT DISTINCT {_PARTITION} FROM fetched)
"""
"""A number for each partition of a leader, in order: joins by names take three times as long."""

# One number, because to compare rows of columns takes longer than all else in this step.
_LAST = f"begin_us::HUGEINT * {2**32} + log"

CONFIRMED = f"""
    SELECT row_number() OVER () AS ack, log, follower_id, "offset", unnest(first) FROM (
        SELECT
            log, follower_id, "offset",
            arg_min({{position: position, begin_us: begin_us, end_us: end_us, logged_us: logged_us}},
                (started_us, position)) AS first
        FROM fetched JOIN logs USING ({_PARTITION})
        WHERE coalesce(error_code, {NO_ERROR}) = {NO_ERROR} AND "offset" IS NOT NULL
        GROUP BY ALL
    )
"""
"""The first FETCH with each offset. Offsets grow: the first one above a base offset has the next offset."""

ACKS = f"""
    WITH waiting AS (
        SELECT
            request, log, "offset", follower_id, begin_us, logged_us,
            released_us + tolerance_us AS latest_us
        FROM asked JOIN logs USING ({_PARTITION}) JOIN requests USING (request)
        JOIN (SELECT DISTINCT log, follower_id FROM confirmed) USING (log)
        WHERE remote_ms > 0 AND "offset" >= 0 AND total_ms <= {LONGEST_S} * 1000
    ),
    confirming AS (
        SELECT
            request, waiting.log, waiting.follower_id, ack, confirmed.end_us,
            -- A fetch before the append confirmed an earlier topic of this name.
            CASE
                WHEN confirmed.end_us >= waiting.begin_us AND confirmed.begin_us <= latest_us
                    AND confirmed.logged_us <= waiting.logged_us + {NEAR_S} * 1000000
                THEN confirmed.begin_us
            END AS begin_us
        FROM waiting ASOF LEFT JOIN confirmed ON
            waiting.log = confirmed.log AND waiting.follower_id = confirmed.follower_id
            AND waiting."offset" < confirmed."offset"
    )
    SELECT
        request, follower_id, arg_max(ack, {_LAST}) AS ack,
        list(log) FILTER (begin_us IS NULL) AS missing_logs,
        -- The follower has confirmed the request in time when it has confirmed all of its partitions.
        CASE WHEN missing_logs IS NULL THEN max(begin_us) END AS begin_us,
        CASE WHEN missing_logs IS NULL THEN max(end_us) END AS end_us
    FROM confirming GROUP BY ALL
"""
"""One row per request and follower: its last confirming FETCH, and when its handling began, if in time."""

RELEASERS = """
    WITH latest AS (
        SELECT
            request, max(acks.end_us, 2) AS ends,
            arg_max({follower_id: follower_id, ack: ack, end_us: acks.end_us}, (acks.begin_us, follower_id))
                FILTER (acks.end_us >= released_us - tolerance_us) AS releaser
        FROM acks JOIN requests USING (request) GROUP BY request
    )
    SELECT request, ends, releaser.follower_id, releaser.end_us, confirmed.position AS ack, topic
    FROM latest LEFT JOIN confirmed ON releaser.ack = confirmed.ack LEFT JOIN logs USING (log)
"""
"""The latest FETCH whose handling reaches the release; the last ends of handling of all in time."""

MISSING = f"""
    WITH missed AS (
        SELECT request, follower_id, unnest(missing_logs) AS log, started_us, logged_us
        FROM acks JOIN requests USING (request)
        WHERE request IN (SELECT request FROM asked WHERE error_code IN {REFUSED})
    ),
    seen AS (
        SELECT log, follower_id, fetched.logged_us FROM fetched JOIN logs USING ({_PARTITION})
        WHERE (log, follower_id) IN (SELECT DISTINCT log, follower_id FROM missed)
    )
    SELECT request, list(DISTINCT missed.follower_id) AS followers
    FROM missed ASOF JOIN seen ON
        missed.log = seen.log AND missed.follower_id = seen.follower_id
        AND missed.logged_us + {NEAR_S} * 1000000 >= seen.logged_us
    WHERE seen.logged_us >= missed.started_us - {NEAR_S} * 1000000
    GROUP BY ALL
"""
"""The followers that fetched a partition of a refused request around it, but did not confirm it in time."""
