"""Write one batch of telemetry: one Spark job writes the files, then each table is committed."""

import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from deltalake.transaction import Transaction
from numpy.typing import NDArray
from pyspark.sql import DataFrame, SparkSession

from conf.names import TelemetryPartition
from conf.settings import Settings
from engine.delta import appends, tables
from engine.delta.data_files import DataFile, add_action
from engine.ingest.kafka_options import consumer_options
from engine.ingest.losses import NAME as GAPS_NAME
from engine.ingest.losses import LostError, LostOffsets, TruncatedError, record
from engine.ingest.sources import SOURCES, Query
from engine.ingest.task.arrow_rows import record_batch
from engine.ingest.task.batch_files import WrittenBatch, write_batch_files
from engine.ingest.task.cluster_ids import ClusterIds, ClusterRow
from engine.ingest.task.kafka import Range, shares_of
from engine.ingest.task.known_rows import KnownRows
from engine.ingest.task.parsers import ParserOptions
from engine.ingest.task.task_plan import TaskPlan
from engine.ingest.task.written import Tally
from engine.process.fail_points import reached
from schemas.fields import Table
from schemas.silver.clusters import CLUSTERS
from schemas.silver.not_kept import Loss
from schemas.silver.topics import TOPICS
from transforms.parse.requests.identities import Identities
from transforms.parse.scrapes.page import Limits

Counts = list[dict[str, Any]]
Offsets = Mapping[TelemetryPartition, tuple[int, int]]
"""The first offset and the end offset of each partition of a batch."""

IntArray = NDArray[np.int64]

Shares = Sequence[Sequence[Range]]
"""The offset ranges that each task reads from Kafka."""

BRONZE_BY_KIND = {source.kind.value: source.bronze.name for source in SOURCES}


class TakenError(Exception):
    """Another driver writes from the same checkpoint."""


class OtherRecordsError(Exception):
    """The tasks read records twice, or records that are not in the batch's offsets; nothing was committed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchResult:
    """The result of a batch: counts of records by node and outcome, and the tables it was written into."""

    counts: Counts
    tables: list[str]
    unnamed: list[Path] = field(default_factory=list)  # files that no task reported and no commit contains
    gaps: Sequence[LostOffsets] = ()  # offsets without a record
    epochs: Mapping[TelemetryPartition, int] = field(default_factory=dict)  # of the last records


def parser_options(settings: Settings) -> ParserOptions:
    """Return the parsers' options from the settings."""
    ingest = settings.ingest
    key_file = ingest.pseudonym_key_file
    return ParserOptions(
        identities=Identities(
            follower_listeners=ingest.follower_listeners,
            controller_listeners=ingest.controller_listeners,
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
    clusters: Mapping[str, str] | None = None,
    writes_bronze: bool = True,
    shares: Shares = (),
) -> TaskPlan:
    """
    Return the instructions for the tasks of a batch.

    `kinds` names the kind of each topic, `clusters` the Kafka cluster id of each cluster name.
    """
    return TaskPlan(
        warehouse=str(warehouse),
        attempt=attempt,
        reader=f"{warehouse}:{reader}",
        ingested_at=time.time_ns() // 1_000,
        options=parser_options(settings),
        kinds=kinds or {},
        bronze=BRONZE_BY_KIND,
        clusters=clusters or {},
        writes_bronze=writes_bronze,
        consumer=tuple(consumer_options(settings.telemetry).items()) if shares else (),
        security=settings.telemetry.security,
        shares=shares,
    )


def shared_out(
    spark: SparkSession, offsets: Offsets, query: Query, epochs: Mapping[TelemetryPartition, int]
) -> tuple[DataFrame, Shares]:
    """Return a frame with one share number per task, and the offset ranges of each share."""
    tasks = spark.sparkContext.defaultParallelism
    shares = shares_of(offsets, tasks=tasks, records_per_task=query.records_per_task, epochs=epochs)
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
    accepts: Loss | None = None,
    check_topics: Callable[[], None] = lambda: None,
) -> BatchResult:
    """
    Write one batch and commit it: bronze first, then silver.

    `records` are rows of bronze, or the numbers of the `shares` that tasks read from Kafka. A table that
    already has the batch is skipped: Spark retries a batch that failed between two commits. Those of
    `offsets` that have no record go into `silver.gaps` with the reason `accepts`. `check_topics`
    is called between the read and the first commit; an exception from it leaves all tables unchanged.

    Raises:
        TakenError: the batch `is_new`, but bronze already has its id, maybe with other lines.
        LostError: some of `offsets` have no record, and `accepts` is None.
        OtherRecordsError: there are other records than those of `offsets`.
        TruncatedError: a partition was truncated below the begin of the batch, and written again.

    """
    reached("offsets-logged")
    root = settings.warehouse_root
    kinds = {f"{settings.telemetry.topic_prefix}{source.kind}": source.kind.value for source in query.sources}
    known, clusters = known_rows(root), cluster_ids(root)
    reached("tasks-running")
    is_settled = False
    while not is_settled:  # Twice if two clusters are new with one name: the tasks read both as one.
        attempt = f"{app_id}-{batch_id}-{uuid.uuid4().hex[:8]}"
        ids = clusters.by_name()
        plan = task_plan(settings, root, attempt, reader=app_id, kinds=kinds, clusters=ids, shares=shares)
        written = write_batch_files(records, plan, batch_id=batch_id, known=known)
        is_settled = clusters.settle(written.tally.clusters, partial(_store_clusters, root, app_id, batch_id))
    reached("files-written")
    gaps = gaps_of(written, offsets, root, accepts or Loss.COMPACTION) if offsets is not None else []
    if gaps and accepts is None:
        raise LostError(gaps)
    for one in written.tally.epochs.truncated:
        evidence = f"offset {one.first - 1:,}, which was read, has another leader epoch now"
        raise TruncatedError(one.topic, one.partition, evidence)
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
    if gaps:  # last: without its gaps, a batch that is retried reads the offsets again
        record(root, gaps, writer=app_id, batch=batch_id)
        done.append(GAPS_NAME)
    reached("batch-written")
    return BatchResult(
        counts=_counts(written),
        tables=done,
        unnamed=written.unnamed,
        gaps=gaps,
        epochs=written.tally.epochs.last,
    )


