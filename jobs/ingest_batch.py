"""One batch of a telemetry topic: Kafka records to bronze, and to silver from the same parse."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from conf.names import Header, Kind
from conf.settings import Settings
from jobs import tables
from jobs.fail_points import reached
from schemas.bronze import CLIENT_LOG, METRICS, RAW, REQUEST_LOG
from schemas.fields import Table
from schemas.silver import CLIENT_EVENTS, QUARANTINE, REQUESTS, SKIPPED, TOPICS
from transforms.parse import client_log, outcome, request_log
from transforms.parse.outcome import apart

Selector = Callable[[DataFrame], DataFrame]
Counts = list[dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One telemetry topic: its bronze table, its parser, and the silver tables of a parsed frame."""

    kind: Kind
    bronze: Table
    parse: Callable[[DataFrame, Settings], DataFrame] | None = None
    rows: tuple[Table, Selector] | None = None
    told: tuple[Table, Selector] | None = None  # written only when a batch tells any

    @property
    def query_name(self) -> str:
        """The query's and its checkpoint's name."""
        return f"ingest_{self.bronze.name}"

    @property
    def tables(self) -> tuple[Table, ...]:
        """Every table that the query writes."""
        silver = tuple(pair[0] for pair in (self.rows, self.told) if pair)
        return (self.bronze, *silver, *((QUARANTINE, SKIPPED) if silver else ()))


SOURCES = (
    Source(
        kind=Kind.REQUEST_LOG,
        bronze=REQUEST_LOG,
        parse=lambda raw, settings: request_log.parse_request_log(
            raw, own_client_prefix=settings.telemetry.own_client_prefix
        ),
        rows=(REQUESTS, request_log.kept),
        told=(TOPICS, request_log.topics),
    ),
    Source(
        kind=Kind.CLIENT_LOG,
        bronze=CLIENT_LOG,
        parse=lambda raw, _settings: client_log.parse_client_log(raw),
        rows=(CLIENT_EVENTS, client_log.kept),
    ),
    Source(kind=Kind.METRICS, bronze=METRICS),
)


# What a collector writes beside a whole, plain line, in its order.
USUAL = (Header.CLUSTER, Header.TIME_ZONE, Header.NODE, Header.KIND, Header.SOURCE, Header.POSITION)
IN_ORDER = (*USUAL, *(header for header in Header if header not in USUAL))


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
        ingested = batch.withColumn("ingested_at", now())
        if not append(ingested, source.bronze) and is_new:
            message = f"another driver has written batch {batch_id} of {app_id}: one of the two must end"
            raise TakenError(message)
        reached("bronze-committed")
        counts = _counts(batch, source)
        for table, selected in _selected(source, _totals(counts), batch_id):
            append(selected(batch), table)
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
    silver = [table for table, _ in _selected(source, _totals(counts), 0)]
    return [f"{table.layer}.{table.name}" for table in (source.bronze, *silver)]


def _selected(source: Source, totals: Mapping[str, int], batch_id: int) -> list[tuple[Table, Selector]]:
    """Choose the tables that the batch has rows for: an empty append costs as much as a full one."""
    wanted: list[tuple[Table, Selector]] = []
    if source.parse is None:
        return wanted
    if source.rows and totals[outcome.KEPT]:
        wanted.append(source.rows)
    if source.told and totals["told"]:
        wanted.append(source.told)
    if totals[outcome.QUARANTINED]:
        wanted.append((QUARANTINE, outcome.quarantined))
    if totals[outcome.SKIP]:
        wanted.append((SKIPPED, lambda parsed: outcome.skipped(parsed, batch_id=batch_id)))
    return wanted


def _counts(batch: DataFrame, source: Source) -> Counts:
    """Count the lines of each node by what became of them, with the newest instant in them."""
    if source.parse is None:
        newest, kind_of, told = F.col("timestamp"), F.lit(outcome.KEPT), F.lit(None)
    else:
        newest, kind_of = F.col("row.logged_at"), F.col("outcome")
        told = F.col("topics_told") if source.told else F.lit(None)
    rows = (
        batch.groupBy("cluster", "node", kind_of.alias("outcome"))
        .agg(
            F.count(F.lit(1)).alias("lines"),
            F.count(told).alias("told"),
            F.max(F.unix_micros(newest)).alias("newest_us"),
        )
        .collect()
    )
    return [row.asDict() for row in rows]


def _totals(counts: Counts) -> dict[str, int]:
    totals = dict.fromkeys((outcome.KEPT, outcome.QUARANTINED, outcome.SKIP, "told"), 0)
    for row in counts:
        totals[row["outcome"]] += row["lines"]
        totals["told"] += row["told"]
    return totals
