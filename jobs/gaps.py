"""
Go on behind a gap: `plumbline ingest --accept-gap`.

A gap is a batch of its own that holds no line: its range goes into `silver.gaps`, then into Spark's offset
log, its number into bronze, and at last into Spark's commit log. Broken off anywhere in between, the next run
with `--accept-gap` finds the same number free and the range in `silver.gaps`, and goes on from there.
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import reduce

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from conf.settings import Settings
from jobs import light_commit, tables
from jobs.delta_log import log_state
from jobs.hadoop_files import set_aside
from jobs.ingest_batch import write_batch
from jobs.ingest_checkpoint import Lost, lost
from jobs.sources import Source
from jobs.state import Writer
from jobs.state_note import NONE, note_written, written
from jobs.stream_log import Ends, StreamLog
from schemas.bronze import RAW
from schemas.silver import GAPS
from transforms.frames import frame_of

RETENTION, NAME = "retention", f"{GAPS.layer}.{GAPS.name}"


def reached(writer: Writer) -> Ends:
    """Give how far the lines are in bronze: a batch that bronze has is not lost, whatever retention took."""
    log = StreamLog(writer.checkpoint)
    newest = max(log.offsets, default=-1)
    is_read = max(*log.commits, _bronze_has(writer), -1) >= newest
    return log.begin(newest + 1 if is_read else newest)


def finish_from_bronze(spark: SparkSession, settings: Settings, source: Source, writer: Writer) -> None:
    """
    End a batch that bronze has and the topic no longer: what silver lacks of it is made from bronze.

    A gap that `silver.gaps` was known to have is noted there again. Does nothing when no batch is begun, or
    bronze has none of it.
    """
    log = StreamLog(writer.checkpoint)
    batch = max(log.offsets, default=-1)
    if batch < 0 or batch in log.commits or _bronze_has(writer) < batch:
        return
    for table in source.tables:
        tables.ensure(spark, settings.warehouse_root, table)
    passed = _passed(log, batch)
    rows = tables.read(spark, settings.warehouse_root, source.bronze).filter(F.col("topic") == writer.topic)
    raw = rows.filter(reduce(Column.__or__, map(_is_of, passed), F.lit(False)))
    write_batch(raw.select(*RAW.names), batch, source, settings=settings, app_id=writer.id)
    if written(log.folder).get(NAME, NONE)[0] == batch:  # a gap, and the table of gaps was set back
        _record(spark, settings, writer, batch, passed)
    log.write_commit(batch)


def _passed(log: StreamLog, batch: int) -> list[Lost]:
    """Give what a batch goes over in each partition: its lines, or all that a gap has lost."""
    begin, end = log.begin(batch), log.ends(batch) or {}
    ranges = (
        Lost(topic=topic, partition=partition, first=begin.get((topic, partition), 0), end=until)
        for (topic, partition), until in end.items()
    )
    return [one for one in ranges if one.first < one.end]


def _is_of(one: Lost) -> Column:
    offset = F.col("offset")
    return (F.col("partition") == one.partition) & (offset >= one.first) & (offset < one.end)


def accept(
    spark: SparkSession, settings: Settings, source: Source, writer: Writer, say: Callable[[str], None]
) -> None:
    """
    Write what one query has lost into `silver.gaps` and let it go on behind it; nothing when nothing is lost.

    Raises:
        MadeAnewError: the topic was made anew, so there is no going on.

    """
    log = StreamLog(writer.checkpoint)
    if not lost(settings.telemetry, writer.topic, reached(writer)):
        return
    finish_from_bronze(spark, settings, source, writer)
    newest = max(log.offsets, default=-1)
    is_begun = newest >= 0 and newest not in log.commits  # no table has a line of it
    batch = newest if is_begun else newest + 1
    ends = log.begin(batch)
    told = _recorded(spark, settings, writer, batch)
    gone = told or lost(settings.telemetry, writer.topic, ends)
    if not gone:
        return
    if not told:
        _record(spark, settings, writer, batch, gone)
    if is_begun:
        set_aside(log.offsets_file(batch))  # not sooner: of a first batch it may alone tell that it began
    tables.ensure(spark, settings.warehouse_root, source.bronze)
    log.write_ends(batch, ends | {(one.topic, one.partition): one.end for one in gone})
    light_commit.note_batch(writer.tables[0], txn_app_id=writer.id, txn_version=batch)
    note_written(log.folder, [NAME], batch)
    log.write_commit(batch)
    for one in gone:
        say(f"gap accepted and noted in silver.gaps: {one}, {one.end - one.first:,} lines")


def _recorded(spark: SparkSession, settings: Settings, writer: Writer, batch: int) -> Sequence[Lost]:
    rows = tables.read(spark, settings.warehouse_root, GAPS)
    mine = rows.filter((F.col("writer") == writer.id) & (F.col("batch_id") == batch)).collect()
    return [
        Lost(topic=row.topic, partition=row.partition, first=row.first_offset, end=row.end_offset)
        for row in mine
    ]


def _record(
    spark: SparkSession, settings: Settings, writer: Writer, batch: int, gone: Sequence[Lost]
) -> None:
    tables.ensure(spark, settings.warehouse_root, GAPS)
    now = datetime.now(UTC)
    rows = [
        (g.topic, g.partition, g.first, g.end, g.end - g.first, now, RETENTION, writer.id, batch)
        for g in gone
    ]
    tables.append(
        frame_of(spark, rows, GAPS.schema),
        settings.warehouse_root,
        GAPS,
        txn_app_id=writer.id,
        txn_version=batch,
    )


def _bronze_has(writer: Writer) -> int:
    return log_state(writer.tables[0]).txns.get(writer.id, -1)
