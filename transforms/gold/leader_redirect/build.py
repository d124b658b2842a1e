"""How `leader_redirect` is built, and which lines touch a redirect."""

from collections.abc import Callable, Mapping, Sequence

import pyarrow as pa
from duckdb import DuckDBPyConnection

from schemas.arrow import arrow_schema
from schemas.fields import Table
from schemas.gold.leader_redirect import DISCONNECT, LEADER_REDIRECT, REDIRECT
from schemas.silver.client_events import CLIENT_EVENTS
from schemas.silver.leadership_changes import LEADERSHIP_CHANGES
from schemas.silver.listeners import LISTENERS
from schemas.silver.perf_test import RUNS
from schemas.silver.requests import REQUESTS
from schemas.silver.topics import TOPICS
from transforms.gold.build import Arrived, Build, Inputs, RememberedTables, Touch
from transforms.gold.clients import limit_clients
from transforms.gold.entries import TOPICS_COLUMNS, is_follower, names_touch
from transforms.gold.fetch_latency import pairing
from transforms.gold.fetch_latency.clocks import FETCHES_COLUMNS
from transforms.gold.leader_redirect.cause import (
    IS_LOOKUP,
    IS_MOVE,
    LOOKUPS,
    LOOKUPS_COLUMNS,
    MOVES,
    MOVES_COLUMNS,
)
from transforms.gold.leader_redirect.client_tries import (
    IS_CLIENT,
    IS_CLIENT_REFUSED,
    REQUESTS_COLUMNS,
    refused,
    tries,
)
from transforms.gold.leader_redirect.disconnect import (
    CHANGES,
    CHANGES_COLUMNS,
    DEAD,
    IS_TAKEOVER,
    LAST_ANSWERS,
    OF_DEAD,
    SIGNS_COLUMNS,
    SIGNS_OF_LIFE,
    TAKEOVER_REACH,
    TAKEOVERS,
)
from transforms.gold.leader_redirect.table import (
    CHANGES_REACH,
    CLIENT_EVENTS_REACH,
    FIRST_ERRORS,
    REQUESTS_REACH,
    leader_redirect,
)
from transforms.gold.runs.of_client import RUNS_COLUMNS
from transforms.spans import Span
from transforms.spans import touched as spread
from transforms.sql import connect, define, has_rows, is_in, load, rows_of, window_s
from transforms.windows import Reach


class Redirects:
    """
    The windows that may have events: those with redirects, and those up to a minute before takeovers.

    Any line within reach of them can end an event, or show which client lost its leader, or that the leader
    is alive. They are looked up in the tables, because a line may arrive days late.
    """

    def __init__(self, warehouse: RememberedTables) -> None:
        """Read these tables."""
        self._warehouse = warehouse

    def windows(self, touched: Sequence[set[int]], arrived: Sequence[Arrived]) -> set[int]:  # noqa: ARG002 (`touched` is enough)
        """Return the windows near errors and takeovers, and those near other rows that may have events."""
        of_errors, of_takeovers, *others = touched
        near = set().union(*others)
        redirects = self._warehouse.windows(LEADER_REDIRECT, near)
        return of_errors | of_takeovers | redirects | (near & self._before_takeovers(near))

    def built(self, spans: Sequence[Span], rows: Mapping[Table, pa.Table]) -> None:
        """Do nothing: the tables have all that is needed."""

    def _before_takeovers(self, windows: set[int]) -> set[int]:
        """Return the windows up to a minute before takeovers, at least those among these windows."""
        after = spread(windows, Reach(lookback_s=TAKEOVER_REACH.lookahead_s))
        with connect({}) as db:
            load(db, "changes", self._warehouse.rows(LEADERSHIP_CHANGES, CHANGES_COLUMNS, after), CHANGES)
            found = db.sql(f"SELECT DISTINCT {window_s('taken_us')} FROM ({TAKEOVERS})").fetchall()
        return spread((start for (start,) in found), TAKEOVER_REACH)


