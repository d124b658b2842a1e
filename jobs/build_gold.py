"""
Build the gold tables from silver: as a stream, in one go over what is new, or again for a span of time.

Exit codes: 0 done (also when Ctrl-C or SIGTERM ended `--follow`), 1 failed, 2 wrong settings or options,
3 another process writes gold into this warehouse, 4 part of the span was refused since retention has thinned
out its silver, 5 a file of the checkpoint or of a table's log is damaged and cannot be mended, 6 a disk is
full, 130 stopped before it was done. After 5 and 6: `docs/recovery.md`.
"""

import os
import threading
import time
from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from deltalake.exceptions import DeltaError
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from conf.settings import Settings
from jobs import tables
from jobs.disk import told_full
from jobs.fail_points import reached
from jobs.gate import FINISH_BATCH_S, Gate
from jobs.gold_spans import Span, touched, window_of
from jobs.gold_writer import GoldWriter
from jobs.lease import LeaseHeldError, lease
from jobs.progress import Progress, first_line
from jobs.session import JvmGoneError, jvm_watched, spark_session
from jobs.state import Repair, StateError, mend
from jobs.state_gold import gold_repairs
from jobs.stopping import ask_on_signals, hush, interrupt_on_signals
from schemas.bronze import BRONZE, CLIENT_LOG, METRICS, REQUEST_LOG
from schemas.fields import Table
from schemas.gold import DATA_QUALITY, GOLD
from schemas.silver import CLIENT_EVENTS, QUARANTINE, REQUESTS, SILVER, SKIPPED
from transforms.gold.assemble import REACH
from transforms.gold.data_quality import data_quality
from transforms.gold.stock_fetch_total import samples
from transforms.windows import WINDOW_S, window_start

EXIT_FAILED, EXIT_WRONG, EXIT_LEASE, EXIT_REFUSED, EXIT_STATE, EXIT_FULL = 1, 2, 3, 4, 5, 6
EXIT_INTERRUPTED = 130
STOPPED = "stopped; the next run goes on from here"

STOPPED_BY = (PySparkException, Py4JError, DeltaError, JvmGoneError, OSError)

RECORD = ("topic", "partition", "offset")

QUERY_NAME = "build_gold"
CHECKPOINT_VERSION = 1
"""Counted up when what the query reads changes: a checkpoint cannot be read by another query."""

QUALITY_EVERY_S = 300.0
"""Data quality counts every line there is, so a stream does not do it with every batch."""

app = typer.Typer(add_completion=False)

EPILOG = (
    "Examples: `--conf lab.toml --follow`; `--conf my.toml`; "
    "`--conf my.toml --since 2026-11-21T09:00:00 --until 2026-11-21T10:00:00`"
)


@app.command(epilog=EPILOG)
def build_gold(
    conf: Annotated[
        list[Path] | None, typer.Option(help="Settings; the last file wins.", exists=True)
    ] = None,
    *,
    follow: Annotated[bool, typer.Option(help="Go on with every new line until Ctrl-C.")] = False,
    since: Annotated[datetime | None, typer.Option(help="Rebuild from here on, UTC.")] = None,
    until: Annotated[datetime | None, typer.Option(help="Rebuild up to here, UTC; with --since.")] = None,
) -> None:
    """Build the gold tables: of what is new (default), of all that comes (--follow), or of a span again."""
    progress = Progress()
    try:
        settings = Settings.load(*(conf or ()))
        span = _span(since, until, follow=follow)
    except ValueError as error:
        progress.say(str(error))
        raise typer.Exit(EXIT_WRONG) from error
    _use_utc()
    interrupt_on_signals()
    try:
        with (
            lease(settings.warehouse_root, "gold", timeout_s=settings.build_gold.lease_timeout_s),
            jvm_watched(),
        ):
            mend(repairs(settings), progress.say)
            spark = spark_session(settings, QUERY_NAME)
            interrupt_on_signals()
            refused = _run(spark, settings, progress, span, follow=follow)
    except LeaseHeldError as error:
        progress.say(str(error))
        raise typer.Exit(EXIT_LEASE) from error
    except StateError as error:
        progress.say(str(error))
        raise typer.Exit(EXIT_STATE) from error
    except STOPPED_BY as error:
        full = told_full(settings, error)
        progress.say(f"build_gold stopped: {full or first_line(str(error))}")
        raise typer.Exit(EXIT_FULL if full else EXIT_FAILED) from error
    except KeyboardInterrupt:  # a stream that was asked to end before it began has ended as well
        progress.say(STOPPED)
        raise typer.Exit(0 if follow else EXIT_INTERRUPTED) from None
    if refused and span:
        raise typer.Exit(EXIT_REFUSED)


def _run(
    spark: SparkSession, settings: Settings, progress: Progress, span: Span | None, *, follow: bool
) -> int:
    warehouse = settings.warehouse_root
    for table in (*BRONZE, *SILVER, DATA_QUALITY):
        tables.ensure(spark, warehouse, table)
    committer = settings.warehouse.committer
    writer = GoldWriter(spark, warehouse, progress, committer=committer)
    refused = 0
    if span:
        with progress.step(f"rebuilding {span}"):
            refused = writer.rebuild(range(span.start, span.end, WINDOW_S))
            writer.rebuild_scrapes(span)
    else:
        gate, stop = Gate(), threading.Event()
        batches = Batches(writer, progress, settings if follow else None, gate)
        stream = stream_writer(inputs(spark, settings), settings, batches)
        trigger = {"processingTime": settings.build_gold.trigger} if follow else {"availableNow": True}
        ask_on_signals(stop)
        _wait(stream.trigger(**trigger).start(), stop, gate)
        interrupt_on_signals()
        if stop.is_set():
            if follow:
                progress.say(STOPPED)
            else:
                raise KeyboardInterrupt
    with progress.step("counting every line"):
        rebuild_data_quality(spark, warehouse, committer=committer)
    return refused


