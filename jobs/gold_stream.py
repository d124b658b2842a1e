"""The stream that builds gold: which windows the new lines of silver touch, its state, and what it notes."""

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
from engine.process.fail_points import reached
from jobs import light_log, tables
from jobs.gate import Gate
from jobs.gold_quality import rebuild_data_quality
from jobs.gold_spans import touched
from jobs.gold_writer import GoldWriter
from jobs.progress import Progress
from jobs.state import Repair
from jobs.state_gold import gold_repairs
from jobs.state_note import note_versions
from schemas.bronze import METRICS
from schemas.fields import Table
from schemas.gold import BROKER_TABLES
from schemas.silver import CLIENT_EVENTS, REQUESTS
from transforms.gold.assemble import REACH
from transforms.gold.stock_fetch_total import samples
from transforms.windows import window_start

EachBatch = Callable[[DataFrame, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldStream:
    """
    A query from silver to gold: what it writes, and what it reads, in its order.

    `version` is counted up when what it reads changes: a checkpoint cannot be read by another query.
    """

    name: str
    version: int
    gold: tuple[Table, ...]
    read: tuple[Table, ...]

    def checkpoint(self, settings: Settings) -> Path:
        """Give the folder of the query's checkpoint."""
        return Path(settings.warehouse.checkpoints).resolve() / f"{self.name}-v{self.version}"

    def writer(self, rows: DataFrame, settings: Settings, batches: EachBatch) -> DataStreamWriter:
        """Wire the stream without starting it, so that a test can start it in its own way."""
        checkpoint = str(self.checkpoint(settings))
        writer = rows.writeStream.queryName(self.name).option("checkpointLocation", checkpoint)
        return writer.foreachBatch(batches)

    def repairs(self, settings: Settings) -> list[Repair]:
        """
        Audit the state of gold and of what it reads.

        Raises:
            StateError: something cannot be mended.

        """
        gold, read = (
            [Path(tables.path(settings.warehouse_root, table)) for table in of]
            for of in (self.gold, self.read)
        )
        return gold_repairs(self.checkpoint(settings), gold, read)

    def note(self, settings: Settings) -> None:
        """Note how far gold's tables are, for the next start's audit."""
        of = {table.name: Path(tables.path(settings.warehouse_root, table)) for table in self.gold}
        there = {name: where for name, where in of.items() if (where / "_delta_log").is_dir()}
        told = {name: light_log.opened(where).version() for name, where in there.items()}
        note_versions(self.checkpoint(settings), told)


STREAM = GoldStream(name="build_gold", version=1, gold=BROKER_TABLES, read=(METRICS, *REACH))

QUALITY_EVERY_S = 300.0
"""Data quality counts every line there is, so a stream does not do it with every batch."""


class Batches:
    """What the stream does with each batch: find the windows it touches and rebuild them."""

    def __init__(
        self,
        writer: GoldWriter,
        progress: Progress,
        follow: Settings | None,
        gate: Gate | None = None,
        *,
        note: Callable[[], None] = lambda: None,
    ) -> None:
        """With settings to follow by, data quality is counted every few minutes too; `note` ends a batch."""
        self._writer, self._progress, self._follow, self._note = writer, progress, follow, note
        self._gate = gate or Gate()
        self._counted_at = time.monotonic()

    def __call__(self, batch: DataFrame, batch_id: int) -> None:
        """Rebuild what a batch touched; a batch that is given again gives the same gold."""
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
        self._tell_unreadable(arrived)
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
        """Give the windows to rebuild: those the lines touch, and older ones that they let settle."""
        of_table: dict[str, set[int]] = defaultdict(set)
        for row in arrived:
            of_table[row["input"]].add(row["slot"])
        requests = [row for row in arrived if row["input"] == REQUESTS.name and row["broker_id"] is not None]
        self._writer.saw((row["cluster"], row["broker_id"], row["newest"]) for row in requests)
        windows = [touched(of_table[table.name], reach) for table, reach in REACH.items()]
        return set().union(*windows, self._writer.may_settle())

    def _tell_unreadable(self, arrived: Iterable[Row]) -> None:
        unreadable = [row for row in arrived if row["is_readable"] is False]
        for row in unreadable:
            self._progress.say(f"a scrape of broker {row['broker_id']} at {row['newest']} UTC cannot be read")


def inputs(spark: SparkSession, settings: Settings) -> DataFrame:
    """Stream the few columns of every input that tell which windows a line touches; scrapes come read."""
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
    """Count a batch's lines by input, broker and window; a scrape stays a row of its own."""
    is_scrape = F.col("input") == METRICS.name
    second = F.unix_seconds(window_start(F.col("logged_at"))).alias("slot")
    told = ("mean_ms", "p50_ms", "p99_ms", "count", "is_readable", "has_metric")
    return (
        batch.filter(F.col("logged_at").isNotNull())
        .groupBy(
            "input", "cluster", "broker_id", second, F.when(is_scrape, F.col("logged_at")).alias("scraped_at")
        )
        .agg(
            F.count(F.lit(1)).alias("lines"),
            F.max("logged_at").alias("newest"),
            *[F.max(name).alias(name) for name in told],
        )
        .withColumn("leader_id", F.col("broker_id"))
    )


def stream_of(spark: SparkSession, settings: Settings, table: Table) -> DataFrame:
    """Stream the rows that are added to a table."""
    return (
        spark.readStream.format("delta")
        .option("maxFilesPerTrigger", settings.build_gold.max_files_per_trigger)
        .option("maxBytesPerTrigger", settings.build_gold.max_bytes_per_trigger)
        # Retention deletes and a replay rewrites: neither is a new line. `--since` rebuilds after a replay.
        .option("skipChangeCommits", "true")
        .load(tables.path(settings.warehouse_root, table))
    )
