"""
Build the gold tables from silver: continuously, once for all new lines, or again for a span of time.

Exit codes: those of `conf/exit_codes.py`; 0 also when Ctrl-C or SIGTERM ended `--follow`, 3 when retention
deleted silver of a part of the span, which was not rebuilt. After 5 and 6: `docs/recovery.md`.
"""

import os
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from conf.exit_codes import ExitCode, WrongUseError
from conf.host_clock import ended_when_set_back
from conf.instants import SINCE_HELP, time_range
from conf.private_folder import make_private
from conf.progress import Progress
from conf.settings import Settings
from engine.delta import tables
from engine.gold import held_back
from engine.gold.arrivals import arrivals
from engine.gold.batches import Batches
from engine.gold.builder import Builder
from engine.gold.data_quality import rebuild_data_quality
from engine.gold.former import former_repairs, starting_versions
from engine.gold.recount import Recount
from engine.gold.stream import STREAM
from engine.process.gate import FINISH_BATCH_S, Gate
from engine.process.job import job, started_session, wrong_use
from engine.process.lease import lease
from engine.process.signals import end_quietly, interrupt_on_signals, silence_spark, stop_on_signals
from engine.streams.audit.findings import apply_repairs
from schemas.bronze import BRONZE
from schemas.gold.data_quality import DATA_QUALITY
from schemas.silver import SILVER
from transforms.spans import Span, window_of
from transforms.windows import WINDOW_S

STOPPED = "stopped; the next run continues from here"

app = typer.Typer(add_completion=False, rich_markup_mode="markdown")


@app.command()
def build_gold(
    conf: Annotated[
        list[Path],
        typer.Option("--conf", help="Settings; the last file wins.", exists=True, dir_okay=False),
    ],
    *,
    follow: Annotated[bool, typer.Option(help="Run until Ctrl-C and build each new line.")] = False,
    since: Annotated[str | None, typer.Option(help=f"Rebuild from here on. {SINCE_HELP}")] = None,
    until: Annotated[
        str | None, typer.Option(help="Rebuild up to here; needs --since; default: now.")
    ] = None,
) -> None:
    """
    Build the gold tables from new lines (default), continuously (--follow), or again for a span (--since).

    Example: `plumbline build-gold --conf my.toml --follow`

    Example: `plumbline build-gold --conf my.toml --since 2026-11-21T09:00Z --until 2026-11-21T10:00Z`
    """
    progress = Progress()
    with wrong_use(progress):
        settings = Settings.load(*conf)
        span = _span(since, until, follow=follow)
    _use_utc()
    end_quietly()
    interrupt_on_signals()
    with (
        job(
            "build_gold",
            settings,
            progress,
            stopped=STOPPED,
            stopped_code=0 if follow else ExitCode.INTERRUPTED,
        ),
        ended_when_set_back("build_gold"),
        lease(settings.warehouse_root, "gold", timeout_s=settings.build_gold.lease_timeout_s),
    ):
        make_private(Path(settings.warehouse.checkpoints))
        apply_repairs([*STREAM.repairs(settings), *former_repairs(settings)], progress.say)
        refused = _run(started_session(settings, STREAM.name), settings, progress, span, follow=follow)
    if refused and span:
        raise typer.Exit(ExitCode.GONE)


def _run(
    spark: SparkSession, settings: Settings, progress: Progress, span: Span | None, *, follow: bool
) -> int:
    warehouse = settings.warehouse_root
    for table in (*BRONZE, *SILVER):
        tables.make(warehouse, table)
    tables.ensure(spark, warehouse, DATA_QUALITY)
    builder = Builder(spark, warehouse, progress)
    refused = 0
    for each_span in [span] if span else held_back.due(warehouse):
        with progress.step(f"rebuilding {each_span}"):
            refused += builder.rebuild_span(each_span)
        held_back.paid(warehouse, [each_span])
    if not span:
        _stream(spark, settings, progress, builder, follow=follow)
    for late in held_back.held(warehouse):
        progress.say(f"held back: {late}; a rule on its silver failed, see `plumbline check-quality --help`")
    with progress.step("counting every line"):
        rebuild_data_quality(warehouse)
    STREAM.note(settings)
    return refused


def _stream(
    spark: SparkSession,
    settings: Settings,
    progress: Progress,
    builder: Builder,
    *,
    follow: bool,
) -> None:
    """Build the windows that new rows touch, until the query ends or a signal stops it."""
    gate, stop = Gate(), threading.Event()
    recount = Recount(settings.warehouse_root, progress)

    def note() -> None:
        STREAM.note(settings)
        if follow:
            recount.after_batch()

    batches = Batches(builder, progress, gate, note=note)
    rows = arrivals(spark, settings, starting_versions(settings))
    pace = {"processingTime": settings.build_gold.trigger} if follow else {"availableNow": True}
    stop_on_signals(stop)
    with recount:
        _wait(STREAM.writer(rows, settings, batches).trigger(**pace).start(), stop, gate)
    interrupt_on_signals()
    if stop.is_set():
        if not follow:
            raise KeyboardInterrupt
        progress.say(STOPPED)


def _span(since: str | None, until: str | None, *, follow: bool) -> Span | None:
    now = datetime.now(UTC)
    start, end = time_range(since, until, now)
    if start is None and end is None:
        return None
    if start is None or follow:
        message = "--until needs --since, and --follow excludes both"
        raise WrongUseError(message)
    return Span(window_of(start.timestamp()), window_of((end or now).timestamp() - 1e-6) + WINDOW_S)


def _wait(query: StreamingQuery, stop: threading.Event, gate: Gate) -> None:
    """Wait for the stream to end, or for `stop`; then let a running batch finish."""
    try:
        while query.isActive and not stop.is_set():
            stop.wait(0.5)
        failure = query.exception()
        if failure is not None:
            raise failure
    finally:
        if stop.is_set():
            silence_spark()
        gate.close(FINISH_BATCH_S)
        query.stop()


def _use_utc() -> None:
    """Set the process zone to UTC: Spark returns datetimes in it, and only UTC repeats no hour."""
    os.environ["TZ"] = "UTC"
    time.tzset()


if __name__ == "__main__":
    app()
