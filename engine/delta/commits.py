"""
Append to a Delta table, or replace spans of it: Spark writes Parquet files, delta-rs commits them.

Delta Spark's append needs half a second for a handful of rows. Here Spark only writes the files, and delta-rs
adds one entry to the log. `docs/decisions/006-light-commits.md` explains why this is as safe;
`tests/engine/delta/test_commit.py` proves it.
"""

import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path

from deltalake.exceptions import CommitFailedError
from deltalake.transaction import CommitProperties, RemoveAction, Transaction
from pyspark.sql import DataFrame

from engine.delta import appends, log_entries
from engine.delta.data_files import WITHOUT_DICTIONARY
from engine.delta.snapshot import Snapshot
from engine.process.fail_points import reached
from schemas.fields import Table
from transforms.spans import Span

TRIES = 5
"""Each failed attempt is a commit of `plumbline maintain` that came first."""

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
    frame: DataFrame, where: Path, table: Table, *, column: str, spans: Sequence[Span], note: str
) -> None:
    """
    Replace all rows whose instant lies in the spans; every row of the frame must lie in them.

    Files with other rows too are rewritten without the rows in the spans, as in Delta's `replaceWhere`.
    `note` becomes the commit's `userMetadata`.

    Raises:
        ValueError: the frame has other columns than the table; nothing was written.
        deltalake.exceptions.CommitFailedError: other commits rewrote the same files in all `TRIES` attempts.

    """
    _check(frame, table)
    for attempt in range(1, TRIES + 1):
        snapshot = Snapshot.open(where, table)
        others = snapshot.outside(frame.sparkSession, column, spans)
        rows = frame.coalesce(1) if others is None else frame.coalesce(1).unionByName(others.coalesce(1))
        try:
            _swap(rows, snapshot, snapshot.overlapping(column, spans), {"userMetadata": note} if note else {})
        except CommitFailedError:
            if attempt == TRIES:
                raise
        else:
            return


def overwrite(frame: DataFrame, where: Path, table: Table) -> None:
    """
    Replace all rows of a table.

    Raises:
        ValueError: the frame has other columns than the table; nothing was written.
        deltalake.exceptions.CommitFailedError: another commit rewrote the same files.

    """
    _check(frame, table)
    snapshot = Snapshot.open(where, table)
    _swap(frame.coalesce(1), snapshot, snapshot.paths(), {})


def _swap(rows: DataFrame, snapshot: Snapshot, old: Sequence[str], metadata: Mapping[str, str]) -> None:
    attempt = _written(rows, snapshot.where, snapshot.table, "replaced")
    now = int(time.time() * 1_000)
    removed = [RemoveAction(path, data_change=True, deletion_timestamp=now) for path in old]
    properties = CommitProperties(custom_metadata=dict(metadata), max_commit_retries=0)
    added = log_entries.added(snapshot.where, attempt, snapshot.table)
    log_entries.commit(snapshot.log, snapshot.where, [*added, *removed], properties)


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