def redirects(inputs: Inputs, paired: Callable[[Inputs], pa.Table]) -> pa.Table:
    """Return the events; `paired` supplies `clocks.FETCHES_COLUMNS` if a client lost a leader."""
    nothing = arrow_schema(LEADER_REDIRECT).empty_table()
    with connect({}) as db:
        load(db, "changes", inputs.rows(LEADERSHIP_CHANGES, CHANGES_COLUMNS), CHANGES)
        _load_refused(db, inputs)
        _load_dead(db, inputs)
        if not (has_rows(db, "refused") or has_rows(db, "dead")):
            return nothing
        load(db, "topics", inputs.rows(TOPICS, TOPICS_COLUMNS))
        _load_lost(db, inputs)
        if not has_rows(db, "lost"):
            return nothing
        load(db, "lookups", inputs.rows(REQUESTS, LOOKUPS_COLUMNS, where=IS_LOOKUP), LOOKUPS)
        load(db, "moves", inputs.rows(REQUESTS, MOVES_COLUMNS, where=IS_MOVE), MOVES)
        load(db, "runs", inputs.rows(RUNS, RUNS_COLUMNS))
        db.register("fetches", paired(inputs))
        return rows_of(LEADER_REDIRECT, db.sql(leader_redirect(is_in(inputs.windows))).to_arrow_table())


def _load_refused(db: DuckDBPyConnection, inputs: Inputs) -> None:
    """Load the clients that an old leader refused, and name all requests of clients."""
    define(db, "of_clients", inputs.rows(REQUESTS, REQUESTS_COLUMNS, where=IS_CLIENT))
    db.execute(f"CREATE TEMP TABLE refused AS {refused('of_clients')}")
    if has_rows(db, "refused") and limit_clients(db, "of_clients", "VIEW"):
        db.execute(f"CREATE OR REPLACE TEMP TABLE refused AS {refused('of_clients')}")


def _load_dead(db: DuckDBPyConnection, inputs: Inputs) -> None:
    """Load the partitions of dead leaders. Without a takeover, no sign of life is read."""
    db.execute(f"CREATE TEMP TABLE takeovers AS {TAKEOVERS}")
    is_sign = f"kind IS DISTINCT FROM 'follower' OR ({is_follower(inputs)})"
    is_read = is_sign if has_rows(db, "takeovers") else "false"
    load(db, "signs", inputs.rows(REQUESTS, SIGNS_COLUMNS, where=is_read), SIGNS_OF_LIFE)
    db.execute(f"CREATE TEMP TABLE dead AS {DEAD}")


def _load_lost(db: DuckDBPyConnection, inputs: Inputs) -> None:
    """Load the tries of the clients that may have lost a leader, and the starts of the events."""
    of_dead = IS_CLIENT if has_rows(db, "dead") else "false"
    define(db, "of_dead", inputs.rows(REQUESTS, REQUESTS_COLUMNS, where=of_dead))
    limit_clients(db, "of_dead", "VIEW")
    redirected = tries("FROM of_clients SEMI JOIN refused USING (cluster, api, client_id)")
    db.execute(f"""
        CREATE TEMP TABLE tried AS SELECT '{REDIRECT}' AS kind, * FROM ({redirected})
        UNION ALL SELECT '{DISCONNECT}', * FROM ({tries("FROM of_dead")}) AS each WHERE {OF_DEAD}
    """)
    db.execute(f"""
        CREATE TEMP TABLE lost AS
        SELECT *, row_number() OVER () AS event FROM ({FIRST_ERRORS} UNION ALL ({LAST_ANSWERS}))
    """)


def _paired(inputs: Inputs) -> pa.Table:
    """Return the follower fetches with both lines, which give the clock offsets."""
    with connect(pairing.rows_of(inputs)) as db:
        return db.sql(f"""
            SELECT {FETCHES_COLUMNS} FROM ({pairing.fetches(pairing.skew_of(inputs))})
            WHERE kind = 'follower' AND elapsed_ms IS NOT NULL
        """).to_arrow_table()


def _rows(inputs: Inputs) -> Mapping[Table, pa.Table]:
    return {LEADER_REDIRECT: redirects(inputs, _paired)}


READS = {
    REQUESTS: REQUESTS_REACH,
    LEADERSHIP_CHANGES: CHANGES_REACH,
    CLIENT_EVENTS: CLIENT_EVENTS_REACH,
}

BUILD = Build(
    name="leader_redirect",
    tables=(LEADER_REDIRECT,),
    rows=_rows,
    reads=READS,
    whole=(TOPICS, RUNS, LISTENERS),
    touched_by=(
        Touch(table=REQUESTS, where=IS_CLIENT_REFUSED, reach=REQUESTS_REACH),
        Touch(table=LEADERSHIP_CHANGES, where=IS_TAKEOVER, reach=TAKEOVER_REACH),
        # The others count only near events (`Redirects`).
        Touch(table=RUNS, and_later=True),
        names_touch(REQUESTS_REACH),
        *(Touch(table=table, reach=reach) for table, reach in READS.items()),
    ),
    memory=Redirects,
)
