"""
The telemetry topics and the two streaming queries that read them.

Each topic has one bronze table, and the silver tables that its parser fills.
"""

from dataclasses import dataclass

from conf.names import Kind
from schemas.bronze import CLIENT_LOG, CLUSTER, METRICS, PERF_TEST, REQUEST_LOG, STATE_CHANGE
from schemas.fields import Table
from schemas.silver.brokers import BROKERS
from schemas.silver.client_events import CLIENT_EVENTS
from schemas.silver.leadership_changes import LEADERSHIP_CHANGES
from schemas.silver.listeners import LISTENERS
from schemas.silver.metrics import METRIC_SAMPLES, METRIC_SCRAPES, METRIC_SERIES
from schemas.silver.not_kept import QUARANTINE, SKIPPED
from schemas.silver.perf_test import PERF_TEST as PERF_TEST_TABLES
from schemas.silver.requests import REQUESTS
from schemas.silver.throttles import CLUSTER_POLLS, MOVES, THROTTLE_CHANGES
from schemas.silver.topics import TOPICS


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """
    One telemetry topic: its bronze table and the silver tables of its parser.

    Each kept line has one row in exactly one of `of_lines` (a performance test has several). `of_details`
    have further rows of some lines. An optional topic is not read while it does not exist.
    """

    kind: Kind
    bronze: Table
    of_lines: tuple[Table, ...]
    of_details: tuple[Table, ...] = ()
    is_optional: bool = False

    @property
    def silver(self) -> tuple[Table, ...]:
        """
        The tables that the parser fills, in commit order.

        A series is committed before its samples, a scrape after them, so that no reference dangles.
        """
        return (*self.of_details, *self.of_lines)

    @property
    def tables(self) -> tuple[Table, ...]:
        """Every table with rows of the topic, in commit order."""
        return (self.bronze, *self.silver, QUARANTINE, SKIPPED)


SOURCES = (
    Source(
        kind=Kind.REQUEST_LOG,
        bronze=REQUEST_LOG,
        of_lines=(REQUESTS,),
        of_details=(TOPICS, BROKERS, LISTENERS, *MOVES),
    ),
    Source(kind=Kind.CLIENT_LOG, bronze=CLIENT_LOG, of_lines=(CLIENT_EVENTS,)),
    Source(kind=Kind.STATE_CHANGE, bronze=STATE_CHANGE, of_lines=(LEADERSHIP_CHANGES,), is_optional=True),
    Source(
        kind=Kind.METRICS,
        bronze=METRICS,
        of_lines=(METRIC_SCRAPES,),
        of_details=(METRIC_SERIES, METRIC_SAMPLES),
    ),
    Source(
        kind=Kind.CLUSTER,
        bronze=CLUSTER,
        of_lines=(CLUSTER_POLLS,),
        of_details=(BROKERS, THROTTLE_CHANGES),
        is_optional=True,
    ),
    Source(kind=Kind.PERF_TEST, bronze=PERF_TEST, of_lines=PERF_TEST_TABLES, is_optional=True),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """
    One streaming query and its topics; the name is also the name of the checkpoint.

    Every batch is committed to the bronze table of the first source, with or without rows.
    """

    name: str
    sources: tuple[Source, ...]
    records_per_task: int = 4_000  # a batch of fewer records is one task

    @property
    def bronze(self) -> tuple[Table, ...]:
        """The bronze tables; the first one has every batch."""
        return tuple(source.bronze for source in self.sources)

    @property
    def tables(self) -> tuple[Table, ...]:
        """Every table that the query writes, in commit order: bronze first."""
        silver = (table for source in self.sources for table in source.silver)
        return tuple(dict.fromkeys((*self.bronze, *silver, QUARANTINE, SKIPPED)))


SCRAPED = tuple(source for source in SOURCES if source.kind is Kind.METRICS)
LOGGED = tuple(source for source in SOURCES if source not in SCRAPED)

LINES = Query(name="ingest_lines", sources=LOGGED)
SCRAPES = Query(name="ingest_scrapes", sources=SCRAPED, records_per_task=8)
QUERIES = (LINES, SCRAPES)

FORMER_QUERIES = tuple(Query(name=f"ingest_{source.bronze.name}", sources=(source,)) for source in SOURCES)
"""One query per topic, as before decision 021; `engine/ingest/handover.py` takes over their checkpoints."""