def commit_files(warehouse: Path, table: Table, files: list[DataFile], transaction: Transaction) -> bool:
    """Commit files of one table with a batch id; return False if the table already has that id."""
    where = Path(tables.path(warehouse, table))
    return appends.append(where, [add_action(table, file) for file in files], transaction)


def gaps_of(written: WrittenBatch, offsets: Offsets, warehouse: Path, reason: Loss) -> list[LostOffsets]:
    """
    Return the offsets of a batch that have no record.

    The counts of the tasks show whether there are any; only then the batch's own files are read.

    Raises:
        OtherRecordsError: a partition has other records, or one twice; the message names it.

    """
    wrong = differing(written.tally, offsets)
    read = _offsets_in(written, warehouse) if wrong else {}
    gaps = []
    for topic, partition in sorted(wrong):
        first, end = offsets.get((topic, partition), (0, 0))
        found, records = np.unique_counts(read.get((topic, partition), np.empty(0, np.int64)))
        if len(found) and (found[0] < first or found[-1] >= end or records.max() > 1):
            message = (
                f"{topic} partition {partition}: the batch has offsets {first:,} to {end - 1:,}, but the "
                f"tasks read {records.sum():,} records, offsets {found[0]:,} to {found[-1]:,}; nothing was "
                "committed"
            )
            raise OtherRecordsError(message)
        edges = np.concatenate(([first - 1], found, [end]))
        gaps += [
            LostOffsets(topic=topic, partition=partition, first=before + 1, end=after, reason=reason)
            for before, after in pairwise(edges.tolist())
            if after - before > 1
        ]
    return gaps


def differing(tally: Tally, offsets: Offsets) -> set[TelemetryPartition]:
    """Return the partitions of which the tasks read fewer, more or other records than the batch has."""
    due = {place: (first, end - 1, end - first) for place, (first, end) in offsets.items() if first < end}
    return {
        place for place in tally.offsets.keys() | due.keys() if tally.offsets.get(place) != due.get(place)
    }


def _offsets_in(written: WrittenBatch, warehouse: Path) -> dict[TelemetryPartition, IntArray]:
    """Return the offsets of each partition in the bronze files of a batch."""
    found: dict[TelemetryPartition, list[IntArray]] = {}
    for name in BRONZE_BY_KIND.values():
        for file in written.files.get(f"bronze.{name}", []):
            path = warehouse / "bronze" / name / file.path
            rows = pq.read_table(path, columns=["topic", "partition", "offset"], partitioning=None)
            by_place = rows.group_by(["topic", "partition"]).aggregate([("offset", "list")]).to_pydict()
            for topic, partition, some in zip(*by_place.values(), strict=True):
                found.setdefault((topic, partition), []).append(np.asarray(some, np.int64))
    return {place: np.concatenate(some) for place, some in found.items()}


_MAKING = threading.Lock()
"""`cache` alone would let two queries that start together make one object each."""


def known_rows(warehouse: Path) -> KnownRows:
    """Return the known keys of `WRITTEN_ONCE`; one object per process, because it is their only writer."""
    with _MAKING:
        return _known_rows(warehouse)


def cluster_ids(warehouse: Path) -> ClusterIds:
    """Return the Kafka cluster ids of a warehouse; one object per process, as of `known_rows`."""
    with _MAKING:
        return _cluster_ids(warehouse)


@cache
def _known_rows(warehouse: Path) -> KnownRows:
    return KnownRows(lambda name: warehouse / TOPICS.layer / name)


@cache
def _cluster_ids(warehouse: Path) -> ClusterIds:
    has_ids = tables.exists(warehouse, CLUSTERS)
    return ClusterIds.read(Path(tables.path(warehouse, CLUSTERS))) if has_ids else ClusterIds({})


def name_of(table: Table) -> str:
    """Return `layer.name`."""
    return f"{table.layer}.{table.name}"


def _store_clusters(warehouse: Path, app_id: str, batch_id: int, rows: Sequence[ClusterRow]) -> None:
    """Write rows of `silver.clusters`; not as the batch's: it may still fail, and they stay."""
    new = pa.Table.from_batches([record_batch(CLUSTERS, rows)])
    tables.append_rows(new, warehouse, CLUSTERS, txn_app_id=f"clusters-{app_id}", txn_version=batch_id)


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
