"""
Stream the telemetry topics into bronze and silver, each line exactly once.

Exit codes: 0 done (Ctrl-C and SIGTERM too), 1 a stream failed, 2 wrong settings, 3 lines are lost: the
topic's retention passed the checkpoint, or the topic was made anew; the line printed names topic, partition
and range, and `--accept-gap` goes on behind what retention took. 4 another process writes bronze and silver
of this warehouse. 5 a file of the checkpoint or of a table's log is damaged and cannot be mended. 6 a disk is
full. After 3, 5 and 6 nothing is half written; `docs/recovery.md` tells what to do.

Under plain Spark, from the project's folder with its venv activated:
`PYTHONPATH=. spark-submit --driver-class-path '.jars/spark/*' jobs/ingest.py --conf my.toml`; on a
cluster as `docs/spark-cluster.md` has it.
"""

import threading
import time
from pathlib import Path
from typing import Annotated

import typer
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from conf.names import Kind
from conf.settings import Settings
from engine.ingest.records import KAFKA
from jobs import tables
from jobs.gate import FINISH_BATCH_S, Gate
from jobs.ingest_batch import Offsets, write_batch
from jobs.ingest_failures import EXIT_WRONG, FAILURES, failure
from jobs.ingest_meters import Meters
from jobs.ingest_state import (
    accept_gaps,
    check_nothing_lost,
    checkpoint_of,
    finish_if_gone,
    new_sources,
    sources_of,
    topic_of,
    writers,
)
from jobs.kafka_options import java_options
from jobs.lease import lease
from jobs.progress import Progress
from jobs.session import jvm_watched, spark_session
from jobs.shared import check_shared
from jobs.sources import SOURCES, Source
from jobs.state import mend
from jobs.state_audit import repairs_of
from jobs.state_note import note_written
from jobs.stopping import ask_on_signals, hush
from jobs.stream_log import StreamLog
from jobs.writer_id import writer_id

POLLED_RECORDS = "64"
"""So many records of 4 MiB are unpacked at once, 256 MiB a task; Kafka's 500 would be 2 GB."""

POLLED_SCRAPES = "4"
"""A scrape has 1 MB and more, up to 16 MB: the consumer unpacks no more of them before they are read."""

POLL_S, LOOK_S = 0.5, 15
"""How often the queries are looked at, and the topics that were not there yet."""

SILVER_LAYER = "silver"
"""Whoever holds this lease writes bronze too: the two are written from one batch."""

app = typer.Typer(add_completion=False)


@app.command()
def ingest(
    conf: Annotated[
        list[Path] | None, typer.Option(help="Settings; the last file wins.", exists=True)
    ] = None,
    *,
    once: Annotated[bool, typer.Option("--once", help="Take what is there now, then end.")] = False,
    accept_gap: Annotated[
        bool, typer.Option("--accept-gap", help="Note what retention took in silver.gaps, and go on.")
    ] = False,
) -> None:
    """
    Stream the telemetry topics into bronze and silver until Ctrl-C.

    Exit code 3: the topic's retention passed the checkpoint, so lines are lost; nothing was written. 4:
    another process writes into the warehouse. 5: a damaged file of the streams' state is named. 6: a disk is
    full.

    Example: `plumbline ingest --conf .state/lab/lab.toml`

    Example: `plumbline ingest --conf my.toml --once`
    """
    progress = Progress()
    try:
        settings = Settings.load(*(conf or ()))
        java_options(settings.telemetry)
        _ = settings.pseudonym_key
    except ValueError as error:
        progress.say(str(error))
        raise typer.Exit(EXIT_WRONG) from error
    stop = threading.Event()
    ask_on_signals(stop)
    try:
        with (
            lease(settings.warehouse_root, SILVER_LAYER, timeout_s=settings.ingest.lease_timeout_s),
            Meters(settings.ingest.metrics_port, progress.say) as meters,
            jvm_watched(),
        ):
            mend(repairs_of(writers(settings)), progress.say)
            if not accept_gap:
                check_nothing_lost(settings)
            spark = spark_session(settings, "ingest")
            ask_on_signals(stop)
            check_shared(spark, settings.warehouse_root)
            if accept_gap:
                accept_gaps(spark, settings, progress)
            run(spark, settings, meters, stop, once=once)
            progress.say(f"ingest: {meters.summary()}")
    except FAILURES as error:
        told, code = failure(error, settings)
        progress.say(told)
        raise typer.Exit(code) from error


