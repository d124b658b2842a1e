"""One batch of a telemetry topic: Kafka records to bronze, and to silver from the same parse."""

from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from conf.names import Header
from conf.settings import Settings
from jobs import tables
from jobs.fail_points import reached
from jobs.sources import Selector, Source
from schemas.bronze import RAW
from schemas.fields import Table
from schemas.silver import QUARANTINE, SKIPPED
from transforms.parse import outcome
from transforms.parse.outcome import apart
from transforms.parse.pseudonyms import pseudonyms

Counts = list[dict[str, Any]]

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
        parsed = source.finished(batch, settings, known)
        unknown = _unknown(parsed, known)
        counts = _counts(parsed, source, unknown)
        for table, selected in _selected(source, _totals(counts, source), batch_id):
            is_of_new = source.of_new is not None and table is source.of_new.table
            rows = selected(unknown if is_of_new else parsed)
            append(pseudonyms(rows, settings.pseudonym_key), table)
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


def _known(spark: SparkSession, source: Source, settings: Settings) -> DataFrame | None:
    """Give what the table of new things has already: the column that tells."""
    part = source.of_new
    if part is None or part.of_new is None:
        return None
    return tables.read(spark, settings.warehouse_root, part.table).select(part.of_new)


def _unknown(parsed: DataFrame, known: DataFrame | None) -> DataFrame:
    """Leave out what the table of new things has already; a row without its column stays."""
    return parsed if known is None else parsed.join(F.broadcast(known), on=known.columns, how="left_anti")


def _counts(batch: DataFrame, source: Source, unknown: DataFrame) -> Counts:
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
    part = source.of_new
    if part and unknown.filter(part.has_rows()).isEmpty():
        counts = [row | {part.table.name: 0} for row in counts]
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
