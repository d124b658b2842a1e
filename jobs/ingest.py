"""
Stream the telemetry topics into bronze and silver, each line exactly once.

Exit codes: 0 done (also after Ctrl-C or SIGTERM), 1 a stream failed, 2 wrong settings, also those of a topic,
3 lines are lost: retention passed the checkpoint, offsets have no record, or the topic was truncated or
created again; the message names topic, partition and range, and `--accept-gap` continues after the first two.
4 another process writes bronze and silver of this warehouse. 5 a file of the checkpoint or of a table's log
is damaged and cannot be repaired. 6 a disk is full. After 3, 5 and 6 nothing is half written; see
`docs/recovery.md`.

Under plain Spark, from the project's folder with its venv activated:
`PYTHONPATH=. spark-submit --driver-class-path '.jars/spark/*' jobs/ingest.py --conf my.toml`; on a
cluster see `docs/spark-cluster.md`.
"""

import json
import re
import threading
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from conf.exit_codes import CommandError
from conf.host_clock import ended_when_set_back
from conf.metrics_endpoint import metrics_endpoint
from conf.private_folder import make_private
from conf.progress import Progress
from conf.settings import Settings, Telemetry
from engine.delta import tables
from engine.ingest.batches import Offsets, parser_options, shared_out, write_batch
from engine.ingest.checkpoints import (
    NoTopicError,
    check_same_topic,
    check_still_same,
    ends_early,
    offsets_held,
)
from engine.ingest.handover import hand_over
from engine.ingest.kafka_options import check_source, source_options
from engine.ingest.losses import accepted
from engine.ingest.meters import IngestMeters
from engine.ingest.positions import (
    accept_gaps,
    check_nothing_lost,
    checkpoint_of,
    finish_if_gone,
    loss_noted,
    topic_of,
    writers,
)
from engine.ingest.sources import QUERIES, SCRAPES, Query
from engine.ingest.task.kafka import UnreadError
from engine.ingest.topic_policy import check_policies
from engine.process.gate import FINISH_BATCH_S, Gate
from engine.process.job import job, started_session, wrong_use
from engine.process.lease import lease
from engine.process.session import set_system_properties
from engine.process.signals import silence_spark, stop_on_signals
from engine.streams.audit.findings import apply_repairs
from engine.streams.audit.ingest import repairs_of
from engine.streams.log import StreamLog
from engine.streams.note import epochs, note_epochs, note_written
from engine.streams.parser_options import check_options
from engine.streams.writer_id import writer_id
from schemas.silver.clusters import CLUSTERS
from schemas.silver.not_kept import Loss

PORT_SETTING = "[ingest] metrics_port"
POLL_S = 0.5
"""Interval of the checks of the queries' state."""

SILVER_LAYER = "silver"
"""The lease for bronze and silver, which are written from the same batch."""

app = typer.Typer(add_completion=False, rich_markup_mode="markdown")


@app.command()
def ingest(
    conf: Annotated[
        list[Path],
        typer.Option("--conf", help="Settings; the last file wins.", exists=True, dir_okay=False),
    ],
    *,
    once: Annotated[bool, typer.Option("--once", help="Read the lines in the topics now, then end.")] = False,
    accept_gap: Annotated[
        bool, typer.Option("--accept-gap", help="Record lines that Kafka lost in silver.gaps; continue.")
    ] = False,
) -> None:
    """
    Stream the telemetry topics into bronze and silver until Ctrl-C.

    Exit code 2: wrong settings, or a topic is compacted. 3: Kafka lost lines that were not read. 4: another
    process writes into the warehouse. 5: a file of the streams' state is damaged; the message names it. 6: a
    disk is full.

    Example: `plumbline ingest --conf .state/lab/lab.toml`

    Example: `plumbline ingest --conf my.toml --once`
    """
    progress = Progress()
    with wrong_use(progress):
        settings = Settings.load(*conf)
        check_source(settings.telemetry)
        _ = settings.pseudonym_key
    meters, stop = IngestMeters(progress), threading.Event()
    stop_on_signals(stop)
    with (
        job("ingest", settings, progress),
        ended_when_set_back("ingest"),
        lease(settings.warehouse_root, SILVER_LAYER, timeout_s=settings.ingest.lease_timeout_s),
        metrics_endpoint(meters.registry, settings.ingest.metrics_port, PORT_SETTING) as url,
        progress,
    ):
        progress.say(f"metrics: {url}")
        make_private(Path(settings.warehouse.checkpoints))
        hand_over(settings, progress)
        apply_repairs(repairs_of(writers(settings)), progress.say)
        for query in QUERIES:
            check_options(checkpoint_of(settings, query), str(parser_options(settings)))
        check_policies(settings, progress.say)
        if not accept_gap:
            check_nothing_lost(settings)
        spark = started_session(settings, "ingest")
        stop_on_signals(stop)
        if accept_gap:
            accept_gaps(spark, settings, progress)
        run(spark, settings, meters, stop, once=once, accepts=Loss.COMPACTION if accept_gap else None)
        progress.show(f"ingest: {meters.summary()}")


