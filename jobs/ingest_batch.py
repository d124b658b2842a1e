"""One batch of a telemetry topic: Kafka records to bronze, and to silver from the same parse."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from conf.names import Header, Kind
from conf.settings import Settings
from jobs import scrapes, tables
from jobs.fail_points import reached
from schemas.bronze import CLIENT_LOG, CLUSTER, METRICS, PERF_TEST, RAW, REQUEST_LOG, STATE_CHANGE
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
from transforms.parse.outcome import apart

Selector = Callable[[DataFrame], DataFrame]
Counts = list[dict[str, Any]]


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


# What a collector writes beside a whole, plain line, in its order.
USUAL = (Header.CLUSTER, Header.TIME_ZONE, Header.NODE, Header.KIND, Header.SOURCE, Header.POSITION)
IN_ORDER = (*USUAL, Header.CONTENT_ENCODING, Header.CHUNK)
"""Those that have a column in bronze; the others stay in `headers`, for the parser of their kind."""


def raw_of(records: DataFrame) -> DataFrame:
    """
    Turn records of the Kafka source into rows of bronze; a foreign one has its offset for a position.

    `ingested_at` is left open: see `now`.
    """
    place = F.concat_ws("/", F.lit("kafka"), "topic", "partition", "offset")
    keys, values = F.col("headers.key"), F.col("headers.value")
    is_usual = keys == F.array(*(F.lit(header.value) for header in USUAL))
    # The first of each name; a map would fail on a record that has one twice.
    first = (F.array_position(keys, F.lit(header.value)).cast("int") for header in IN_ORDER)
    found = F.when(is_usual, values).otherwise(F.array(*(F.get(values, at - 1) for at in first)))
    named = {header.name.lower(): F.get(found, F.lit(n)).cast("string") for n, header in enumerate(IN_ORDER)}
    columns = {
        **named,
        "position": F.coalesce(named["position"], place),
        # Each of the usual ones has a column of its own, and so loses nothing.
        "headers": F.when(~F.coalesce(is_usual, F.lit(False)), F.col("headers")),
        "timestamp_type": F.col("timestampType"),
        "ingested_at": F.lit(None).cast("timestamp"),
        "ingest_date": F.to_date("timestamp"),
    }
    return records.withColumns(columns).select(*RAW.names)


def prepared(records: DataFrame, source: Source, settings: Settings) -> DataFrame:
    """
    Give the frame that a batch is written from: bronze rows, parsed where the source has a parser.

    It is put together once for the whole stream. Doing it for each batch would cost 2 s of CPU a batch,
    however few lines came.
    """
    raw = raw_of(records)
    return source.parse(raw, settings) if source.parse else raw


class TakenError(Exception):
    """Another driver works on the same checkpoint."""


def write_batch(  # noqa: PLR0913 (what, where to, and who writes what for the how-manyth time)
    batch: DataFrame,
    batch_id: int,
    source: Source,
    *,
    settings: Settings,
    app_id: str,
    is_new: bool = False,
) -> Counts:
    """
    Write one prepared batch to bronze, then to silver; what was written before is left out.

    Returns counts of lines by node and outcome. Bronze goes first, so that silver never holds a line that
    bronze lacks; a batch that broke off between the two is given again and fills in what is missing.

    Raises:
        TakenError: the batch `is_new`, yet bronze has its number, maybe with other lines.

    """

    def append(rows: DataFrame, table: Table) -> bool:
        written = rows.select(*table.schema.names)
        return tables.append(
            written,
            settings.warehouse_root,
            table,
            txn_app_id=app_id,
            txn_version=batch_id,
            committer=settings.warehouse.committer,
        )

    reached("offsets-logged")
    batch.persist()
    try:
        reached("tasks-running")
        ingested = source.lines(batch).withColumn("ingested_at", now())
        if not append(ingested, source.bronze) and is_new:
            message = f"another driver has written batch {batch_id} of {app_id}: one of the two must end"
            raise TakenError(message)
        reached("bronze-committed")
        known = _known(batch.sparkSession, source, settings)
        parsed = source.finished(batch, settings, next(iter(known.values()), None))
        unknown = _unknown(parsed, source, known)
        counts = _counts(parsed, source, unknown)
        for table, selected in _selected(source, _totals(counts, source), batch_id):
            append(selected(unknown.get(table, parsed)), table)
            reached("silver-committed")
        reached("batch-written")
        return counts
    finally:
        batch.unpersist()


def now() -> Column:
    """
    Give this instant as data.

    A number or an instant becomes part of the code that Spark makes of a plan, which then is compiled, and
    warms up, anew for each batch; a text does not, unless it is cast before the plan runs.
    """
    text = datetime.now(UTC).isoformat()
    return F.concat(F.lit(text), apart(F.lit(""))).cast("timestamp")


def written_tables(source: Source, counts: Counts) -> list[str]:
    """Name the tables, `layer.name`, that a batch with these counts is written into."""
    silver = [table for table, _ in _selected(source, _totals(counts, source), 0)]
    return [f"{table.layer}.{table.name}" for table in (source.bronze, *silver)]


def _selected(source: Source, totals: Mapping[str, int], batch_id: int) -> list[tuple[Table, Selector]]:
    """Choose the tables that the batch has rows for: an empty append costs as much as a full one."""
    if source.parse is None:
        return []
    wanted = [(part.table, part.rows) for part in source.silver if totals[part.table.name]]
    if totals[QUARANTINE.name]:
        wanted.append((QUARANTINE, outcome.quarantined))
    if totals[outcome.SKIP]:
        wanted.append((SKIPPED, lambda parsed: outcome.skipped(parsed, batch_id=batch_id)))
    return wanted


def _known(spark: SparkSession, source: Source, settings: Settings) -> dict[Table, DataFrame]:
    """Give what each table of new things has already: the column that tells."""
    return {
        part.table: tables.read(spark, settings.warehouse_root, part.table).select(part.of_new)
        for part in source.silver
        if part.of_new
    }


def _unknown(batch: DataFrame, source: Source, known: Mapping[Table, DataFrame]) -> dict[Table, DataFrame]:
    """Leave out of a batch what a table of new things has already; a row without the column stays."""
    return {
        part.table: batch.join(F.broadcast(known[part.table]), on=part.of_new, how="left_anti")
        for part in source.silver
        if part.of_new
    }


def _counts(batch: DataFrame, source: Source, unknown: Mapping[Table, DataFrame]) -> Counts:
    """Count the lines of each node by what became of them, with the newest instant in them."""
    if source.parse is None:
        newest, kind_of = F.col("timestamp"), F.lit(outcome.KEPT)
    else:
        newest, kind_of = F.col("row.logged_at"), F.col("outcome")
    rows = (
        batch.groupBy("cluster", "node", kind_of.alias("outcome"))
        .agg(
            F.count_if(source.is_line()).alias("lines"),
            *(F.count_if(part.has_rows()).alias(part.table.name) for part in source.silver),
            F.count_if(kind_of == outcome.QUARANTINED).alias(QUARANTINE.name),
            F.max(F.unix_micros(newest)).alias("newest_us"),
        )
        .collect()
    )
    counts = [row.asDict() for row in rows]
    for table, frame in unknown.items():
        has_rows = next(part.has_rows() for part in source.silver if part.table is table)
        if frame.filter(has_rows).isEmpty():
            counts = [row | {table.name: 0} for row in counts]
    return counts


def _totals(counts: Counts, source: Source) -> Counter[str]:
    """Add up lines by outcome, and what has rows of a silver table by the table's name."""
    names = [QUARANTINE.name, *(part.table.name for part in source.silver)]
    totals = Counter[str]()
    for row in counts:
        totals[row["outcome"]] += row["lines"]
        for name in names:
            totals[name] += row[name]
    return totals
