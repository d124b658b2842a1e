"""The stream that builds gold: its inputs, its checkpoint, and the windows that new lines of silver touch."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.readwriter import DataStreamWriter

from conf.settings import Settings
from engine.delta import log_entries, tables
from engine.gold.data_quality import rebuild_data_quality
from engine.gold.writer import GoldWriter
from engine.process.fail_points import reached
from engine.process.gate import Gate
from engine.process.progress import Progress
from engine.streams.audit.findings import Repair
from engine.streams.audit.gold import gold_repairs
from engine.streams.note import note_versions
from schemas.bronze import METRICS
from schemas.fields import Table
from schemas.gold import BROKER_TABLES
from schemas.silver.client_events import CLIENT_EVENTS
from schemas.silver.requests import REQUESTS
from transforms.gold.assemble import REACH
from transforms.gold.fetch_latency.stock_fetch_total import samples
from transforms.spans import touched
from transforms.windows import window_start

EachBatch = Callable[[DataFrame, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldStream:
    """
    A query from silver to gold, with the tables it writes, and those it reads in the order of its sources.

    Increment `version` when `read` changes, because a checkpoint fits only the query that wrote it.
    """

    name: str
    version: int
    gold: tuple[Table, ...]
    read: tuple[Table, ...]

    def checkpoint(self, settings: Settings) -> Path:
        """Return the folder of the query's checkpoint."""
        return Path(settings.warehouse.checkpoints).resolve() / f"{self.name}-v{self.version}"

    def writer(self, rows: DataFrame, settings: Settings, batches: EachBatch) -> DataStreamWriter:
        """Return the configured stream without starting it, so that a test can choose the trigger."""
        checkpoint = str(self.checkpoint(settings))
        writer = rows.writeStream.queryName(self.name).option("checkpointLocation", checkpoint)
        return writer.foreachBatch(batches)

    def repairs(self, settings: Settings) -> list[Repair]:
        """
        Return the repairs that an audit of gold and of its inputs finds.

        Raises:
            StateError: a damage cannot be repaired.

        """
        gold, read = (
            [Path(tables.path(settings.warehouse_root, table)) for table in of]
            for of in (self.gold, self.read)
        )
        return gold_repairs(self.checkpoint(settings), gold, read)

    def note(self, settings: Settings) -> None:
        """Store the versions of gold's tables for the audit at the next start."""
        folders = {table.name: Path(tables.path(settings.warehouse_root, table)) for table in self.gold}
        present = {name: where for name, where in folders.items() if (where / "_delta_log").is_dir()}
        versions = {name: log_entries.opened(where).version() for name, where in present.items()}
        note_versions(self.checkpoint(settings), versions)


STREAM = GoldStream(name="build_gold", version=1, gold=BROKER_TABLES, read=(METRICS, *REACH))

QUALITY_EVERY_S = 300.0
"""Data quality counts every line of the warehouse, which is too expensive for every batch."""