def run(  # noqa: PLR0913 (what, where to, and when it ends)
    spark: SparkSession,
    settings: Settings,
    meters: IngestMeters,
    stop: threading.Event,
    *,
    once: bool,
    accepts: Loss | None = None,
) -> None:
    """
    Start every query and wait until all have ended (`once`), until `stop`, or until a failure.

    Raises:
        StreamingQueryException: a query failed; the others were stopped.
        LostError: a query failed because Kafka lost records that were not read yet.
        OffsetsReusedError: a query failed because a topic was created again or truncated.

    """
    gate, started, raised = Gate(), list[StreamingQuery](), list[CommandError]()
    try:
        for query in QUERIES:
            finish_if_gone(spark, settings, query)
        for query in QUERIES:
            writer = writer_of(spark, settings, query, meters, gate, raised, once=once, accepts=accepts)
            started.append(start(writer, settings, once=once))
        while not stop.is_set() and any(one.isActive for one in started):
            _raise_failure(started, settings, raised)
            _read_progress(started, meters)
            stop.wait(POLL_S)
        _read_progress(started, meters)
        if stop.is_set():
            silence_spark()
        else:
            _raise_failure(started, settings, raised)
    finally:
        gate.close(FINISH_BATCH_S)
        for one in started:
            one.stop()


def start(writer: DataStreamWriter, settings: Settings, *, once: bool) -> StreamingQuery:
    """Start one query: over the records that are there now (`once`), or continuously."""
    if once:
        return writer.trigger(availableNow=True).start()
    return writer.trigger(processingTime=settings.ingest.trigger).start()


def writer_of(  # noqa: PLR0913, PLR0917 (which query, where to, and who counts, stops and explains it)
    spark: SparkSession,
    settings: Settings,
    query: Query,
    meters: IngestMeters,
    gate: Gate,
    raised: list[CommandError],
    *,
    once: bool,
    accepts: Loss | None = None,
) -> DataStreamWriter:
    """Return one configured query over its topics without starting it; its errors are added to `raised`."""
    for table in {table: None for each in QUERIES for table in (*each.tables, CLUSTERS)}:
        tables.ensure(spark, settings.warehouse_root, table)
    checkpoint = checkpoint_of(settings, query)
    app_id = f"{query.name}-{writer_id(checkpoint)}"
    log = StreamLog(checkpoint)
    begun = max(log.offsets, default=-1)

    def write(batch: DataFrame, batch_id: int) -> None:
        gate.enter()
        try:
            with loss_noted(settings, query):
                offsets = offsets_of(log, batch_id, settings.telemetry)
                log.sync(batch_id)
                begins = {place: first for place, (first, _) in offsets.items()}
                known = epochs(checkpoint, begins)
                numbers, shares = shared_out(batch.sparkSession, offsets, query, known)
                written = write_batch(
                    numbers,
                    batch_id,
                    query,
                    settings=settings,
                    app_id=app_id,
                    is_new=batch_id > begun,
                    offsets=offsets,
                    shares=shares,
                    accepts=accepts,
                    check_topics=partial(
                        check_still_same, settings.telemetry, {topic for topic, _ in offsets}, checkpoint
                    ),
                )
            note_written(checkpoint, written.tables, batch_id)
            note_epochs(checkpoint, {place: end for place, (_, end) in offsets.items()}, written.epochs)
            meters.count(written.counts)
            for gap in written.gaps:
                meters.progress.say(accepted(gap))
            for file in written.unnamed:
                meters.progress.say(f"{file}: its task failed or ran twice; `plumbline maintain` removes it")
        except CommandError as error:
            raised.append(error)
            raise
        finally:
            gate.leave()

    stream = offsets_stream(spark, settings, query, once=once).writeStream.queryName(query.name)
    return stream.option("checkpointLocation", str(checkpoint)).foreachBatch(write)


