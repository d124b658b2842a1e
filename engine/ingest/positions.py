"""The checkpoints and topics of the ingest's queries, and the records that were lost before a read."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from pyspark.sql import SparkSession

from conf.progress import Progress
from conf.settings import Settings
from engine.delta import tables
from engine.ingest import checkpoints
from engine.ingest.checkpoints import check_same_topic, lost, read_until
from engine.ingest.gaps import accept, ends_in_bronze, finish_from_bronze
from engine.ingest.losses import LostError, LostOffsets, OffsetsReusedError, record
from engine.ingest.sources import FORMER_QUERIES, QUERIES, Query, Source
from engine.streams.audit.findings import Writer
from engine.streams.log import Ends, StreamLog
from engine.streams.writer_id import known_writer_id, writer_id
from schemas.silver.clusters import CLUSTERS
from schemas.silver.not_kept import GAPS

CHECKPOINT_VERSION = 1
"""Incremented when a query reads other columns or topics, because it cannot use an old checkpoint."""

GAPS_AT_MOST = 5
"""How often retention may delete more records while a gap is being accepted."""


def topic_of(settings: Settings, source: Source) -> str:
    """Return the telemetry topic of a source."""
    return f"{settings.telemetry.topic_prefix}{source.kind}"


def checkpoint_of(settings: Settings, query: Query) -> Path:
    """Return the folder of a query's checkpoint."""
    return Path(settings.warehouse.checkpoints).resolve() / f"{query.name}_v{CHECKPOINT_VERSION}"


def topics_of(settings: Settings, query: Query) -> list[str]:
    """
    Return the topics that a query reads: an optional one only where it exists, or was read before.

    Raises:
        NoTopicError: the cluster cannot be reached.

    """
    log = StreamLog(checkpoint_of(settings, query))
    begun = {topic for batch in log.offsets[-2:] for topic, _ in log.ends(batch) or {}}
    return [
        topic_of(settings, source)
        for source in query.sources
        if not source.is_optional
        or topic_of(settings, source) in begun
        or checkpoints.has_topic(settings.telemetry, topic_of(settings, source))
    ]


def writers(settings: Settings) -> list[Writer]:
    """Return the queries as inputs of a state audit; before the handover, the former queries."""
    return [
        writer_of_query(settings, one)
        for query in QUERIES
        for one in former_queries(settings, query) or [query]
    ]


def former_queries(settings: Settings, query: Query) -> list[Query]:
    """Return the former queries whose checkpoints are not handed over to this query yet."""
    return [
        former
        for former in FORMER_QUERIES
        if former.sources[0] in query.sources and checkpoint_of(settings, former).exists()
    ]


def writer_of_query(settings: Settings, query: Query) -> Writer:
    """Return one query as the input of a state audit."""
    checkpoint, root = checkpoint_of(settings, query), settings.warehouse_root
    known = known_writer_id(checkpoint)
    return Writer(
        query_name=query.name,
        checkpoint=checkpoint,
        app_id=f"{query.name}-{known}" if known else None,
        bronze={
            topic_of(settings, source): Path(tables.path(root, source.bronze)) for source in query.sources
        },
        tables=tuple(Path(tables.path(root, table)) for table in (*query.tables, CLUSTERS, GAPS)),
        former_names=tuple(one.name for one in FORMER_QUERIES if one.sources[0] in query.sources),
    )


def finish_if_gone(spark: SparkSession, settings: Settings, query: Query) -> None:
    """Finish a begun batch from bronze if a topic has deleted some of its records."""
    log = StreamLog(checkpoint_of(settings, query))
    if not log.offsets or log.offsets[-1] in log.commits:
        return
    if _gone(settings, query, read_until(log.folder)):
        finish_from_bronze(spark, settings, query, writer_of_query(settings, query))


def check_nothing_lost(settings: Settings) -> None:
    """
    Check, before anything is started, that the topics still have every record that was not read.

    Raises:
        LostError: a topic deleted unread records.
        OffsetsReusedError: a topic was created again or truncated; the loss is recorded.
        NoTopicError: a topic or its cluster cannot be reached.

    """
    gone = []
    for query in QUERIES:
        with loss_noted(settings, query):
            gone += _gone(settings, query, ends_in_bronze(writer_of_query(settings, query)))
    if gone:
        raise LostError(gone)


def accept_gaps(spark: SparkSession, settings: Settings, progress: Progress) -> None:
    """
    Continue after records that retention deleted; repeat while it deletes more.

    Raises:
        LostError: retention deletes records faster than this job reads.
        OffsetsReusedError: a topic was created again or truncated; the loss is recorded.

    """
    for _ in range(GAPS_AT_MOST):
        for query in QUERIES:
            writer_id(checkpoint_of(settings, query))  # a gap may be its first batch
            writer = writer_of_query(settings, query)
            with loss_noted(settings, query):
                accept(spark, settings, query, writer, partial(_gone, settings, query), progress.say)
        try:
            check_nothing_lost(settings)
        except LostError:
            continue
        return
    check_nothing_lost(settings)


@contextmanager
def loss_noted(settings: Settings, query: Query) -> Iterator[None]:
    """Record a loss after which the query cannot continue in `silver.gaps`, once, and raise its error."""
    try:
        yield
    except OffsetsReusedError as error:
        writer = writer_of_query(settings, query)
        gone = [
            LostOffsets(topic=topic, partition=partition, first=end, end=None, reason=error.reason)
            for (topic, partition), end in ends_in_bronze(writer).items()
            if topic == error.topic and error.partition in {None, partition}
        ]
        if gone:
            found_by = f"{writer.id}-{error.reason}-{error.topic}-{error.partition}"
            record(settings.warehouse_root, gone, writer=writer.id, batch=None, found_by=found_by)
        raise


def _gone(settings: Settings, query: Query, ends: Ends) -> list[LostOffsets]:
    """
    Return the records from these offsets on that the topics of a query have deleted.

    Raises:
        OffsetsReusedError: a topic was created again or truncated.

    """
    gone = list[LostOffsets]()
    for topic in topics_of(settings, query):
        is_same = check_same_topic(settings.telemetry, topic, checkpoint_of(settings, query))
        gone += lost(settings.telemetry, topic, ends, is_same=is_same)
    return gone
