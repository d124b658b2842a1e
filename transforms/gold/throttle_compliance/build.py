"""How the tables of throttles and moves are built, and which times have any rows of them."""

import math
from collections.abc import Iterable, Mapping, Sequence

import duckdb
import pyarrow as pa

from schemas.fields import Table
from schemas.gold.reassignment_progress import REASSIGNMENT_PROGRESS
from schemas.gold.throttle_compliance import THROTTLE_COMPLIANCE
from schemas.silver.listeners import LISTENERS
from schemas.silver.metrics import METRIC_SAMPLES, METRIC_SERIES
from schemas.silver.requests import REQUESTS
from schemas.silver.throttles import ISR_CHANGES, REASSIGNMENTS, THROTTLE_CHANGES
from schemas.silver.topics import TOPICS
from transforms.gold.build import Arrived, Build, Inputs, RememberedTables, Touch
from transforms.gold.entries import names_touch
from transforms.gold.metrics.counters import REACH as SCRAPES_REACH
from transforms.gold.reassignment_progress.moves import IS_REQUESTED, REASSIGNMENTS_COLUMNS, calls
from transforms.gold.reassignment_progress.replicated import CARRY_S
from transforms.gold.reassignment_progress.table import reassignment_progress
from transforms.gold.throttle_compliance.inputs import (
    BEGUN_REACH,
    load_changes,
    load_metrics,
    load_requests,
)
from transforms.gold.throttle_compliance.polls import CHANGES_COLUMNS, IS_APPLIED, without_repeated_polls
from transforms.gold.throttle_compliance.table import throttle_compliance
from transforms.gold.throttle_compliance.times import PROGRESS_COLUMNS, times_on
from transforms.spans import Span, window_of
from transforms.spans import touched as spread
from transforms.sql import connect, load, rows_of
from transforms.windows import WINDOW_S, Reach

TABLES = (THROTTLE_COMPLIANCE, REASSIGNMENT_PROGRESS)

REQUESTS_REACH = Reach(lookback_s=2 * CARRY_S + WINDOW_S, lookahead_s=CARRY_S)
"""`CARRY_S` applies twice: the last known values are valid for later lines and for later windows."""


def throttle_tables(db: duckdb.DuckDBPyConnection, inputs: Inputs) -> dict[Table, pa.Table]:
    """Build both tables; `events` and `sizes` are loaded before (`load_metrics`)."""
    load_changes(db, inputs)
    load_requests(db, inputs)
    queries = {THROTTLE_COMPLIANCE: throttle_compliance(), REASSIGNMENT_PROGRESS: reassignment_progress()}
    return {table: rows_of(table, db.sql(query).to_arrow_table()) for table, query in queries.items()}


class ThrottledTimes:
    """The times with a throttle or a reassignment; windows outside of them have no rows."""

    def __init__(self, warehouse: RememberedTables) -> None:
        """Read the times from tables."""
        self._warehouse, self._times = warehouse, list[tuple[float, float]]()
        self._has_new_ends = False
        self._learn()

    def windows(self, touched: Sequence[set[int]], arrived: Sequence[Arrived]) -> set[int]:
        """
        Return the touched windows that have a throttle or a reassignment.

        A setting that arrives late may end the throttle that rows were written about, so these rows count.
        """
        wanted = set().union(*touched)
        has_new_settings = any(row.input in SETTINGS_NAMES for row in arrived)
        if has_new_settings or self._has_new_ends:
            self._learn()
        on = self.during(wanted, {row.slot for row in arrived if row.input == REQUESTS.name})
        if not has_new_settings:
            return on
        return on.union(*(self._warehouse.windows(table, wanted) for table in TABLES))

    def during(self, windows: Iterable[int], lines: Iterable[int] = ()) -> set[int]:
        """
        Return the windows with a throttle or a reassignment.

        `lines` are windows with new lines. At the start of a reassignment they may show another copy, so that
        it has not ended.
        """
        reach, begun = SCRAPES_REACH.lookback_s, spread(lines, BEGUN_REACH)
        times = [(since, math.inf if window_of(since) in begun else until) for since, until in self._times]
        return {
            window
            for window in windows
            if any(since < window + WINDOW_S and until > window - reach for since, until in times)
        }

    def built(self, spans: Sequence[Span], rows: Mapping[Table, pa.Table]) -> None:  # noqa: ARG002 (any move)
        """Note that the ends of moves must be read again."""
        progress = rows[REASSIGNMENT_PROGRESS]
        self._has_new_ends |= progress["ended_at"].null_count < progress.num_rows

    def _learn(self) -> None:
        self._has_new_ends = False
        with connect({}) as db:
            db.register(
                "throttle_changes",
                self._warehouse.derived(
                    THROTTLE_CHANGES, CHANGES_COLUMNS, without_repeated_polls, IS_APPLIED
                ),
            )
            requested = self._warehouse.rows(REASSIGNMENTS, REASSIGNMENTS_COLUMNS)
            load(db, "reassignments", requested, f"FROM rows WHERE {IS_REQUESTED}")
            load(db, "reassignment_progress", self._warehouse.rows(REASSIGNMENT_PROGRESS, PROGRESS_COLUMNS))
            db.execute(f"CREATE TEMP VIEW calls AS {calls()}")
            rows = db.sql(times_on()).fetchall()
        self._times = [(since_s, math.inf if until_s is None else until_s) for since_s, until_s in rows]


def _rows(inputs: Inputs) -> Mapping[Table, pa.Table]:
    with connect({}) as db:
        load_metrics(db, inputs)
        return throttle_tables(db, inputs)


SETTINGS = (THROTTLE_CHANGES, REASSIGNMENTS, ISR_CHANGES)
SETTINGS_NAMES = tuple(table.name for table in SETTINGS)

BUILD = Build(
    name="throttles",
    tables=TABLES,
    rows=_rows,
    reads={REQUESTS: REQUESTS_REACH, METRIC_SAMPLES: SCRAPES_REACH},
    # A throttle that was set days ago is still in force, so its tables are read whole.
    whole=(*SETTINGS, TOPICS, METRIC_SERIES, LISTENERS),
    touched_by=(
        Touch(table=REQUESTS, reach=REQUESTS_REACH),
        Touch(table=METRIC_SAMPLES, reach=SCRAPES_REACH),
        *(Touch(table=table, and_later=True) for table in SETTINGS),
        names_touch(REQUESTS_REACH),
    ),
    needs=(THROTTLE_CHANGES, REASSIGNMENTS),
    memory=ThrottledTimes,
)
