"""
Build the gold tables from silver: continuously, once for all new lines, or again for a span of time.

Exit codes: 0 done (also when Ctrl-C or SIGTERM ended `--follow`), 1 failed, 2 wrong settings or options,
3 another process writes gold into this warehouse, 4 part of the span was refused because retention deleted
some of its silver, 5 a file of the checkpoint or of a table's log is damaged and cannot be repaired, 6 a disk
is full, 130 stopped before it was done. After 5 and 6: `docs/recovery.md`.
"""

import os
import threading
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from deltalake.exceptions import DeltaError
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from conf.settings import Settings
from engine.delta import tables
from engine.gold import clients_stream, held_back, metrics_stream, throttles_stream
from engine.gold import stream as gold_stream
from engine.gold.batches import WindowBatches
from engine.gold.clients import ClientWriter
from engine.gold.data_quality import rebuild_data_quality
from engine.gold.metrics import MetricsWriter
from engine.gold.stream import Batches, EachBatch
from engine.gold.throttles import ThrottleWriter
from engine.gold.writer import GoldWriter
from engine.process.disk import told_full
from engine.process.gate import FINISH_BATCH_S, Gate
from engine.process.lease import LeaseHeldError, lease
from engine.process.progress import Progress, first_line
from engine.process.session import JvmGoneError, jvm_watched, spark_session
from engine.process.shared_storage import check_shared
from engine.process.signals import ask_on_signals, hush, interrupt_on_signals
from engine.streams.audit.findings import StateError, mend
from schemas.bronze import BRONZE
from schemas.gold.data_quality import DATA_QUALITY
from schemas.silver import SILVER
from transforms.spans import Span, window_of
from transforms.windows import WINDOW_S

EXIT_FAILED, EXIT_WRONG, EXIT_LEASE, EXIT_REFUSED, EXIT_STATE, EXIT_FULL = 1, 2, 3, 4, 5, 6
EXIT_INTERRUPTED = 130
STOPPED = "stopped; the next run continues from here"

MODULES = (gold_stream, clients_stream, metrics_stream, throttles_stream)
STREAMS = tuple(module.STREAM for module in MODULES)

STOPPED_BY = (PySparkException, Py4JError, DeltaError, JvmGoneError, OSError)

app = typer.Typer(add_completion=False)


@app.command()
def build_gold(
    conf: Annotated[
        list[Path],
        typer.Option("--conf", help="Settings; the last file wins.", exists=True, dir_okay=False),
    ],
    *,
    follow: Annotated[bool, typer.Option(help="Run until Ctrl-C and build each new line.")] = False,
    since: Annotated[datetime | None, typer.Option(help="Rebuild from this instant on, UTC.")] = None,
    until: Annotated[
        datetime | None, typer.Option(help="Rebuild up to this instant, UTC; needs --since; default: now.")
    ] = None,
) -> None:
    """
    Build the gold tables from new lines (default), continuously (--follow), or again for a span (--since).

    Example: `plumbline build-gold --conf my.toml --follow`

    Example: `plumbline build-gold --conf my.toml --since 2026-11-21T09:00:00 --until 2026-11-21T10:00:00`
    """
    progress = Progress()
    try:
        settings = Settings.load(*conf)
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
            for stream in STREAMS:
                mend(stream.repairs(settings), progress.say)
            spark = spark_session(settings, gold_stream.STREAM.name)
            interrupt_on_signals()
            check_shared(spark, settings.warehouse_root)
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
    except KeyboardInterrupt:  # with --follow, a stop before the first batch is a success too
        progress.say(STOPPED)
        raise typer.Exit(0 if follow else EXIT_INTERRUPTED) from None
    if refused and span:
        raise typer.Exit(EXIT_REFUSED)


def _run(
    spark: SparkSession, settings: Settings, progress: Progress, span: Span | None, *, follow: bool
) -> int:
    warehouse = settings.warehouse_root
    for table in (*BRONZE, *SILVER):
        tables.make(warehouse, table)
    tables.ensure(spark, warehouse, DATA_QUALITY)
    writer = GoldWriter(spark, warehouse, progress)
    clients = ClientWriter(spark, warehouse, progress)
    metrics = MetricsWriter(spark, warehouse, progress)
    throttles = ThrottleWriter(spark, warehouse, progress)
    refused, others = 0, (clients, metrics, throttles)
    for each_span in [span] if span else held_back.due(warehouse):
        with progress.step(f"rebuilding {each_span}"):
            refused += writer.rebuild(range(each_span.start, each_span.end, WINDOW_S))
            writer.rebuild_scrapes(each_span)
            refused = max(refused, *(other.rebuild_span(each_span) for other in others))
        held_back.paid(warehouse, [each_span])
    if not span:
        gate, stop = Gate(), threading.Event()
        rebuilds = {
            "clients": partial(clients_stream.rebuild, clients),
            "metrics": partial(metrics_stream.rebuild, metrics),
            "throttles": partial(throttles_stream.rebuild, throttles),
        }
        of_brokers, *notes = (partial(stream.note, settings) for stream in STREAMS)
        each: list[EachBatch] = [
            Batches(writer, progress, settings if follow else None, gate, note=of_brokers)
        ]
        for (group, rebuild), note in zip(rebuilds.items(), notes, strict=True):
            each.append(WindowBatches(group, rebuild, progress, gate, note=note))
        read = [module.inputs(spark, settings) for module in MODULES]
        pace = settings.build_gold
        every = (pace.trigger, pace.clients_trigger, pace.metrics_trigger, pace.throttles_trigger)
        ask_on_signals(stop)
        queries = [
            stream.writer(rows, settings, batches)
            .trigger(**({"processingTime": its_pace} if follow else {"availableNow": True}))
            .start()
            for stream, rows, batches, its_pace in zip(STREAMS, read, each, every, strict=True)
        ]
        _wait(queries, stop, gate)
        interrupt_on_signals()
        if stop.is_set():
            if follow:
                progress.say(STOPPED)
            else:
                raise KeyboardInterrupt
    for late in held_back.held(warehouse):
        progress.say(f"held back: {late}; a rule on its silver failed, see `plumbline check-quality --help`")
    with progress.step("counting every line"):
        rebuild_data_quality(spark, warehouse)
    for stream in STREAMS:
        stream.note(settings)
    return refused


def _span(since: datetime | None, until: datetime | None, *, follow: bool) -> Span | None:
    if since is None and until is None:
        return None
    if since is None or follow:
        message = "--until needs --since, and --follow excludes both"
        raise ValueError(message)
    start = since.replace(tzinfo=UTC).timestamp()
    end = (until.replace(tzinfo=UTC) if until else datetime.now(UTC)).timestamp()
    if start >= end:
        message = f"--since {since} is not before --until {until or 'now'}"
        raise ValueError(message)
    return Span(window_of(start), window_of(end - 1e-6) + WINDOW_S)


def _wait(queries: Sequence[StreamingQuery], stop: threading.Event, gate: Gate) -> None:
    """Wait for the streams to end, or for `stop`; then let running batches finish."""
    try:
        while any(query.isActive for query in queries) and not stop.is_set():
            stop.wait(0.5)
            for query in queries:
                failure = query.exception()
                if failure is not None:
                    raise failure
    finally:
        if stop.is_set():
            hush()
        gate.close(FINISH_BATCH_S)
        for query in queries:
            query.stop()


def _use_utc() -> None:
    """Set the process zone to UTC: Spark returns datetimes in it, and only UTC repeats no hour."""
    os.environ["TZ"] = "UTC"
    time.tzset()


if __name__ == "__main__":
    app()
