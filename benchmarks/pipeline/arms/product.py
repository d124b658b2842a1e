"""The interface of the benchmarks to the product; adapt only this module if the product changes."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake.transaction import Transaction
from pyspark.sql import SparkSession

from benchmarks.pipeline.measure import Timed, timed
from conf.progress import Progress
from conf.settings import Settings
from engine.delta import tables
from engine.delta.file_writer import FileWriter
from engine.gold.arrivals import arrivals
from engine.gold.batches import Batches
from engine.gold.builder import Builder
from engine.gold.data_quality import rebuild_data_quality
from engine.gold.stream import STREAM
from engine.ingest import batches
from engine.ingest.batches import Offsets
from engine.ingest.meters import IngestMeters
from engine.ingest.sources import LINES, SCRAPES
from engine.ingest.task.arrow_rows import record_batch
from engine.process.gate import Gate
from engine.process.session import spark_session
from jobs import ingest
from schemas.bronze import BRONZE
from schemas.fields import Table
from schemas.gold import GOLD
from schemas.silver import SILVER

APP_ID = "bench"


def make_tables(spark: SparkSession, warehouse: Path) -> None:
    """Create every table, which is a cost per warehouse and not per line."""
    for table in (*BRONZE, *SILVER, *GOLD):
        tables.ensure(spark, warehouse, table)


def ingest_lines(spark: SparkSession, settings: Settings) -> None:
    """Run the line query over all records of its topics, as `plumbline ingest --once` does."""
    writer = ingest.writer_of(spark, settings, LINES, Uncounted(), Gate(), [], once=True)
    ingest.start(writer, settings, once=True).awaitTermination()


def build_gold(spark: SparkSession, settings: Settings) -> None:
    """Build gold from all of silver, as `plumbline build-gold` does."""
    root = settings.warehouse_root
    stream = STREAM.writer(
        arrivals(spark, settings), settings, Batches(Builder(spark, root, Progress()), Progress())
    )
    stream.trigger(availableNow=True).start().awaitTermination()
    rebuild_data_quality(root)


def gold_batches(settings: Settings) -> int:
    """Return the number of batches that the stream of gold has finished."""
    return len(list((STREAM.checkpoint(settings) / "commits").glob("[0-9]*")))


def timed_job(app: str, job: Callable[[SparkSession, Settings], Any], settings: Settings) -> Timed:
    """Run a job in this process's session, which has the JVM options of `app`; return its cost."""
    return timed(job, spark_session(settings, app), settings)


def write_scrapes(spark: SparkSession, offsets: Offsets, batch_id: int, settings: Settings) -> None:
    """Read, parse and write these offsets of the scrape topic in tasks, and commit the batch."""
    numbers, shares = batches.shared_out(spark, offsets, SCRAPES, {})
    batches.write_batch(
        numbers,
        batch_id,
        SCRAPES,
        settings=settings,
        app_id=APP_ID,
        is_new=True,
        offsets=offsets,
        shares=shares,
    )


def rows_of_parser(table: Table, rows: Sequence[Any]) -> pa.RecordBatch:
    """Return parser rows as an Arrow batch, as a task does."""
    return record_batch(table, rows)


def append(warehouse: Path, table: Table, rows: pa.RecordBatch, *, app_id: str, batch_id: int) -> None:
    """
    Append one batch as the ingest does: a task's file, then the driver's commit, both forced to disk.

    Raises:
        ValueError: the table already has this batch.

    """
    files = FileWriter(warehouse, f"{app_id}-{batch_id}")
    files.write(table, rows)
    written = list(files.closed())
    if not batches.commit_files(warehouse, table, written, Transaction(app_id, batch_id)):
        message = f"{table.layer}.{table.name} already has batch {batch_id} of {app_id}, so nothing was timed"
        raise ValueError(message)


class Uncounted(IngestMeters):
    """Meters that count nothing."""

    def __init__(self) -> None:
        """Create no metric."""

    def count(self, *_: object) -> None:
        """Do nothing."""