class Batches:
    """What the stream does with each batch: find the windows it touches and rebuild them."""

    def __init__(
        self, writer: GoldWriter, progress: Progress, follow: Settings | None, gate: Gate | None = None
    ) -> None:
        """With settings to follow by, data quality is counted every few minutes too."""
        self._writer, self._progress, self._follow = writer, progress, follow
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
        reached("gold-written")
        newest = max((row["slot"] for row in arrived), default=0)
        took = time.monotonic() - started
        until = f"{datetime.fromtimestamp(newest, UTC):%Y-%m-%dT%H:%M:%SZ}"
        if arrived:
            self._progress.say(
                f"batch {batch_id}: {lines} lines up to {until}, {len(windows)} windows, {took:.1f} s"
            )
        if self._follow and time.monotonic() - self._counted_at > QUALITY_EVERY_S:
            told = self._follow.warehouse
            rebuild_data_quality(batch.sparkSession, self._follow.warehouse_root, committer=told.committer)
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
    read = _stream_of(spark, settings, METRICS)
    scrapes = samples(read).withColumnsRenamed({"scraped_at": "logged_at", "leader_id": "broker_id"})
    lines = (
        _stream_of(spark, settings, table).select("cluster", broker.alias("broker_id"), "logged_at")
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


def stream_writer(rows: DataFrame, settings: Settings, batches: Batches) -> DataStreamWriter:
    """Wire the stream without starting it, so that a test can start it in its own way."""
    checkpoint = checkpoint_of(settings)
    return (
        rows.writeStream.queryName(QUERY_NAME)
        .option("checkpointLocation", str(checkpoint))
        .foreachBatch(batches)
    )


def checkpoint_of(settings: Settings) -> Path:
    """Give the folder of the query's checkpoint."""
    return Path(settings.warehouse.checkpoints).resolve() / f"{QUERY_NAME}-v{CHECKPOINT_VERSION}"


def repairs(settings: Settings) -> list[Repair]:
    """
    Audit the state of gold and of what it reads.

    Raises:
        StateError: something cannot be mended.

    """
    gold, read = (
        [Path(tables.path(settings.warehouse_root, table)) for table in of]
        for of in (GOLD, (METRICS, *REACH))
    )
    return gold_repairs(checkpoint_of(settings), gold, read)


def rebuild_data_quality(spark: SparkSession, warehouse: Path, *, committer: str) -> None:
    """Count every line of every log again; of what retention has deleted from bronze, nothing is counted."""
    logs = (REQUEST_LOG, CLIENT_LOG)
    bronze = tables.read(spark, warehouse, REQUEST_LOG).unionByName(tables.read(spark, warehouse, CLIENT_LOG))
    requests, client_events, quarantine, skipped = (
        tables.read(spark, warehouse, table) for table in (REQUESTS, CLIENT_EVENTS, QUARANTINE, SKIPPED)
    )
    cut = [at for log in logs if (at := tables.complete_from(warehouse, log)) is not None]
    if cut:
        is_whole = F.col("ingest_date") >= F.lit(max(cut).date())
        bronze, skipped = bronze.filter(is_whole), skipped.filter(is_whole)
        requests, client_events, quarantine = (
            rows.join(bronze.select(*RECORD), on=list(RECORD), how="left_semi")
            for rows in (requests, client_events, quarantine)
        )
    rows = data_quality(bronze, requests, client_events, quarantine, skipped)
    tables.overwrite(rows, warehouse, DATA_QUALITY, committer=committer)


def _stream_of(spark: SparkSession, settings: Settings, table: Table) -> DataFrame:
    return (
        spark.readStream.format("delta")
        .option("maxFilesPerTrigger", settings.build_gold.max_files_per_trigger)
        # Retention deletes and a replay rewrites: neither is a new line. `--since` rebuilds after a replay.
        .option("skipChangeCommits", "true")
        .load(tables.path(settings.warehouse_root, table))
    )


def _span(since: datetime | None, until: datetime | None, *, follow: bool) -> Span | None:
    if since is None and until is None:
        return None
    if since is None or follow:
        message = "--until goes with --since, and neither with --follow"
        raise ValueError(message)
    start = since.replace(tzinfo=UTC).timestamp()
    end = (until.replace(tzinfo=UTC) if until else datetime.now(UTC)).timestamp()
    if start >= end:
        message = f"nothing lies between --since {since} and --until {until or 'now'}"
        raise ValueError(message)
    return Span(window_of(start), window_of(end - 1e-6) + WINDOW_S)


def _wait(query: StreamingQuery, stop: threading.Event, gate: Gate) -> None:
    """Wait for the end of the stream or for the wish to stop it, which lets the running batch end."""
    try:
        while query.isActive and not stop.is_set():
            stop.wait(0.5)
        failure = query.exception()
        if failure is not None:
            raise failure
    finally:
        if stop.is_set():
            hush()
        gate.close(FINISH_BATCH_S)
        query.stop()


def _use_utc() -> None:
    """Spark hands instants out in the process's zone; in UTC no hour comes twice."""
    os.environ["TZ"] = "UTC"
    time.tzset()


if __name__ == "__main__":
    app()
