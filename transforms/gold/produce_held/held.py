"""The outcome of each PRODUCE request: the follower that released it, and the parts of its wait, as SQL."""

from dataclasses import replace
from math import ceil

from duckdb import DuckDBPyConnection

from schemas.silver.client_events import CLIENT_EVENTS
from schemas.silver.requests import REQUESTS
from schemas.silver.throttles import ISR_CHANGES
from schemas.silver.topics import TOPICS
from transforms.errors import NO_ERROR, NOT_LEADER
from transforms.gold.build import Silver
from transforms.gold.clients import OTHERS
from transforms.gold.entries import (
    IS_ACCEPTED,
    IS_OTHERS,
    TOPICS_COLUMNS,
    is_follower,
    named,
)
from transforms.gold.produce_held.confirmations import (
    ACKS,
    ASKED,
    CONFIRMED,
    FETCHED,
    FETCHES,
    LOGS,
    LONGEST_S,
    MISSING,
    NEAR_S,
    PRODUCED,
    REFUSED,
    RELEASERS,
)
from transforms.sql import load
from transforms.windows import Reach

_COLUMNS = (
    *(
        "cluster",
        "position",
        "broker_id",
        "client_id",
        "logged_at",
        "total_ms",
        "request_queue_ms",
        "local_ms",
    ),
)
PRODUCE_COLUMNS = (
    *_COLUMNS,
    "clock_resolution_ms",
    "remote_ms",
    "response_queue_ms",
    "send_ms",
    "partitions",
)
FETCH_COLUMNS = (*_COLUMNS, "follower_id")
LINE_COLUMNS = (*FETCH_COLUMNS, "connection", "correlation_id")
CLIENT_EVENTS_COLUMNS = (
    *("cluster", "node_id", "destination_id", "client_id", "correlation_id", "direction", "position"),
    *("logged_at", "logged_mono_ns"),
)
ISR_COLUMNS = ("cluster", "logged_at", "leader_id", "topic_id", "topic_name", "partition_index")

IS_PRODUCE = f"api = 'PRODUCE' AND {IS_OTHERS}"
"""The condition of the PRODUCE requests."""

IS_FETCH = "api = 'FETCH' AND follower_id IS NOT NULL AND logged_at IS NOT NULL"
"""The condition of the rows of `client_events`."""

REQUESTS_REACH = Reach(lookback_s=LONGEST_S + NEAR_S, lookahead_s=NEAR_S)
CLIENT_EVENTS_REACH = Reach(lookback_s=LONGEST_S + 2 * NEAR_S, lookahead_s=2 * NEAR_S)

ISR_CHANGE_S = 1
"""A change of the ISR this near to the release explains it."""

ISR_REACH = Reach(lookback_s=LONGEST_S + ISR_CHANGE_S, lookahead_s=ISR_CHANGE_S)

KNOWN = (NO_ERROR, NOT_LEADER, *REFUSED)
"""The errors that show that a partition exists. Before others a broker may not have looked."""

READS = {REQUESTS: REQUESTS_REACH, CLIENT_EVENTS: CLIENT_EVENTS_REACH, ISR_CHANGES: ISR_REACH}
"""How far around the windows each input is read."""

RELEASED, TIE, UNMATCHED = "released", "tie", "unmatched"
NOT_HELD, ISR_CHANGE, FAILED = "not_held", "isr_change", "failed"
OUTCOMES = (RELEASED, TIE, UNMATCHED, ISR_CHANGE, FAILED, NOT_HELD)

TIE_MS = 1.0
"""A hold of less is a tie: the two confirmations are too near to say who was last."""

_FOLLOWERS_LINES = """
    SELECT DISTINCT ON (cluster, position)
        cluster, node_id AS follower_id, destination_id AS leader_id, client_id, correlation_id, direction,
        epoch_us(logged_at) AS logged_us, logged_mono_ns
    FROM client_events
"""

