"""The tables in DuckDB that both tables of throttles and moves read: silver, and what is computed once."""

import duckdb

from schemas.silver.requests import REQUESTS
from schemas.silver.throttles import ISR_CHANGES, REASSIGNMENTS, THROTTLE_CHANGES
from schemas.silver.topics import TOPICS
from transforms.gold.build import Inputs
from transforms.gold.entries import IS_ACCEPTED, IS_OTHERS, TOPICS_COLUMNS, entries, is_follower
from transforms.gold.metrics.facts import load_samples
from transforms.gold.reassignment_progress.moves import (
    BEFORE_S,
    BEGINS_WITHIN_S,
    IS_REQUESTED,
    ISR_CHANGES_COLUMNS,
    REASSIGNMENTS_COLUMNS,
    calls,
    copies,
)
from transforms.gold.reassignment_progress.replicated import CARRY_S, replica_lags, replicated
from transforms.gold.throttle_compliance.limits import during, limits, throttled
from transforms.gold.throttle_compliance.metrics import WANTED, events, sizes
from transforms.gold.throttle_compliance.polls import CHANGES_COLUMNS, IS_APPLIED, without_repeated_polls
from transforms.sql import is_in, load, window_s
from transforms.windows import WINDOW_S, Reach

BEGUN_REACH = Reach(lookback_s=BEFORE_S + CARRY_S, lookahead_s=BEGINS_WITHIN_S)
"""The requests after the start of each open move, which show the new replicas."""

REQUESTS_COLUMNS = (
    *("cluster", "position", "logged_at", "api", "kind", "broker_id", "follower_id", "partitions"),
)
IS_PRODUCE = f"api = 'PRODUCE' AND {IS_OTHERS}"
"""The condition of the requests with produced bytes."""

_ENTRIES = entries("""
    SELECT
        cluster, position, epoch_us(logged_at) AS logged_us, kind, broker_id AS leader_id, follower_id,
        partitions
    FROM rows
""")
_SEEN = f"""
    SELECT DISTINCT cluster, broker_id, {window_s("epoch_us(logged_at)")} AS window_s FROM rows
"""
# The bytes produced to partitions during a copy, one row per copy.
_INBOUND = f"""
    SELECT
        cluster, topic, partition, logged_us, bytes, moved_us, leader_id, source_id, destination_id
    FROM entries JOIN copies USING (cluster, topic, partition)
    WHERE kind IS DISTINCT FROM 'follower' AND bytes > 0 AND {during("logged_us", "moved_us", "ended_us")}
"""
_BROKERS = """
    SELECT cluster, broker_id FROM seen WHERE broker_id IS NOT NULL
    UNION SELECT cluster, broker_id FROM events WHERE broker_id IS NOT NULL
"""
# The windows with lines of the request log (`is_logged`) or with samples.
_COVERED = f"""
    SELECT cluster, window_s, bool_or(is_logged) AS is_logged
    FROM (
        SELECT cluster, window_s, true AS is_logged FROM seen
        UNION ALL SELECT cluster, {window_s("at_us")}, false FROM events
    ) GROUP BY cluster, window_s
"""


def load_metrics(db: duckdb.DuckDBPyConnection, inputs: Inputs) -> None:
    """Store `events` and `sizes` from metrics (`metrics.events`, `metrics.sizes`)."""
    load_samples(db, inputs, WANTED)
    _store(db, "events", events())
    _store(db, "sizes", sizes())


def load_changes(db: duckdb.DuckDBPyConnection, inputs: Inputs) -> None:
    """Store the settings and the requested moves, whole tables, which are small."""
    load(db, "topics", inputs.rows(TOPICS, TOPICS_COLUMNS))
    changes = inputs.derived(THROTTLE_CHANGES, CHANGES_COLUMNS, without_repeated_polls, IS_APPLIED)
    db.register("throttle_changes", changes)
    load(db, "reassignments", inputs.rows(REASSIGNMENTS, REASSIGNMENTS_COLUMNS, where=IS_REQUESTED))
    load(db, "isr_changes", inputs.rows(ISR_CHANGES, ISR_CHANGES_COLUMNS, where=IS_ACCEPTED))
    _store(db, "calls", calls())
    db.register("listed", throttled(db))


def load_requests(db: duckdb.DuckDBPyConnection, inputs: Inputs) -> None:
    """Store what the tables read of the request log; `events` and the changes are loaded before."""
    load(db, "seen", inputs.rows(REQUESTS, ("cluster", "broker_id", "logged_at")), _SEEN)
    is_fetch = is_follower(inputs)
    is_entry = f"({is_fetch}) OR ({IS_PRODUCE})"
    load(db, "entries", inputs.rows(REQUESTS, REQUESTS_COLUMNS, where=is_entry), _ENTRIES)
    begun = inputs.around(REQUESTS, REQUESTS_COLUMNS, _moved_s(db, inputs), BEGUN_REACH, where=is_fetch)
    load(db, "begun", begun, _ENTRIES)
    _store(db, "fetched", replicated("entries"))
    _store(db, "lags", replica_lags())
    _store(db, "copies", copies(replicated("begun")))
    _store(db, "inbound", _INBOUND)
    _store(db, "brokers", _BROKERS)
    _store(db, "in_force", limits())
    _store(db, "covered", f"SELECT * FROM ({_COVERED}) WHERE {is_in(inputs.windows)}")


def _moved_s(db: duckdb.DuckDBPyConnection, inputs: Inputs) -> list[int]:
    """Return the seconds in which the moves were requested that may be under way in the windows."""
    if inputs.windows is None:
        return []
    first_us, last_us = (at(inputs.windows) * 1_000_000 for at in (min, max))
    query = f"""
        SELECT DISTINCT moved_us // 1000000 FROM calls
        WHERE moved_us < {last_us + WINDOW_S * 1_000_000} GROUP BY cluster, moved_us
        HAVING bool_or(coalesce(superseded_us >= {first_us}, true))
    """
    return [second for (second,) in db.sql(query).fetchall()]


def _store(db: duckdb.DuckDBPyConnection, name: str, query: str) -> None:
    db.execute(f"CREATE TEMP TABLE {name} AS {query}")
