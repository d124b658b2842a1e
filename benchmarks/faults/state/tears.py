"""
Functions that damage one file of a stream's state or of a table's log.

Each returns the path that a job must name in its message if it stops.
"""

import shutil
from pathlib import Path

from benchmarks.faults import harm
from benchmarks.faults.oracles import where
from benchmarks.faults.site import JobsWarehouse
from engine.delta.log_state import LAST_CHECKPOINT, entry_file
from engine.gold.stream import STREAM
from engine.process.hadoop_files import crc_of
from engine.streams.log import StreamLog
from engine.streams.writer_id import WRITER_ID
from schemas.bronze import REQUEST_LOG
from schemas.fields import Table
from schemas.silver.requests import REQUESTS

QUERIES = ("ingest_lines_v1", "ingest_scrapes_v1")


def log_of(written: JobsWarehouse, query: str = QUERIES[0]) -> StreamLog:
    """Return the log of an ingest query."""
    return StreamLog(Path(written.settings.warehouse.checkpoints) / query)


def entries_of(written: JobsWarehouse, table: Table) -> list[Path]:
    """Return the entries of a table's log, in order."""
    return sorted((where(written.root, table) / "_delta_log").glob("*.json"))


def last_offsets(written: JobsWarehouse, how: str) -> Path:
    """Tear the newest entry of the offset log."""
    log = log_of(written)
    file = log.offsets_file(max(log.offsets, default=0))
    harm.tear(file, how)
    return file


def last_commit(written: JobsWarehouse, how: str) -> Path:
    """Tear the newest entry of the commit log."""
    log = log_of(written)
    file = log.commits_file(max(log.commits, default=0))
    harm.tear(file, how)
    return file


def both_logs(written: JobsWarehouse, how: str) -> Path:
    """Remove the newest batch from both logs, and tear the batch before it."""
    log = log_of(written)
    newest = max(log.offsets, default=0)
    for file in (log.offsets_file(newest), log.commits_file(newest)):
        file.unlink(missing_ok=True)
        crc_of(file).unlink(missing_ok=True)
    harm.tear(log.offsets_file(newest - 1), how)
    return log.offsets_file(newest)


def metadata(written: JobsWarehouse, how: str) -> Path:
    """Tear the query's id and its initial offsets."""
    folder = log_of(written).folder
    harm.tear(folder / "sources" / "0" / "0", how)
    harm.tear(folder / "metadata", how)
    return folder / "metadata"


def stale_checksum(written: JobsWarehouse, _how: str) -> Path:
    """Write a checksum that does not match its file, and one without a file."""
    log = log_of(written)
    file = log.offsets_file(max(log.offsets, default=0))
    assert file.exists(), file
    crc_of(file).write_bytes(b"crc\x00\x00\x00\x02\x00\x00\x01\x02\x03")
    crc_of(log.commits_file(max(log.commits, default=-1) + 1)).write_bytes(b"crc\x00\x00\x00\x02\x00")
    return file


def last_entry(table: Table, written: JobsWarehouse, how: str) -> Path:
    """Tear the newest entry of a table's log."""
    file = entries_of(written, table)[-1]
    harm.tear(file, how)
    return file


def middle_entry(written: JobsWarehouse, how: str) -> Path:
    """Tear an entry in the middle of a table's log."""
    entries = entries_of(written, REQUEST_LOG)
    file = entries[(len(entries) - 1) // 2]
    harm.tear(file, how)
    return file


def writer_id(written: JobsWarehouse, how: str) -> Path:
    """Tear the writer's id."""
    file = log_of(written).folder / WRITER_ID
    harm.tear(file, how)
    return file


def whole_checkpoint(written: JobsWarehouse, _how: str) -> Path:
    """Remove a checkpoint."""
    folder = log_of(written).folder
    shutil.rmtree(folder)
    return folder


def hint(written: JobsWarehouse, how: str) -> Path:
    """Tear `_last_checkpoint` of a table."""
    file = where(written.root, REQUESTS) / "_delta_log" / LAST_CHECKPOINT
    harm.tear(file, how)
    return file


def table_checkpoint(written: JobsWarehouse, how: str) -> Path:
    """Tear the newest checkpoint of a table."""
    file = max((where(written.root, REQUESTS) / "_delta_log").glob("*.checkpoint.parquet"))
    harm.tear(file, how)
    return file


def table_checkpoint_alone(written: JobsWarehouse, how: str) -> Path:
    """Tear the newest checkpoint of a table without older files; return the path of the first entry."""
    file = table_checkpoint(written, how)
    version = int(file.name.partition(".")[0])
    older = {*file.parent.glob("*.checkpoint.parquet")} - {file}
    for old in (*older, *(entry_file(file.parent, n) for n in range(version))):
        old.unlink()
    return entry_file(file.parent, 0)


def last_gold_offsets(written: JobsWarehouse, how: str) -> Path:
    """Tear the newest entry of the offset log of gold's stream."""
    log = StreamLog(STREAM.checkpoint(written.settings))
    file = log.offsets_file(max(log.offsets, default=0))
    harm.tear(file, how)
    return file