_OWN_APPENDS = f"""
    SELECT
        fetches.cluster, fetches.position AS ack,
        arg_min(coalesce((sent.logged_mono_ns - received.logged_mono_ns) / 1e6,
            (sent.logged_us - received.logged_us) / 1e3), abs(sent.logged_us - started_us)) AS own_append_ms
    FROM fetches SEMI JOIN (FROM releasers JOIN requests USING (request)) AS released
        ON fetches.cluster = released.cluster AND fetches.position = released.ack
    JOIN followers_lines AS sent USING (cluster, leader_id, follower_id, client_id, correlation_id)
    JOIN followers_lines AS received USING (cluster, leader_id, follower_id, client_id)
    WHERE is_adjacent AND sent.direction = 'sent' AND received.direction = 'received'
        AND received.correlation_id = sent.correlation_id - 1
        AND abs(sent.logged_us - started_us) <= {NEAR_S} * 1000000
        AND sent.logged_us - received.logged_us BETWEEN 0 AND {NEAR_S} * 1000000
    GROUP BY ALL
"""
"""The time between a follower's receipt of a response and its next FETCH: mostly its own append."""

_CHANGES = """
    SELECT cluster, epoch_us(logged_at) AS changed_us, leader_id, topic_id, topic_name, partition_index
    FROM isr_changes
"""

_ISR_CHANGED = f"""
    SELECT DISTINCT request
    FROM asked JOIN requests USING (request) JOIN ({named(_CHANGES)}) AS changes ON
        asked.cluster = changes.cluster AND asked.leader_id = changes.leader_id
        AND asked.topic = changes.topic AND asked.partition = partition_index
        AND abs(changed_us - released_us) <= {ISR_CHANGE_S} * 1000000
"""

_TOPICS = f"""
    SELECT
        request, count(error_code) = 0 AS is_unanswered,
        coalesce(
            min(topic) FILTER (error_code IN {KNOWN}),
            CASE WHEN is_unanswered THEN min(topic) ELSE '{OTHERS}' END
        ) AS first_topic,
        coalesce(bool_or(error_code IN {REFUSED}), false) AS is_refused
    FROM asked GROUP BY request
"""

_HELD = f"""
    WITH followers_lines AS ({_FOLLOWERS_LINES}),
    own_appends AS ({_OWN_APPENDS}),
    isr_changed AS ({_ISR_CHANGED}),
    every AS (
        SELECT
            each.* EXCLUDE (partitions, end_us), each.end_us AS appended_us, first_topic, is_unanswered,
            releasers.ack AS ack,
            releasers.follower_id AS releaser_id, topic AS held_topic, missing.followers AS missing,
            fetches.started_us AS ack_us,
            is_adjacent AND before_logged_us >= each.started_us - {NEAR_S} * 1000000 AS is_adjacent,
            before_started_us, before_logged_us, own_append_ms,
            isr_changed.request IS NOT NULL AS has_isr_change,
            CASE WHEN ends[1] = releasers.end_us THEN ends[2] ELSE ends[1] END AS other_us,
            greatest(0, released_us - greatest(other_us, appended_us)) / 1e3 AS would_save_ms,
            CASE
                WHEN is_refused THEN '{FAILED}'
                WHEN remote_ms = 0 THEN '{NOT_HELD}'
                WHEN releaser_id IS NULL AND has_isr_change THEN '{ISR_CHANGE}'
                WHEN releaser_id IS NULL THEN '{UNMATCHED}'
                WHEN would_save_ms < {TIE_MS} THEN '{TIE}'
                ELSE '{RELEASED}'
            END AS outcome
        FROM requests AS each JOIN ({_TOPICS}) USING (request)
        LEFT JOIN releasers USING (request)
        LEFT JOIN missing USING (request)
        LEFT JOIN fetches ON fetches.cluster = each.cluster AND fetches.position = releasers.ack
        LEFT JOIN own_appends ON own_appends.cluster = each.cluster AND own_appends.ack = releasers.ack
        LEFT JOIN isr_changed USING (request)
    )
    SELECT
        cluster, position, leader_id, client_id, logged_us, window_s, outcome, remote_ms,
        CASE
            WHEN outcome IN ('{RELEASED}', '{TIE}') THEN releaser_id
            WHEN outcome = '{FAILED}' AND len(missing) = 1 THEN missing[1]
        END AS follower_id,
        coalesce(held_topic, first_topic) AS topic, is_unanswered, ack,
        CASE WHEN outcome IN ('{RELEASED}', '{TIE}') THEN would_save_ms END AS held_ms,
        is_adjacent AND outcome IN ('{RELEASED}', '{TIE}') AS has_parts,
        CASE WHEN has_parts THEN greatest(0, before_started_us - appended_us) / 1e3 END AS busy_ms,
        CASE WHEN has_parts THEN (before_logged_us - greatest(before_started_us, appended_us)) / 1e3 END
            AS serve_ms,
        CASE WHEN has_parts THEN (ack_us - before_logged_us) / 1e3 END AS network_ms,
        CASE WHEN has_parts THEN (released_us - ack_us) / 1e3 END AS take_ms,
        CASE WHEN has_parts THEN own_append_ms END AS own_append_ms,
        network_ms - CASE WHEN has_parts THEN own_append_ms END AS round_trip_ms
    FROM every
"""
"""One row per request (`load_held`)."""


