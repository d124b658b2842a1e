"""
Continue after a gap that retention left: `plumbline ingest --accept-gap`.

Such a gap is a separate batch without lines. Its range is written into `silver.gaps`, then into Spark's
offset log; its batch id is written into bronze, and last into Spark's commit log. If this is interrupted, the
next run with `--accept-gap` finds the batch id unused and the range in `silver.gaps`, and continues there.
"""

from collections.abc import Callable, Sequence
from functools import reduce
from pathlib import Path

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from conf.settings import Settings
from engine.delta import commits, tables
from engine.delta.log_state import log_state
from engine.ingest.batches import write_batch
from engine.ingest.losses import NAME, LostOffsets, accepted, record
from engine.ingest.sources import Query
from engine.ingest.task.kafka import Range
from engine.process.hadoop_files import set_aside
from engine.streams.audit.findings import Writer
from engine.streams.log import Ends, StreamLog
from engine.streams.note import NONE, note_written, written
from schemas.bronze import RAW
from schemas.silver.not_kept import GAPS, Loss
from transforms.frames import united


def ends_in_bronze(writer: Writer) -> Ends:
    """Return the end offsets of the lines in bronze; those lines are not lost, whatever retention deleted."""
    log = StreamLog(writer.checkpoint)
    newest = max(log.offsets, default=-1)
    if max(log.commits, default=-1) >= newest:
        return log.begin(newest + 1)
    begin, end, done = log.begin(newest), log.ends(newest) or {}, _in_bronze(writer, newest)
    return begin | {place: at for place, at in end.items() if place[0] in done}


def finish_from_bronze(spark: SparkSession, settings: Settings, query: Query, writer: Writer) -> None:
    """
    Finish a batch that is in bronze but not in the topics: build its missing rows from bronze.

    If a topic's bronze table lacks the batch, the next batch reads its lines. If `silver.gaps` lost the gaps
    of this batch, they are recorded again. Do nothing if no batch is begun, or bronze has no row of it.
    """
    log = StreamLog(writer.checkpoint)
    batch = max(log.offsets, default=-1)
    done = _in_bronze(writer, batch)
    if batch < 0 or batch in log.commits or not done:
        return
    for table in query.tables:
        tables.ensure(spark, settings.warehouse_root, table)
    _exclude_topics_not_in_bronze(log, batch, done)
    passed = _passed(log, batch)
    bronze = [
        tables.read(spark, settings.warehouse_root, table).select(*RAW.names)
        for table in query.bronze
        if Path(tables.path(settings.warehouse_root, table)) in {writer.bronze[topic] for topic in done}
    ]
    rows = united(bronze).filter(reduce(Column.__or__, map(_is_of, passed), F.lit(False)))
    has_gaps = written(log.folder).get(NAME, NONE)[0] == batch  # silver.gaps may have been set back
    write_batch(
        rows,
        batch,
        query,
        settings=settings,
        app_id=writer.id,
        offsets={(one.topic, one.partition): (one.first, one.end) for one in passed} if has_gaps else None,
        accepts=Loss.RETENTION if rows.isEmpty() else Loss.COMPACTION,
    )
    log.write_commit(batch)


def _exclude_topics_not_in_bronze(log: StreamLog, batch: int, done: set[str]) -> None:
    """Make the batch empty for topics that are not `done`; the next batch reads their lines."""
    begin, ends = log.begin(batch), log.ends(batch) or {}
    held = {
        place: end if place[0] in done else begin[place]
        for place, end in ends.items()
        if place[0] in done or place in begin
    }
    if held != ends:
        set_aside(log.offsets_file(batch))
        log.write_ends(batch, held)


def _passed(log: StreamLog, batch: int) -> list[Range]:
    """Return the offset range of a batch per partition: its lines, or the lines that a gap lost."""
    begin, end = log.begin(batch), log.ends(batch) or {}
    ranges = (Range(*place, begin.get(place, 0), until) for place, until in end.items())
    return [one for one in ranges if one.first < one.end]


def _is_of(one: Range) -> Column:
    offset = F.col("offset")
    is_in_range = (offset >= one.first) & (offset < one.end)
    return (F.col("topic") == one.topic) & (F.col("partition") == one.partition) & is_in_range


def accept(  # noqa: PLR0913, PLR0917 (session, query, how to find lost ranges, where to report)
    spark: SparkSession,
    settings: Settings,
    query: Query,
    writer: Writer,
    gone_of: Callable[[Ends], Sequence[LostOffsets]],
    say: Callable[[str], None],
) -> None:
    """
    Record the lost ranges of one query in `silver.gaps` and let it continue; do nothing if none is lost.

    `gone_of` returns the ranges that are lost to a query with given end offsets.

    Raises:
        OffsetsReusedError: a topic was created again or truncated, so the query cannot continue.

    """
    log = StreamLog(writer.checkpoint)
    if not gone_of(ends_in_bronze(writer)):
        return
    finish_from_bronze(spark, settings, query, writer)
    newest = max(log.offsets, default=-1)
    is_begun = newest >= 0 and newest not in log.commits  # no table has a line of the batch
    batch = newest if is_begun else newest + 1
    ends = log.begin(batch)
    recorded = _recorded(spark, settings, writer, batch)
    gone = recorded or gone_of(ends)
    if not gone:
        return
    if not recorded:
        record(settings.warehouse_root, gone, writer=writer.id, batch=batch)
    if is_begun:
        set_aside(log.offsets_file(batch))  # only now: it may be the only evidence that a first batch began
    tables.ensure(spark, settings.warehouse_root, query.bronze[0])
    begins = {(one.topic, one.partition): one.end for one in gone if one.end is not None}
    write_empty_batch(writer, batch, ends | begins, [NAME])
    for one in gone:
        say(accepted(one))


def write_empty_batch(writer: Writer, batch: int, ends: Ends, noted: Sequence[str] = ()) -> None:
    """Write a batch without lines that moves a query to these offsets; its table must exist."""
    log = StreamLog(writer.checkpoint)
    log.write_ends(batch, ends)
    commits.note_batch(writer.tables[0], txn_app_id=writer.id, txn_version=batch)
    note_written(log.folder, noted, batch)
    log.write_commit(batch)


def _recorded(spark: SparkSession, settings: Settings, writer: Writer, batch: int) -> Sequence[LostOffsets]:
    rows = tables.read(spark, settings.warehouse_root, GAPS)
    mine = rows.filter((F.col("writer") == writer.id) & (F.col("batch_id") == batch)).collect()
    return [
        LostOffsets(topic=row.topic, partition=row.partition, first=row.first_offset, end=row.end_offset)
        for row in mine
    ]


def _in_bronze(writer: Writer, batch: int) -> set[str]:
    """Return the topics whose bronze table has this batch."""
    return {
        topic for topic, where in writer.bronze.items() if log_state(where).txns.get(writer.id, -1) >= batch
    }
