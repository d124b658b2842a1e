"""
One task of a batch: parse its records, write bronze and silver files, report them to the driver.

Spark's `mapInArrow` runs it in a Python worker that later batches reuse.
"""

import gc
import pickle
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark import TaskContext

from conf.kafka_security import PLAINTEXT, KafkaSecurity
from engine.delta.file_writer import FileWriter
from engine.ingest.task.arrow_rows import TABLES, record_batch
from engine.ingest.task.cluster_ids import own_clusters, parse_own
from engine.ingest.task.kafka import Epochs, Options, Range, messages_of
from engine.ingest.task.known_rows import WRITTEN_ONCE, KnownRows
from engine.ingest.task.parsers import Parse, ParserOptions, parsers_of
from engine.ingest.task.records import Batch, from_bronze, from_messages
from engine.ingest.task.written import ARROW, SkippedKey, Tally
from engine.process.fail_points import reached
from schemas.bronze import BRONZE
from schemas.silver.not_kept import QUARANTINE
from transforms.parse.record import DAY_US, PARSER_VERSION, Kept, Record, Skipped

KEPT, QUARANTINED, SKIPPED = "kept", "quarantined", "skipped"
BRONZE_TABLES = {table.name: table for table in BRONZE}

NEWEST_BATCH: dict[str, tuple[int, str]] = {}
"""The newest batch id and its attempt that this process has seen, by reader."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskPlan:
    """The instructions for every task of a batch."""

    warehouse: str
    attempt: str  # folder of the files inside each table's folder
    reader: str  # id of the writer of the rows
    ingested_at: int  # microseconds
    options: ParserOptions
    kinds: Mapping[str, str]  # kind by topic; a record without a topic has its own kind
    bronze: Mapping[str, str]  # name of the bronze table by kind
    clusters: Mapping[str, str] = field(default_factory=dict)  # Kafka cluster id by cluster name
    writes_bronze: bool = True
    consumer: Options = ()  # librdkafka options
    security: KafkaSecurity = PLAINTEXT  # paths, not secrets: tasks read the files
    shares: Sequence[Sequence[Range]] = ()  # offset ranges of each task, indexed by the `id` in its input


def run(batches: Iterator[pa.RecordBatch], plan: TaskPlan, *, batch_id: int = 0) -> Iterator[pa.RecordBatch]:
    """
    Parse and write the records of a task; yield `written.ARROW` rows: one per file and one with the tally.

    A failed task removes its files and clears the memory of its parsers, so that series are reported again.
    """
    files, tally, is_done = FileWriter(Path(plan.warehouse), plan.attempt), Tally(), False
    _forget_on_rerun(plan, batch_id)
    parsers = parsers_of(plan.options, plan.reader)
    gc.disable()  # A parse makes millions of small objects; automatic collection would double its time.
    try:
        for read in _read(batches, plan, tally.epochs):
            _write(read, plan, parsers, files, tally)
            gc.collect(0)
        reached("task-files-open")
        written = list(files.closed())
        reached("task-files-written")
        rows: list[tuple[Any, ...]] = [(*file, None) for file in written]
        rows.append((*[None] * 6, pickle.dumps(tally)))
        is_done = True
        columns = zip(*rows, strict=True)
        yield pa.RecordBatch.from_arrays(
            [pa.array(column, field.type) for column, field in zip(columns, ARROW, strict=True)], schema=ARROW
        )
    finally:
        gc.enable()
        if not is_done:
            parsers_of.cache_clear()
            files.abandon()


def _forget_on_rerun(plan: TaskPlan, batch_id: int) -> None:
    """Clear the memory of the parsers when a batch or task runs again: its series are not in the tables."""
    newest_id, attempt = NEWEST_BATCH.get(plan.reader, (-1, ""))
    context = TaskContext.get()  # None without Spark
    is_retry = context is not None and context.attemptNumber() > 0
    if is_retry or (batch_id <= newest_id and attempt != plan.attempt):
        parsers_of.cache_clear()
    NEWEST_BATCH[plan.reader] = batch_id, plan.attempt


def _read(batches: Iterator[pa.RecordBatch], plan: TaskPlan, epochs: Epochs) -> Iterator[Batch]:
    """Yield the input's bronze rows, or the Kafka records of the shares whose numbers the input has."""
    for batch in batches:
        if batch.schema.names != ["id"]:
            yield from_bronze(batch)
            continue
        for number in batch.column(0).to_pylist():
            messages = messages_of(plan.consumer, plan.shares[number], epochs, plan.security)
            yield from from_messages(messages, plan.ingested_at)