def load_held(db: DuckDBPyConnection, silver: Silver, wanted: str = "true") -> None:
    """
    Store `held`: a row per PRODUCE request with its outcome, its releasing follower, the parts of its wait.

    `wanted` is a condition of the requests, on `window_s`. Each step is stored, because a query over all of
    them is planned without sizes, which takes fifteen times as long.

    `held_ms` is what the request would have saved without the follower: from the append, or from when the
    last other confirmation was handled, to the release. Below `TIE_MS` it is a tie. `busy` is the time
    until the follower's fetch before the releasing one, `serve` until its response, `network` until the
    releasing FETCH arrived, `take` until the release. `serve` is negative if the response was on its way
    before the append. Without the adjacent fetch the parts are NULL. With the follower's log, `network`
    is a `round_trip` and the follower's `own_append`.

    The `topic` of a request that no follower released is its first one. It is `OTHERS` if the broker's errors
    do not show that any of its topics exists: a client without rights can name what it likes.
    """
    load(db, "topics", silver.rows(TOPICS, TOPICS_COLUMNS))
    load(db, "isr_changes", silver.rows(ISR_CHANGES, ISR_COLUMNS, where=IS_ACCEPTED))
    load(db, "client_events", silver.rows(CLIENT_EVENTS, CLIENT_EVENTS_COLUMNS, where=IS_FETCH))
    produced = silver.rows(REQUESTS, PRODUCE_COLUMNS, Reach(), where=IS_PRODUCE)
    load(db, "requests", produced, f"FROM ({PRODUCED}) WHERE {wanted}")
    near, counts = _near(db), is_follower(silver)
    load(db, "fetched", silver.rows(REQUESTS, (*FETCH_COLUMNS, "partitions"), near, where=counts), FETCHED)
    load(db, "fetches", silver.rows(REQUESTS, LINE_COLUMNS, near, where=counts), FETCHES)
    steps = {"asked": ASKED, "logs": LOGS, "confirmed": CONFIRMED, "acks": ACKS, "releasers": RELEASERS}
    steps |= {"missing": MISSING, "held": _HELD}
    for name, query in steps.items():
        db.execute(f"CREATE TEMP TABLE {name} AS {query}")


def _near(db: DuckDBPyConnection) -> Reach:
    """Return how far around the windows the fetches matter: as long as the longest of the requests waited."""
    ((longest_ms,),) = db.sql("SELECT max(total_ms) FROM requests WHERE remote_ms > 0").fetchall()
    waited_s = min(ceil((longest_ms or 0.0) / 1e3), LONGEST_S)
    return replace(REQUESTS_REACH, lookback_s=waited_s + NEAR_S)
