"""
Append to a Delta table, or replace spans of it: Spark or Arrow writes Parquet files, a log entry names them.

Delta Spark's append needs half a second for a handful of rows. Here only the files and the entry are written
(`new_entry`). Rows that replace others are gold: there are few, so the driver writes them without a Spark
job. `docs/decisions/006-light-commits.md` explains why this is as safe;
`tests/engine/delta/test_commit.py` proves it.
"""

import time
import uuid
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path

import pyarrow as pa
from deltalake.exceptions import CommitFailedError
from deltalake.transaction import RemoveAction, Transaction
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema

from engine.delta import appends, log_entries
from engine.delta.data_files import WITHOUT_DICTIONARY, add_action
from engine.delta.file_writer import FileWriter
from engine.delta.snapshot import Snapshot
from engine.process.fail_points import reached
from schemas.arrow import arrow_schema
from schemas.fields import Table
from transforms.spans import Span

TRIES = 5
"""Each failed attempt is a commit of `plumbline maintain` that came first."""

ROW_GROUP = 50_000
"""Rows of a full row group of gold."""

WRITTEN = {
    "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
    # Maintenance rewrites these files with a higher level, so a fast level is enough.
    "parquet.compression.codec.zstd.level": "1",
    **{f"parquet.enable.dictionary#{name}": "false" for name in WITHOUT_DICTIONARY},
}


def append(frame: DataFrame, where: Path, table: Table, *, txn_app_id: str, txn_version: int) -> bool:
    """
    Append once; return whether anything was written. A second call with the same version writes nothing.

    Each attempt writes into its own folder. So a failed attempt leaves only uncommitted files, and a second
    driver on the same checkpoint cannot touch the files of the first; its own files are not committed.

    Raises:
        ValueError: the frame has other columns than the table; nothing was written.

    """
    _check(frame, table)
    transaction = Transaction(txn_app_id, txn_version)
    if appends.has_batch(where, transaction):
        return False
    attempt = _written(frame, where, table, f"{txn_app_id}-{txn_version}")
    # Keep the files after a failure from here on: it may have happened after the commit, in the checkpoint,
    # and then the log contains them.
    return appends.append(where, list(log_entries.added(where, attempt, table)), transaction)


def note_batch(where: Path, *, txn_app_id: str, txn_version: int) -> None:
    """Commit a batch without rows, once; the commit only records the batch id."""
    appends.append(where, [], Transaction(txn_app_id, txn_version))


def replace(  # noqa: PLR0913 (rows, table, spans, and the commit's note)
    rows: pa.Table, where: Path, table: Table, *, column: str, spans: Sequence[Span], note: str
) -> None:
    """
    Replace all rows whose instant lies in the spans; every new row must lie in them.

    Files with other rows too are rewritten without the rows in the spans, as in Delta's `replaceWhere`.
    `note` becomes the commit's `userMetadata`. Nothing is committed if there is nothing to change or note.

    Raises:
        ValueError: the rows have other columns than the table; nothing was written.
        deltalake.exceptions.CommitFailedError: other commits rewrote the same files in all `TRIES` attempts.

    """
    wanted = _checked(rows, table)
    for attempt in range(1, TRIES + 1):
        snapshot = Snapshot.open(where, table)
        old = snapshot.overlapping(column, spans)
        if not (old or rows.num_rows or note):
            return
        kept = snapshot.outside(column, spans)
        try:
            _swap(wanted.to_batches(ROW_GROUP), snapshot, old, note, kept)
        except CommitFailedError:
            if attempt == TRIES:
                raise
        else:
            return


def overwrite(rows: pa.Table, where: Path, table: Table) -> None:
    """
    Replace all rows of a table.

    Raises:
        ValueError: the rows have other columns than the table; nothing was written.
        deltalake.exceptions.CommitFailedError: another commit rewrote the same files.

    """
    wanted = _checked(rows, table)
    snapshot = Snapshot.open(where, table)
    _swap(wanted.to_batches(ROW_GROUP), snapshot, snapshot.paths())


def _swap(
    rows: Iterable[pa.RecordBatch],
    snapshot: Snapshot,
    old: Sequence[str],
    note: str = "",
    kept: Iterable[pa.RecordBatch] = (),
) -> None:
    root, name = snapshot.where.parents[1], f"replaced-{uuid.uuid4().hex[:8]}"
    newest, grown = FileWriter(root, name), FileWriter(root, name)
    for batch in chain(rows, _merged(kept)):
        if batch.num_rows:
            # Each commit rewrites the file of the newest windows. Rows that fill a row group leave it. With
            # them it would grow without limit: after an hour of 30 brokers, a commit took 10 CPU seconds.
            if batch.num_rows >= ROW_GROUP:
                grown.write(snapshot.table, by_key(batch, snapshot.table))
            else:
                newest.write(snapshot.table, batch)
    added = [add_action(snapshot.table, file) for each in (newest, grown) for file in each.closed()]
    reached("files-written")
    now = int(time.time() * 1_000)
    removed = [RemoveAction(path, data_change=True, deletion_timestamp=now) for path in old]
    log_entries.commit(snapshot.log, snapshot.where, [*added, *removed], note=note)


def by_key(batch: pa.RecordBatch, table: Table) -> pa.RecordBatch:
    """
    Return the rows of a large row group with those of one pair, client or partition together.

    A query that adds up histograms over windows then finds their buckets in the cache of the processor.
    """
    columns = [name for name in table.key if name != table.instant]
    return batch.sort_by([(name, "ascending") for name in (*columns, table.instant)])


def _merged(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the same rows in few batches, because each becomes a row group of the rewritten file."""
    held: list[pa.RecordBatch] = []
    for batch in batches:
        held.append(batch)
        if sum(each.num_rows for each in held) >= ROW_GROUP:
            yield pa.concat_batches(held)
            held = []
    if held:
        yield pa.concat_batches(held)


def _checked(rows: pa.Table, table: Table) -> pa.Table:
    """Return the rows in the table's schema, as one batch; only whether NULL is allowed may differ."""
    wanted, found = (
        from_arrow_schema(schema).simpleString() for schema in (arrow_schema(table), rows.schema)
    )
    if wanted != found:
        message = f"{table.layer}.{table.name} has the schema {wanted}, the rows {found}"
        raise ValueError(message)
    return rows.cast(arrow_schema(table)).combine_chunks()


def _check(frame: DataFrame, table: Table) -> None:
    if frame.schema.simpleString() != table.schema.simpleString():
        wanted, found = table.schema.simpleString(), frame.schema.simpleString()
        message = f"{table.layer}.{table.name} has the schema {wanted}, the frame {found}"
        raise ValueError(message)


def _written(frame: DataFrame, where: Path, table: Table, name: str) -> Path:
    attempt = where / f"{name}-{uuid.uuid4().hex[:8]}"
    frame.write.options(**WRITTEN).partitionBy(*table.partition_by).parquet(str(attempt))
    reached("files-written")
    return attempt
