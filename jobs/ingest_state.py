"""Where the ingest's queries stand: their checkpoints, their topics, and what of these is gone."""

from collections.abc import Collection
from pathlib import Path

from pyspark.sql import SparkSession

from conf.settings import Settings
from jobs import ingest_checkpoint, tables
from jobs.gaps import accept, finish_from_bronze, reached
from jobs.ingest_checkpoint import check_same_topic, lost, read_until
from jobs.ingest_failures import LostError
from jobs.progress import Progress
from jobs.sources import SOURCES, Source
from jobs.state import Writer
from jobs.stream_log import StreamLog
from jobs.writer_id import known_writer_id, writer_id
from schemas.silver import GAPS

CHECKPOINT_VERSION = 1
"""Counted up when a query reads other columns or topics: an old checkpoint cannot be gone on from."""

GAPS_AT_MOST = 5
"""So often retention may take more while a gap is being accepted."""


def topic_of(settings: Settings, source: Source) -> str:
    """Give the telemetry topic of a source."""
    return f"{settings.telemetry.topic_prefix}{source.kind}"


def checkpoint_of(settings: Settings, source: Source) -> Path:
    """Give the folder of a query's checkpoint."""
    return Path(settings.warehouse.checkpoints).resolve() / f"{source.query_name}_v{CHECKPOINT_VERSION}"


def sources_of(settings: Settings) -> list[Source]:
    """
    Give the sources to be read: an optional one only where its topic is, or was read before.

    Raises:
        NoTopicError: the cluster cannot be reached.

    """
    return [
        source
        for source in SOURCES
        if not source.is_optional
        or StreamLog(checkpoint_of(settings, source)).offsets
        or ingest_checkpoint.has_topic(settings.telemetry, topic_of(settings, source))
    ]


def new_sources(settings: Settings, known: Collection[Source]) -> list[Source]:
    """Give the optional sources whose topics have come meanwhile; none while the cluster does not answer."""
    if len(known) == len(SOURCES):
        return []
    try:
        return [source for source in sources_of(settings) if source not in known]
    except ingest_checkpoint.NoTopicError:
        return []


def writers(settings: Settings) -> list[Writer]:
    """Give the queries as an audit of their state wants them."""
    return [writer_of_query(settings, source) for source in SOURCES]


def writer_of_query(settings: Settings, source: Source) -> Writer:
    """Give one query as an audit of its state wants it."""
    checkpoint = checkpoint_of(settings, source)
    known = known_writer_id(checkpoint)
    return Writer(
        query_name=source.query_name,
        checkpoint=checkpoint,
        app_id=f"{source.query_name}-{known}" if known else None,
        topic=topic_of(settings, source),
        tables=tuple(Path(tables.path(settings.warehouse_root, table)) for table in (*source.tables, GAPS)),
    )


def finish_if_gone(spark: SparkSession, settings: Settings, source: Source) -> None:
    """End a batch from bronze when the topic no longer holds all of what it read."""
    writer = writer_of_query(settings, source)
    log = StreamLog(writer.checkpoint)
    if not log.offsets or log.offsets[-1] in log.commits:
        return
    if lost(settings.telemetry, writer.topic, read_until(writer.checkpoint)):
        finish_from_bronze(spark, settings, source, writer)


def check_nothing_lost(settings: Settings) -> None:
    """
    Look, before anything is started, whether the topics still hold all that was not read.

    Raises:
        LostError: they do not.
        MadeAnewError: a topic is another one of the same name.
        NoTopicError: a topic or its cluster cannot be reached.

    """
    gone = []
    for source in sources_of(settings):
        writer = writer_of_query(settings, source)
        check_same_topic(settings.telemetry, writer.topic, writer.checkpoint)
        gone += lost(settings.telemetry, writer.topic, reached(writer))
    if gone:
        raise LostError(gone)


def accept_gaps(spark: SparkSession, settings: Settings, progress: Progress) -> None:
    """
    Go on behind what retention took, as often as it takes more meanwhile.

    Raises:
        LostError: retention is quicker than this job.

    """
    for _ in range(GAPS_AT_MOST):
        for source in sources_of(settings):
            writer_id(checkpoint_of(settings, source))  # a gap may be its first batch
            accept(spark, settings, source, writer_of_query(settings, source), progress.say)
        try:
            check_nothing_lost(settings)
        except LostError:
            continue
        return
    check_nothing_lost(settings)
