"""
Append to a Delta table, or replace spans of it, by what Spark writes as Parquet and delta-rs commits.

Delta's own append plans, runs and logs half a second of work for a handful of rows. Here Spark writes the
files and nothing else; delta-rs adds one entry to the log. Why it is as safe:
`docs/decisions/006-light-commits.md`; that it is: `tests/jobs/test_light_commit.py`.
"""

import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path

from deltalake.exceptions import CommitFailedError
from deltalake.transaction import CommitProperties, RemoveAction, Transaction
from pyspark.sql import DataFrame

from engine.ingest.files import OF_ITS_OWN
from engine.process.fail_points import reached
from jobs import light_append, light_log
from jobs.gold_spans import Span
from jobs.light_read import Snapshot
from schemas.fields import Table

TRIES = 5
"""Each failure is one commit of `plumbline maintain` that came in between."""

WRITTEN = {
    "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
    # What is written every second is written anew by maintenance, and better packed.
    "parquet.compression.codec.zstd.level": "1",
    **{f"parquet.enable.dictionary#{name}": "false" for name in OF_ITS_OWN},
}


def append(frame: DataFrame, where: Path, table: Table, *, txn_app_id: str, txn_version: int) -> bool:
    """
    Append once; return whether anything was written. A second call with the same version writes nothing.

    Each attempt writes into a folder of its own: one that fails leaves files that no log names, and a
    second driver on the same checkpoint cannot touch the files of the first, and its own are not committed.

    Raises:
        ValueError: the frame has other columns than the table; nothing was written.

    """
    _check(frame, table)
    transaction = Transaction(txn_app_id, txn_version)
    if light_append.has(where, transaction):
        return False
    attempt = _written(frame, where, table, f"{txn_app_id}-{txn_version}")
    # The files stay if anything fails from here on: a failure after the commit, in the checkpoint that may
    # follow it, looks the same as one before it, and then the log names them.
    return light_append.append(where, list(light_log.added(where, attempt, table)), transaction)


def note_batch(where: Path, *, txn_app_id: str, txn_version: int) -> None:
    """Note a batch without a row, once: its number is taken, nothing else changes."""
    light_append.append(where, [], Transaction(txn_app_id, txn_version))


def replace(  # noqa: PLR0913 (what, where, which part of it, and what it was built from)
    frame: DataFrame, where: Path, table: Table, *, column: str, spans: Sequence[Span], note: str
) -> None:
    """
    Replace all rows whose instant lies in the spans; every row of the frame must lie in them.

    Files that hold other rows as well are written anew without those in the spans, as Delta's own
    `replaceWhere` does it. `note` becomes the commit's `userMetadata`.

    Raises:
        ValueError: the frame has other columns than the table; nothing was written.
        deltalake.exceptions.CommitFailedError: others have rewritten the same files `TRIES` times meanwhile.

    """
    _check(frame, table)
    for nth in range(1, TRIES + 1):
        held = Snapshot.of(where, table)
        kept = held.outside(frame.sparkSession, column, spans)
        rows = frame.coalesce(1) if kept is None else frame.coalesce(1).unionByName(kept.coalesce(1))
        try:
            _swap(rows, held, held.overlapping(column, spans), {"userMetadata": note} if note else {})
        except CommitFailedError:
            if nth == TRIES:
                raise
        else:
            return


def overwrite(frame: DataFrame, where: Path, table: Table) -> None:
    """
    Put rows into the place of all there are.

    Raises:
        ValueError: the frame has other columns than the table; nothing was written.
        deltalake.exceptions.CommitFailedError: another has rewritten the same files meanwhile.

    """
    _check(frame, table)
    held = Snapshot.of(where, table)
    _swap(frame.coalesce(1), held, held.paths(), {})


def _swap(rows: DataFrame, held: Snapshot, old: Sequence[str], metadata: Mapping[str, str]) -> None:
    attempt = _written(rows, held.where, held.table, "replaced")
    now = int(time.time() * 1_000)
    gone = [RemoveAction(path, data_change=True, deletion_timestamp=now) for path in old]
    properties = CommitProperties(custom_metadata=dict(metadata), max_commit_retries=0)
    added = light_log.added(held.where, attempt, held.table)
    light_log.commit(held.log, held.where, [*added, *gone], properties)


def _check(frame: DataFrame, table: Table) -> None:
    if frame.schema.simpleString() != table.schema.simpleString():
        wanted, found = table.schema.simpleString(), frame.schema.simpleString()
        message = f"{table.layer}.{table.name} wants {wanted}, not {found}"
        raise ValueError(message)


def _written(frame: DataFrame, where: Path, table: Table, name: str) -> Path:
    attempt = where / f"{name}-{uuid.uuid4().hex[:8]}"
    frame.write.options(**WRITTEN).partitionBy(*table.partition_by).parquet(str(attempt))
    reached("files-written")
    return attempt
