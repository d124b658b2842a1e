"""The telemetry topics: the bronze table of each, its parser, and the silver tables of what it parses."""

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from conf.names import Kind
from conf.settings import Settings
from jobs import scrapes
from schemas.bronze import CLIENT_LOG, CLUSTER, METRICS, PERF_TEST, REQUEST_LOG, STATE_CHANGE
from schemas.fields import Table
from schemas.metrics import METRIC_SAMPLES, METRIC_SCRAPES, METRIC_SERIES
from schemas.perf_test import PERF_TEST as PERF_TEST_TABLES
from schemas.silver import CLIENT_EVENTS, LEADERSHIP_CHANGES, QUARANTINE, REQUESTS, SKIPPED, TOPICS
from schemas.throttles import CLUSTER_POLLS, MOVES, THROTTLE_CHANGES
from transforms.parse import (
    client_log,
    cluster_poll,
    metric_series,
    metrics,
    outcome,
    perf_test,
    request_log,
    state_change,
)

Selector = Callable[[DataFrame], DataFrame]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One silver table of a parsed frame: its rows, and which lines have any; nothing empty is written."""

    table: Table
    rows: Selector
    has_rows: Callable[[], Column]  # made late: a column wants a running session
    tells_lines: bool = True  # a row of it is a line: the tables that do part the kept lines among them
    of_new: str | None = None  # column by which what the table has already is left out


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """
    One telemetry topic: its bronze table, its parser, and the silver tables of a parsed frame.

    An optional one is left out while there is no such topic: not everybody sends it.
    """

    kind: Kind
    bronze: Table
    parse: Callable[[DataFrame, Settings], DataFrame] | None = None
    silver: tuple[Part, ...] = ()
    is_optional: bool = False
    is_line: Callable[[], Column] = lambda: F.lit(True)  # a parsed frame may hold more than lines
    lines: Selector = lambda parsed: parsed  # the rows of bronze in what `parse` gives
    read: Callable[[DataFrame, Settings, DataFrame | None], DataFrame] | None = None  # a second step

    def finished(self, parsed: DataFrame, settings: Settings, known: DataFrame | None = None) -> DataFrame:
        """Give the frame that silver is selected from; the caller keeps `parsed`, `known` is `of_new`."""
        return self.read(parsed, settings, known) if self.read else parsed

    @property
    def query_name(self) -> str:
        """The query's and its checkpoint's name."""
        return f"ingest_{self.bronze.name}"

    @property
    def tables(self) -> tuple[Table, ...]:
        """Every table that the query writes."""
        parts = tuple(part.table for part in self.silver)
        return (self.bronze, *parts, *((QUARANTINE, SKIPPED) if parts else ()))

    @property
    def of_new(self) -> Part | None:
        """The part that is written only what its table lacks; a source has one at most."""
        return next((part for part in self.silver if part.of_new), None)

    @property
    def tables_of_lines(self) -> tuple[Table, ...]:
        """The silver tables that part the kept lines among them; the others tell more of a line."""
        return tuple(part.table for part in self.silver if part.tells_lines)


def _is_kept() -> Column:
    return F.col("outcome") == outcome.KEPT


def _is_sample() -> Column:
    return F.col("outcome") == metrics.SAMPLE


def _part_of_perf_test(table: Table) -> Part:
    return Part(
        table=table,
        rows=lambda parsed: perf_test.rows_of(parsed, table),
        has_rows=lambda: perf_test.is_row_of(table),
    )


def _part_of_moves(table: Table) -> Part:
    return Part(
        table=table,
        rows=lambda parsed: request_log.moves(parsed, table),
        has_rows=lambda: request_log.is_move_of(table),
        tells_lines=False,
    )


SOURCES = (
    Source(
        kind=Kind.REQUEST_LOG,
        bronze=REQUEST_LOG,
        parse=lambda raw, settings: request_log.parse_request_log(
            raw, own_client_prefix=settings.telemetry.own_client_prefix
        ),
        silver=(
            Part(table=REQUESTS, rows=request_log.kept, has_rows=_is_kept),
            Part(
                table=TOPICS,
                rows=request_log.topics,
                has_rows=lambda: F.col("topics_told").isNotNull(),
                tells_lines=False,
            ),
            *(_part_of_moves(table) for table in MOVES),
        ),
    ),
    Source(
        kind=Kind.CLIENT_LOG,
        bronze=CLIENT_LOG,
        parse=lambda raw, _settings: client_log.parse_client_log(raw),
        silver=(Part(table=CLIENT_EVENTS, rows=client_log.kept, has_rows=_is_kept),),
    ),
    Source(
        kind=Kind.STATE_CHANGE,
        bronze=STATE_CHANGE,
        parse=lambda raw, _settings: state_change.parse_state_change(raw),
        silver=(Part(table=LEADERSHIP_CHANGES, rows=state_change.kept, has_rows=_is_kept),),
        is_optional=True,
    ),
    Source(
        kind=Kind.METRICS,
        bronze=METRICS,
        parse=scrapes.look_at,
        lines=metrics.pages_of,
        read=scrapes.read,
        # A series before its samples, a scrape behind them: who reads one finds what it names.
        silver=(
            Part(
                table=METRIC_SERIES,
                rows=metrics.series,
                has_rows=metric_series.tells_series,
                tells_lines=False,
                of_new="series_id",
            ),
            Part(table=METRIC_SAMPLES, rows=metrics.samples, has_rows=_is_sample, tells_lines=False),
            Part(
                table=METRIC_SCRAPES,
                rows=metrics.scrapes,
                has_rows=lambda: metrics.is_page() & _is_kept(),
            ),
        ),
        is_line=metrics.is_page,
    ),
    Source(
        kind=Kind.CLUSTER,
        bronze=CLUSTER,
        parse=lambda raw, _settings: cluster_poll.parse_cluster_poll(raw),
        silver=(
            Part(table=CLUSTER_POLLS, rows=cluster_poll.kept, has_rows=_is_kept),
            Part(
                table=THROTTLE_CHANGES,
                rows=cluster_poll.changes,
                has_rows=cluster_poll.has_changes,
                tells_lines=False,
            ),
        ),
        is_optional=True,
    ),
    Source(
        kind=Kind.PERF_TEST,
        bronze=PERF_TEST,
        parse=lambda raw, _settings: perf_test.parse_perf_test(raw),
        silver=tuple(_part_of_perf_test(table) for table in PERF_TEST_TABLES),
        is_optional=True,
    ),
)