class Batches:
    """The batch function of the stream: find the windows that a batch touches, and rebuild them."""

    def __init__(
        self,
        writer: GoldWriter,
        progress: Progress,
        follow: Settings | None,
        gate: Gate | None = None,
        *,
        note: Callable[[], None] = lambda: None,
    ) -> None:
        """With `follow`, count data quality every few minutes; `note` is called at the end of a batch."""
        self._writer, self._progress, self._follow, self._note = writer, progress, follow, note
        self._gate = gate or Gate()
        self._counted_at = time.monotonic()

    def __call__(self, batch: DataFrame, batch_id: int) -> None:
        """Rebuild the windows that a batch touches; a retried batch builds the same gold."""
        self._gate.enter()
        try:
            self._rebuild(batch, batch_id)
        finally:
            self._gate.leave()

    def _rebuild(self, batch: DataFrame, batch_id: int) -> None:
        started = time.monotonic()
        arrived = by_window(batch).collect()
        windows, lines = self._windows(arrived), sum(row["lines"] for row in arrived)
        self._writer.expect(lines)
        self._writer.rebuild(windows)
        self._writer.add_scrapes([row for row in arrived if row["has_metric"]])
        self._report_unreadable(arrived)
        self._note()
        reached("gold-written")
        newest = max((row["slot"] for row in arrived), default=0)
        took = time.monotonic() - started
        until = f"{datetime.fromtimestamp(newest, UTC):%Y-%m-%dT%H:%M:%SZ}"
        if arrived:
            self._progress.say(
                f"batch {batch_id}: {lines} lines up to {until}, {len(windows)} windows, {took:.1f} s"
            )
        if self._follow and time.monotonic() - self._counted_at > QUALITY_EVERY_S:
            rebuild_data_quality(batch.sparkSession, self._follow.warehouse_root)
            self._counted_at = time.monotonic()

    def _windows(self, arrived: Iterable[Row]) -> set[int]:
        """Return the windows to rebuild: those that the lines touch, and older ones that may now settle."""
        of_table: dict[str, set[int]] = defaultdict(set)
        for row in arrived:
            of_table[row["input"]].add(row["slot"])
        requests = [row for row in arrived if row["input"] == REQUESTS.name and row["broker_id"] is not None]
        self._writer.saw((row["cluster"], row["broker_id"], row["newest"]) for row in requests)
        windows = [touched(of_table[table.name], reach) for table, reach in REACH.items()]
        return set().union(*windows, self._writer.may_settle())

    def _report_unreadable(self, arrived: Iterable[Row]) -> None:
        unreadable = [row for row in arrived if row["is_readable"] is False]
        for row in unreadable:
            self._progress.say(f"a scrape of broker {row['broker_id']} at {row['newest']} UTC cannot be read")


def inputs(spark: SparkSession, settings: Settings) -> DataFrame:
    """Return a stream of the columns that determine the windows of a line; scrapes are parsed."""
    read = stream_of(spark, settings, METRICS)
    scrapes = samples(read).withColumnsRenamed({"scraped_at": "logged_at", "leader_id": "broker_id"})
    lines = (
        stream_of(spark, settings, table).select("cluster", broker.alias("broker_id"), "logged_at")
        for table, broker in ((REQUESTS, F.col("broker_id")), (CLIENT_EVENTS, F.lit(None).cast("int")))
    )
    requests, client_events = (
        rows.withColumn("input", F.lit(table.name)) for rows, table in zip(lines, REACH, strict=True)
    )
    return (
        scrapes.withColumn("input", F.lit(METRICS.name))
        .unionByName(requests, allowMissingColumns=True)
        .unionByName(client_events, allowMissingColumns=True)
    )


def by_window(batch: DataFrame) -> DataFrame:
    """Count a batch's lines by input, broker and window; each scrape keeps its own row."""
    is_scrape = F.col("input") == METRICS.name
    second = F.unix_seconds(window_start(F.col("logged_at"))).alias("slot")
    of_scrape = ("mean_ms", "p50_ms", "p99_ms", "count", "is_readable", "has_metric")
    return (
        batch.filter(F.col("logged_at").isNotNull())
        .groupBy(
            "input", "cluster", "broker_id", second, F.when(is_scrape, F.col("logged_at")).alias("scraped_at")
        )
        .agg(
            F.count(F.lit(1)).alias("lines"),
            F.max("logged_at").alias("newest"),
            *[F.max(name).alias(name) for name in of_scrape],
        )
        .withColumn("leader_id", F.col("broker_id"))
    )


def stream_of(spark: SparkSession, settings: Settings, table: Table) -> DataFrame:
    """Return the stream of the rows appended to a table."""
    return (
        spark.readStream.format("delta")
        .option("maxFilesPerTrigger", settings.build_gold.max_files_per_trigger)
        .option("maxBytesPerTrigger", settings.build_gold.max_bytes_per_trigger)
        # Skip commits that delete or rewrite rows (retention, MERGE of a replay): they add no lines.
        .option("skipChangeCommits", "true")
        .load(tables.path(settings.warehouse_root, table))
    )
