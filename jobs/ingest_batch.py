"""One batch of a telemetry topic: its files are written by one Spark job, then committed table by table."""

import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from deltalake.transaction import AddAction, Transaction
from pyspark.sql import DataFrame, SparkSession

from conf.settings import Settings
from engine.ingest.batch import WrittenBatch, write_batch_files
from engine.ingest.kafka import Range, shares_of
from engine.ingest.known import KnownRows
from engine.ingest.parsers import ParserOptions
from engine.ingest.task import TaskPlan
from engine.ingest.written import File, Place, Tally
from engine.process.fail_points import reached
from jobs import light_append, tables
from jobs.kafka_options import consumer_options
from jobs.sources import SOURCES, Query
from schemas.fields import Table
from schemas.silver import TOPICS
from transforms.parse.scrapes.page import Limits

Counts = list[dict[str, Any]]
Offsets = Mapping[Place, tuple[int, int]]
"""The first offset and the end of each partition that a batch holds."""

Shares = Sequence[Sequence[Range]]
"""What each task reads of Kafka."""

BRONZE_BY_KIND = {source.kind.value: source.bronze.name for source in SOURCES}


class TakenError(Exception):
    """Another driver works on the same checkpoint."""


class MissingRecordsError(Exception):
    """A batch read other records than its offsets say; nothing was committed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What a batch was: counts of records by node and outcome, and the tables it was written into."""

    counts: Counts
    tables: list[str]
    unnamed: list[Path] = field(default_factory=list)  # files that no task named, and no commit


def parser_options(settings: Settings) -> ParserOptions:
    """Return what the settings say to parsers."""
    ingest = settings.ingest
    key_file = ingest.pseudonym_key_file
    return ParserOptions(
        own_client_prefix=settings.telemetry.own_client_prefix,
        limits=Limits(
            scrape_bytes=ingest.max_scrape_bytes,
            scrape_samples=ingest.max_scrape_samples,
            sample_labels=ingest.max_sample_labels,
            label_chars=ingest.max_label_chars,
        ),
        pseudonym_key_file=str(Path(key_file).resolve()) if key_file else "",
    )


def task_plan(  # noqa: PLR0913 (what a plan is made of)
    settings: Settings,
    warehouse: Path,
    attempt: str,
    *,
    reader: str,
    kinds: Mapping[str, str] | None = None,
    writes_bronze: bool = True,
    shares: Shares = (),
) -> TaskPlan:
    """Return the instructions for the tasks of a batch; `kinds` names the kind of each topic."""
    return TaskPlan(
        warehouse=str(warehouse),
        attempt=attempt,
        reader=f"{warehouse}:{reader}",
        ingested_at=time.time_ns() // 1_000,
        options=parser_options(settings),
        kinds=kinds or {},
        bronze=BRONZE_BY_KIND,
        writes_bronze=writes_bronze,
        consumer=tuple(consumer_options(settings.telemetry).items()) if shares else (),
        shares=shares,
    )


def shared_out(spark: SparkSession, offsets: Offsets, query: Query) -> tuple[DataFrame, Shares]:
    """Return a frame with the number of a share for each task, and what each share holds of Kafka."""
    tasks = spark.sparkContext.defaultParallelism
    shares = shares_of(offsets, tasks=tasks, records_a_task=query.records_a_task)
    return spark.range(0, len(shares), 1, max(1, len(shares))), shares


def write_batch(  # noqa: PLR0913 (what, where to, and who writes which batch)
    records: DataFrame,
    batch_id: int,
    query: Query,
    *,
    settings: Settings,
    app_id: str,
    is_new: bool = False,
    offsets: Offsets | None = None,
    shares: Shares = (),
) -> Batch:
    """
    Write one batch and commit it: bronze first, then silver.

    `records` are rows of bronze, or the numbers of the `shares` of Kafka that tasks read. A table that has
    the batch already is left out: Spark repeats a batch that broke off between two commits.

    Raises:
        TakenError: the batch `is_new`, yet bronze has its number, maybe with other lines.
        MissingRecordsError: the records are not those of `offsets`.

    """
    reached("offsets-logged")
    root = settings.warehouse_root
    kinds = {f"{settings.telemetry.topic_prefix}{source.kind}": source.kind.value for source in query.sources}
    attempt = f"{app_id}-{batch_id}-{uuid.uuid4().hex[:8]}"
    plan = task_plan(settings, root, attempt, reader=app_id, kinds=kinds, shares=shares)
    known = known_rows(root)
    reached("tasks-running")
    written = write_batch_files(records, plan, batch_id=batch_id, known=known)
    reached("files-written")
    if offsets is not None:
        check_offsets(written.tally, offsets)
    done = []
    for table in query.tables:
        files, is_bronze = written.files.get(name_of(table), []), table in query.bronze
        if not files and table is not query.bronze[0]:
            continue
        is_written = commit_files(root, table, files, Transaction(app_id, batch_id))
        if is_bronze and not is_written and is_new:
            message = f"another driver has written batch {batch_id} of {app_id}: one of the two must end"
            raise TakenError(message)
        known_of = written.new_rows.get(table.name)
        if known_of and is_written:
            known.add(table.name, known_of)
        reached("bronze-committed" if is_bronze else "silver-committed")
        done.append(name_of(table))
    reached("batch-written")
    return Batch(counts=_counts(written), tables=done, unnamed=written.unnamed)


def commit_files(warehouse: Path, table: Table, files: list[File], transaction: Transaction) -> bool:
    """Commit files of one table under a batch's number; return False where the table has that number."""
    where = Path(tables.path(warehouse, table))
    return light_append.append(where, [_add(table, file) for file in files], transaction)


def check_offsets(tally: Tally, offsets: Offsets) -> None:
    """
    Compare the records that tasks read with the offsets of the batch.

    Raises:
        MissingRecordsError: a partition's records are fewer, more or others; the message names it.

    """
    for place in {*tally.offsets, *(place for place, (first, end) in offsets.items() if first < end)}:
        first, end = offsets.get(place, (0, 0))
        read = tally.offsets.get(place)
        if read != (first, end - 1, end - first):
            found = f"{read[2]:,} records, offsets {read[0]:,} to {read[1]:,}" if read else "no record"
            message = (
                f"{place[0]} partition {place[1]}: the batch is offsets {first:,} to {end - 1:,} and the "
                f"tasks read {found}; nothing was committed. A topic with transactions or compaction "
                "cannot be read"
            )
            raise MissingRecordsError(message)


@cache
def known_rows(warehouse: Path) -> KnownRows:
    """Return what the tables of topics and series have: one object a process, for it is their one writer."""
    return KnownRows(lambda name: warehouse / TOPICS.layer / name)


def name_of(table: Table) -> str:
    """Return `layer.name`."""
    return f"{table.layer}.{table.name}"


def _add(table: Table, file: File) -> AddAction:
    return AddAction(
        path=file.path,
        size=file.size,
        partition_values=dict.fromkeys(table.partition_by, file.day),
        modification_time=int(time.time() * 1_000),
        data_change=True,
        stats=file.stats,
    )


def _counts(written: WrittenBatch) -> Counts:
    return [
        {
            "kind": key.kind,
            "cluster": key.cluster,
            "node": key.node,
            "outcome": key.outcome,
            "lines": records,
            "newest_us": written.tally.newest_us.get(key),
        }
        for key, records in written.tally.outcomes.items()
    ]