def offsets_stream(spark: SparkSession, settings: Settings, query: Query, *, once: bool) -> DataFrame:
    """
    Return a stream that plans the offsets of each batch; the tasks read the records from Kafka themselves.

    Spark finds topics that appear later. `failOnDataLoss` is off, because `offsets_of` checks every batch.
    """
    ingest, is_scrapes = settings.ingest, query is SCRAPES
    topics = "|".join(re.escape(topic_of(settings, source)) for source in query.sources)
    most = ingest.max_scrapes_per_trigger if is_scrapes else ingest.max_offsets_per_trigger
    options = source_options(settings.telemetry) | {
        "subscribePattern": f"^({topics})$",
        "startingOffsets": "earliest",
        "failOnDataLoss": "false",
        "maxOffsetsPerTrigger": str(most),
        "kafka.client.id": f"{settings.telemetry.own_client_prefix}ingest",
    }
    if not once and not is_scrapes:  # small batches of lines wait, scrapes do not
        options["minOffsetsPerTrigger"] = str(min(ingest.min_offsets_per_trigger, most))
        options["maxTriggerDelay"] = f"{ingest.max_trigger_delay_s}s"
    set_system_properties(spark, settings.telemetry.security.java_system_properties)
    return spark.readStream.format("kafka").options(**options).load()


def offsets_of(log: StreamLog, batch: int, telemetry: Telemetry) -> Offsets:
    """
    Return the first offset and the end offset of each partition of a batch, from Spark's offset log.

    A new topic begins at its first available offset, and a new partition of a known topic at 0.

    Raises:
        OffsetsReusedError: a partition ends before the offset up to which it was read.
        NoTopicError: a topic that was read is gone.

    """
    begin, ends = log.begin(batch), log.ends(batch) or {}
    if places := ends.keys() - begin.keys():
        new = sorted({topic for topic, _ in places} - {topic for topic, _ in begin})
        held = {(topic, n): low for topic in new for n, (low, _) in offsets_held(telemetry, topic).items()}
        log.note_begins({place: held.get(place, 0) for place in places})
        begin = log.begin(batch)
    for topic, partition in begin.keys() - ends.keys():
        message = f"{topic} partition {partition} was read but no longer exists; nothing was written"
        raise NoTopicError(message)
    for (topic, partition), end in ends.items():
        if end < (first := begin[topic, partition]):
            is_same = check_same_topic(telemetry, topic, log.folder)
            raise ends_early(topic, partition, end, first, is_same=is_same)
    return {place: (begin[place], end) for place, end in ends.items()}


def _read_progress(queries: list[StreamingQuery], meters: IngestMeters) -> None:
    """Read each query's last progress; a Python listener would cost 0.1 CPU-s per batch, 100 times more."""
    for query in queries:
        progress = query.lastProgress
        if progress is not None:
            meters.progressed(json.loads(progress.json))


def _raise_failure(queries: list[StreamingQuery], settings: Settings, raised: Sequence[CommandError]) -> None:
    for query in queries:
        failure = query.exception()
        if failure is not None:
            if raised:
                raise raised[0] from failure
            if UnreadError.__name__ in str(failure):
                check_nothing_lost(settings)
            raise failure


if __name__ == "__main__":
    app()