def run(
    spark: SparkSession, settings: Settings, meters: Meters, stop: threading.Event, *, once: bool
) -> None:
    """
    Start every query and wait: for their ends with `once`, else until `stop` or a failure.

    Raises:
        StreamingQueryException: a query failed; the others were stopped.
        LostError: it failed since the topic no longer holds what was not read yet.

    """
    listener = meters.listener()
    spark.streams.addListener(listener)
    gate, queries = Gate(), list[StreamingQuery]()
    known: list[Source] = []

    def begin(sources: list[Source]) -> None:
        for source in sources:
            finish_if_gone(spark, settings, source)
        for source in sources:
            queries.append(start(writer_of(spark, settings, source, meters, gate), settings, once=once))
        known.extend(sources)

    try:
        begin(sources_of(settings))
        look_at = time.monotonic() + LOOK_S
        while not stop.is_set() and any(query.isActive for query in queries):
            _raise_failure(queries, settings)
            if not once and time.monotonic() >= look_at:
                begin(new_sources(settings, known))
                look_at = time.monotonic() + LOOK_S
            stop.wait(POLL_S)
        if stop.is_set():
            hush()
        else:
            _raise_failure(queries, settings)
    finally:
        gate.close(FINISH_BATCH_S)
        for query in queries:
            query.stop()
        spark.streams.removeListener(listener)


def start(writer: DataStreamWriter, settings: Settings, *, once: bool) -> StreamingQuery:
    """Start one query: over what is there now, or for good."""
    if once:
        return writer.trigger(availableNow=True).start()
    return writer.trigger(processingTime=settings.ingest.trigger).start()


def writer_of(
    spark: SparkSession, settings: Settings, source: Source, meters: Meters, gate: Gate
) -> DataStreamWriter:
    """Wire one query from its topic without starting it."""
    return writer_from(records_of(spark, settings, source), settings, source, meters, gate)


def records_of(spark: SparkSession, settings: Settings, source: Source) -> DataFrame:
    """Give the topic as a stream, in batches as the settings want them."""
    is_scrape, told = source.kind is Kind.METRICS, settings.ingest
    most = told.max_scrapes_per_trigger if is_scrape else told.max_offsets_per_trigger
    options = java_options(settings.telemetry) | {
        "subscribe": topic_of(settings, source),
        "startingOffsets": "earliest",
        "failOnDataLoss": "true",
        "includeHeaders": "true",
        "maxOffsetsPerTrigger": str(most),
        "kafka.max.poll.records": POLLED_SCRAPES if is_scrape else POLLED_RECORDS,
        "kafka.client.id": f"{settings.telemetry.own_client_prefix}ingest",
    }
    return spark.readStream.format("kafka").options(**options).load().select(*KAFKA)


def writer_from(
    records: DataFrame, settings: Settings, source: Source, meters: Meters, gate: Gate
) -> DataStreamWriter:
    """Wire one query from a stream that looks like Kafka's, without starting it."""
    spark = records.sparkSession
    for table in {table: None for of in SOURCES for table in of.tables}:  # those of topics to come, too
        tables.ensure(spark, settings.warehouse_root, table)
    checkpoint = checkpoint_of(settings, source)
    app_id = f"{source.query_name}-{writer_id(checkpoint)}"
    log = StreamLog(checkpoint)
    begun = max(log.offsets, default=-1)

    def write(batch: DataFrame, batch_id: int) -> None:
        gate.enter()
        try:
            written = write_batch(
                batch,
                batch_id,
                source,
                settings=settings,
                app_id=app_id,
                is_new=batch_id > begun,
                offsets=offsets_of(log, batch_id),
            )
            note_written(checkpoint, written.tables, batch_id)
            meters.count(source.kind, written.counts)
        finally:
            gate.leave()

    stream = records.writeStream.queryName(source.query_name)
    return stream.option("checkpointLocation", str(checkpoint)).foreachBatch(write)


def offsets_of(log: StreamLog, batch: int) -> Offsets:
    """Return the first offset and the end of each partition of a batch, from Spark's log of offsets."""
    begin = log.begin(batch)
    return {place: (begin.get(place, 0), end) for place, end in (log.ends(batch) or {}).items()}


def _raise_failure(queries: list[StreamingQuery], settings: Settings) -> None:
    for query in queries:
        failure = query.exception()
        if failure is not None:
            if "KAFKA_DATA_LOSS" in str(failure) or "OffsetOutOfRange" in str(failure):
                check_nothing_lost(settings)
            raise failure


if __name__ == "__main__":
    app()
