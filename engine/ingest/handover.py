"""
Take over the checkpoints of the former ingest, which had one query per topic (decision 021).

The first batch of the new query has no line; it begins where the former queries ended. If the handover is
interrupted, the next start repeats it; the former checkpoints are set aside last.
"""

from pathlib import Path

from conf.progress import Progress
from conf.settings import Settings
from engine.delta import tables
from engine.ingest.checkpoints import TOPIC_ID
from engine.ingest.gaps import ends_in_bronze, finish_from_bronze, write_empty_batch
from engine.ingest.positions import checkpoint_of, former_queries, writer_of_query
from engine.ingest.sources import QUERIES, Query
from engine.process.hadoop_files import set_aside, write_whole
from engine.process.session import spark_session
from engine.streams.audit.findings import Writer, apply_repairs
from engine.streams.audit.ingest import repairs_of
from engine.streams.audit.metadata import lost_metadata
from engine.streams.log import Ends, StreamLog
from engine.streams.writer_id import writer_id


def hand_over(settings: Settings, progress: Progress) -> None:
    """
    Let each query continue where its former queries ended; do nothing without former queries.

    Raises:
        StateError: the state of a former query is damaged and cannot be repaired.

    """
    for query in QUERIES:
        former = former_queries(settings, query)
        if not former:
            continue
        if not StreamLog(checkpoint_of(settings, query)).commits:
            _begin_from(settings, query, former, progress)
        for one in former:
            set_aside(checkpoint_of(settings, one))
            progress.say(f"{query.name} continues from {one.name}, whose checkpoint is set aside")


def _begin_from(settings: Settings, query: Query, former: list[Query], progress: Progress) -> None:
    apply_repairs(repairs_of([writer_of_query(settings, one) for one in former]), progress.say)
    spark, ends, checkpoint = spark_session(settings, "ingest"), Ends(), checkpoint_of(settings, query)
    for one in former:
        writer = writer_of_query(settings, one)
        finish_from_bronze(spark, settings, one, writer)
        ends |= ends_in_bronze(writer)
        _keep_topic_id(writer, checkpoint)
    if ends:
        writer_id(checkpoint)
        tables.ensure(spark, settings.warehouse_root, query.bronze[0])
        write_empty_batch(writer_of_query(settings, query), 0, ends)
        apply_repairs(list(lost_metadata(checkpoint)), lambda _: None)


def _keep_topic_id(former: Writer, checkpoint: Path) -> None:
    """Copy the topic id of a former query, so that a topic that was created again is detected."""
    [topic] = former.bronze
    stored = former.checkpoint / TOPIC_ID
    if stored.exists():
        write_whole(checkpoint / f"{TOPIC_ID}.{topic}", stored.read_text(errors="replace"))
