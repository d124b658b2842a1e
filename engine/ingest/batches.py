"""Write one batch of telemetry: one Spark job writes the files, then each table is committed."""

import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from deltalake.transaction import Transaction
from pyspark.sql import DataFrame, SparkSession

from conf.names import TelemetryPartition
from conf.settings import Settings
from engine.delta import appends, tables
from engine.delta.data_files import DataFile, add_action
from engine.ingest.kafka_options import consumer_options
from engine.ingest.sources import SOURCES, Query
from engine.ingest.task.batch_files import WrittenBatch, write_batch_files
from engine.ingest.task.kafka import Range, shares_of
from engine.ingest.task.known_rows import KnownRows
from engine.ingest.task.parsers import ParserOptions
from engine.ingest.task.task_plan import TaskPlan
from engine.ingest.task.written import Tally
from engine.process.fail_points import reached
from schemas.fields import Table
from schemas.silver.topics import TOPICS
from transforms.parse.requests.identities import Identities
from transforms.parse.scrapes.page import Limits

Counts = list[dict[str, Any]]
Offsets = Mapping[TelemetryPartition, tuple[int, int]]
"""The first offset and the end offset of each partition of a batch."""

Shares = Sequence[Sequence[Range]]
"""The offset ranges that each task reads from Kafka."""

BRONZE_BY_KIND = {source.kind.value: source.bronze.name for source in SOURCES}


class TakenError(Exception):
    """Another driver writes from the same checkpoint."""


class MissingRecordsError(Exception):
    """The tasks read other records than the batch's offsets; nothing was committed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchResult:
    """The result of a batch: counts of records by node and outcome, and the tables it was written into."""

    counts: Counts
    tables: list[str]
    unnamed: list[Path] = field(default_factory=list)  # files that no task reported and no commit contains


def parser_options(settings: Settings) -> ParserOptions:
    """Return the parsers' options from the settings."""
    ingest = settings.ingest
    key_file = ingest.pseudonym_key_file
    return ParserOptions(
        identities=Identities(
            follower_listeners=ingest.follower_listeners,
            follower_principals=ingest.follower_principals,
            own_principals=settings.own_principals,
            own_client_prefix=settings.telemetry.own_client_prefix,
        ),
        limits=Limits(
            scrape_bytes=ingest.max_scrape_bytes,
            scrape_samples=ingest.max_scrape_samples,
            sample_labels=ingest.max_sample_labels,
            label_chars=ingest.max_label_chars,
        ),
        pseudonym_key_file=str(Path(key_file).resolve()) if key_file else "",
        ahead_us=ingest.max_ahead_s * 1_000_000,
    )


def task_plan(  # noqa: PLR0913 (the parts of a plan)
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
    """Return a frame with one share number per task, and the offset ranges of each share."""
    tasks = spark.sparkContext.defaultParallelism
    shares = shares_of(offsets, tasks=tasks, records_per_task=query.records_per_task)
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
    check_topics: Callable[[], None] = lambda: None,
) -> BatchResult:
    """
    Write one batch and commit it: bronze first, then silver.

    `records` are rows of bronze, or the numbers of the `shares` that tasks read from Kafka. A table that
    already has the batch is skipped: Spark retries a batch that failed between two commits. `check_topics`
    is called between the read and the first commit; an exception from it leaves all tables unchanged.

    Raises:
        TakenError: the batch `is_new`, but bronze already has its id, maybe with other lines.
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
    check_topics()
    done = []
    for table in query.tables:
        files, is_bronze = written.files.get(name_of(table), []), table in query.bronze
        if not files and table is not query.bronze[0]:
            continue
        is_written = commit_files(root, table, files, Transaction(app_id, batch_id))
        if is_bronze and not is_written and is_new:
            message = f"another driver has written batch {batch_id} of {app_id}: stop one of the two"
            raise TakenError(message)
        new_rows = written.new_rows.get(table.name)
        if new_rows and is_written:
            known.add(table.name, new_rows)
        reached("bronze-committed" if is_bronze else "silver-committed")
        done.append(name_of(table))
    reached("batch-written")
    return BatchResult(counts=_counts(written), tables=done, unnamed=written.unnamed)


def commit_files(warehouse: Path, table: Table, files: list[DataFile], transaction: Transaction) -> bool:
    """Commit files of one table with a batch id; return False if the table already has that id."""
    where = Path(tables.path(warehouse, table))
    return appends.append(where, [add_action(table, file) for file in files], transaction)


def check_offsets(tally: Tally, offsets: Offsets) -> None:
    """
    Compare the records that tasks read with the offsets of the batch.

    Raises:
        MissingRecordsError: a partition has fewer, more or other records; the message names it.

    """
    for place in {*tally.offsets, *(place for place, (first, end) in offsets.items() if first < end)}:
        first, end = offsets.get(place, (0, 0))
        read = tally.offsets.get(place)
        if read != (first, end - 1, end - first):
            found = f"{read[2]:,} records, offsets {read[0]:,} to {read[1]:,}" if read else "no record"
            message = (
                f"{place[0]} partition {place[1]}: the batch has offsets {first:,} to {end - 1:,}, but the "
                f"tasks read {found}; nothing was committed. Topics with transactions or compaction "
                "are not supported"
            )
            raise MissingRecordsError(message)


@cache
def known_rows(warehouse: Path) -> KnownRows:
    """Return the known keys of `WRITTEN_ONCE`; one object per process, because it is their only writer."""
    return KnownRows(lambda name: warehouse / TOPICS.layer / name)


def name_of(table: Table) -> str:
    """Return `layer.name`."""
    return f"{table.layer}.{table.name}"


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