def _write(
    batch: Batch, plan: TaskPlan, parsers: Mapping[str, Parse], files: FileWriter, tally: Tally
) -> None:
    groups = _by_kind(batch, plan.kinds)
    for kind, (records, rows_of_bronze) in groups.items():
        if plan.writes_bronze:
            files.write(BRONZE_TABLES[plan.bronze[kind]], rows_of_bronze)
        _count_offsets(rows_of_bronze, tally)
        own, are_own = own_clusters(records, plan.clusters)
        tally.clusters += own
        parse = parsers[kind] if are_own else partial(parse_own, parsers[kind], plan.clusters)
        parsed = _parsed(records, parse, tally, plan.ingested_at // DAY_US)
        if plan.options.pseudonym_key_file and QUARANTINE.name in parsed:
            parsed[QUARANTINE.name] = _without_text(parsed[QUARANTINE.name])
        for name, rows in parsed.items():
            if name in WRITTEN_ONCE:
                tally.new_rows.setdefault(name, []).extend(map(tuple, KnownRows().unknown(name, rows)))
            elif rows:
                files.write(TABLES[name], record_batch(TABLES[name], rows))


def _by_kind(batch: Batch, kinds: Mapping[str, str]) -> dict[str, tuple[list[Record], pa.RecordBatch]]:
    record_kinds = [kinds.get(record.topic or "", record.kind or "") for record in batch.records]
    if len(set(record_kinds)) <= 1:
        return dict.fromkeys(record_kinds[:1], (batch.records, batch.bronze))
    groups: dict[str, list[int]] = {}
    for at, kind in enumerate(record_kinds):
        groups.setdefault(kind, []).append(at)
    return {
        kind: ([batch.records[at] for at in places], batch.bronze.take(pa.array(places)))
        for kind, places in groups.items()
    }


def _parsed(records: Sequence[Record], parse: Parse, tally: Tally, today: int) -> dict[str, list[Any]]:
    """Return the rows of all tables, and count the outcome of each record."""
    rows: dict[str, list[Any]] = {}
    for record in records:
        outcome = parse(record)
        newest_us = None
        if isinstance(outcome, Kept):
            word = KEPT
            newest_us = _add_rows(rows, outcome)
            for part in outcome.rejected:
                line = record._replace(value=part.value, position=part.position, content_encoding=None)
                row = _quarantine_row(line, part.reason, part.detail, today)
                rows.setdefault(QUARANTINE.name, []).append(row)
        elif isinstance(outcome, Skipped):
            word = SKIPPED
            place = (record.kind, record.cluster, record.node, record.source)
            key = SkippedKey(*place, outcome.logger, outcome.reason, _day(record, today))
            tally.skipped[key] += 1
        else:
            word = QUARANTINED
            row = _quarantine_row(record, outcome.reason, outcome.detail, today)
            rows.setdefault(QUARANTINE.name, []).append(row)
        tally.count(record, word, newest_us)
    return rows


def _add_rows(rows: dict[str, list[Any]], outcome: Kept) -> int | None:
    """Add the rows of a kept record to `rows`; return the record's instant in microseconds, if any."""
    newest_us = None
    for name, new_rows in outcome.rows.items():
        if name in rows:
            rows[name] += new_rows
        else:
            rows[name] = list(new_rows)
        if newest_us is None and new_rows:
            newest_us = getattr(new_rows[0], "logged_at", None)
    return newest_us


def _day(record: Record, today: int) -> int:
    """Return the day that retention uses: the Kafka timestamp's, or today for a line of a file."""
    return today if record.timestamp is None else record.timestamp // DAY_US


def _quarantine_row(record: Record, reason: str, detail: str | None, today: int) -> tuple[Any, ...]:
    """Return a row of `silver.quarantine`, in column order."""
    day = _day(record, today)
    return (
        *(record.cluster, record.node, record.source, record.position),
        *(record.topic, record.partition, record.offset, PARSER_VERSION),
        *(record.kind, record.chunk, reason, detail, record.value, record.content_encoding, day),
    )


def _without_text(rows: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Return rows of `silver.quarantine` without text of the lines; bronze has it at the same offset."""
    hidden = [QUARANTINE.schema.names.index(name) for name in ("detail", "value")]
    return [tuple(None if at in hidden else cell for at, cell in enumerate(row)) for row in rows]


def _count_offsets(bronze: pa.RecordBatch, tally: Tally) -> None:
    """Add the first offset, last offset and record count of each partition to the tally."""
    places = pa.Table.from_batches([bronze.select(["topic", "partition", "offset"])]).drop_null()
    found = places.group_by(["topic", "partition"]).aggregate(
        [("offset", "min"), ("offset", "max"), ("offset", "count")]
    )
    for topic, partition, low, high, records in zip(*found.to_pydict().values(), strict=True):
        first, last, n = tally.offsets.get((topic, partition), (low, high, 0))
        tally.offsets[topic, partition] = min(first, low), max(last, high), n + records
