"""
Append to a Delta table what Spark writes as Parquet, committed by delta-rs.

Delta's own append plans, runs and logs half a second of work for a handful of rows. Here Spark writes the
files and nothing else; delta-rs adds one entry to the log. Why it is as safe:
`docs/decisions/006-light-commits.md`; that it is: `tests/jobs/test_light_commit.py`.
"""

import json
import threading
import uuid
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow.parquet as pq
from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError
from deltalake.transaction import AddAction, CommitProperties, PostCommitHookProperties, Transaction
from pyspark.sql import DataFrame
from pyspark.sql.types import TimestampType

from jobs.fail_points import reached
from schemas.fields import Table

_held = threading.local()

NULL_PARTITION = "__HIVE_DEFAULT_PARTITION__"
TRIES = 5
"""Each failure is one commit of `plumbline maintain` that came in between."""

NO_MARKS = {"mapreduce.fileoutputcommitter.marksuccessfuljobs": "false"}
NO_HOOKS = PostCommitHookProperties(create_checkpoint=False, cleanup_expired_logs=False)

CHECKPOINT_INTERVAL = "delta.checkpointInterval"
DEFAULT_INTERVAL = 10


def append(frame: DataFrame, where: Path, table: Table, *, txn_app_id: str, txn_version: int) -> bool:
    """
    Append once; tell whether anything was written. A second call with the same id and version writes nothing.

    Each attempt writes into a folder of its own: one that fails leaves files that no log names, and a
    second driver on the same checkpoint can neither touch the files of the first nor commit beside them.

    Raises:
        ValueError: the frame has other columns than the table; nothing was written.
        deltalake.exceptions.CommitFailedError: another driver has written this version meanwhile.

    """
    if frame.schema.simpleString() != table.schema.simpleString():
        wanted, given = table.schema.simpleString(), frame.schema.simpleString()
        message = f"{table.layer}.{table.name} wants {wanted}, not {given}"
        raise ValueError(message)
    log = _log(where)
    written = log.transaction_version(txn_app_id)
    if written is not None and written >= txn_version:
        return False
    attempt = where / f"{txn_app_id}-{txn_version}-{uuid.uuid4().hex[:8]}"
    frame.write.options(**NO_MARKS).partitionBy(*table.partition_by).parquet(str(attempt))
    reached("files-written")
    # Whatever is raised from here on, the files stay: a failure behind the commit, in the checkpoint that may
    # follow it, looks the same as one before it, and then the log names them.
    _commit(log, where, list(_adds(where, attempt, table)), table, Transaction(txn_app_id, txn_version))
    _checkpoint_when_due(_log(where), where)
    return True


def _commit(
    log: DeltaTable, where: Path, adds: Sequence[AddAction], table: Table, transaction: Transaction
) -> None:
    """Commit, and look again when retention has deleted or noted something since the log was read."""
    for nth in range(1, TRIES + 1):
        try:
            log.create_write_transaction(
                [*adds],
                mode="append",
                schema=log.schema(),
                partition_by=list(table.partition_by),
                commit_properties=CommitProperties(app_transactions=[transaction]),
                post_commithook_properties=NO_HOOKS,
            )
        except CommitFailedError:
            log = _log(where)
            written = log.transaction_version(transaction.app_id)
            if nth == TRIES or (written is not None and written >= transaction.version):
                raise
        else:
            return


def _checkpoint_when_due(log: DeltaTable, where: Path) -> None:
    """Write a checkpoint once the log is its interval past the last one; one that failed is due again."""
    interval = int(log.metadata().configuration.get(CHECKPOINT_INTERVAL, DEFAULT_INTERVAL))
    if log.version() + 1 - _last_checkpoint(where) < interval:
        return
    reached("checkpoint-begun")
    log.update_incremental()  # a commit does not tell the log that it went on
    log.create_checkpoint()
    reached("checkpoint-written")
    # What is held goes on from the old checkpoint, and each commit would replay all versions since.
    _held.logs.pop(where, None)


def _last_checkpoint(where: Path) -> int:
    """Give the version of the last checkpoint, 0 when there is none or its file is torn."""
    try:
        told = json.loads((where / "_delta_log" / "_last_checkpoint").read_text())
        return int(told["version"])
    except (OSError, ValueError, KeyError, TypeError):
        return 0


def note_batch(where: Path, *, txn_app_id: str, txn_version: int) -> None:
    """Note a batch without a row, once: its number is taken, nothing else changes."""
    log = _log(where)
    written = log.transaction_version(txn_app_id)
    if written is not None and written >= txn_version:
        return
    noted = CommitProperties(app_transactions=[Transaction(txn_app_id, txn_version)])
    log.create_write_transaction(
        [],
        mode="append",
        schema=log.schema(),
        partition_by=log.metadata().partition_columns,
        commit_properties=noted,
        post_commithook_properties=NO_HOOKS,
    )


def _log(where: Path) -> DeltaTable:
    """Open a table's log once a thread, and then read only what is new: an aged table's takes a while."""
    opened: dict[Path, DeltaTable] = _held.__dict__.setdefault("logs", {})
    if where in opened:
        opened[where].update_incremental()
    else:
        opened[where] = DeltaTable(str(where))
    return opened[where]


def _adds(where: Path, attempt: Path, table: Table) -> Iterator[AddAction]:
    instants = [field.name for field in table.schema if isinstance(field.dataType, TimestampType)]
    for file in sorted(attempt.rglob("*.parquet")):
        footer = pq.read_metadata(file)
        if not footer.num_rows:
            continue
        state = file.stat()
        yield AddAction(
            path=str(file.relative_to(where)),
            size=state.st_size,
            partition_values=_partition_of(file.relative_to(attempt)),
            modification_time=int(state.st_mtime * 1_000),
            data_change=True,
            stats=json.dumps(_stats(footer, instants)),
        )


def _partition_of(below: Path) -> dict[str, str | None]:
    pairs = (part.split("=", 1) for part in below.parts[:-1])
    return {name: None if value == NULL_PARTITION else unquote(value) for name, value in pairs}


def _stats(footer: pq.FileMetaData, instants: list[str]) -> Mapping[str, Any]:
    """Give what readers skip files by: rows, and of each instant the extremes and the NULLs."""
    stats: dict[str, Any] = {"numRecords": footer.num_rows, "minValues": {}, "maxValues": {}, "nullCount": {}}
    places = {footer.schema.column(n).path: n for n in range(footer.num_columns)}
    for name in (name for name in instants if name in places):
        groups = [footer.row_group(g).column(places[name]).statistics for g in range(footer.num_row_groups)]
        if not all(groups):
            continue
        stats["nullCount"][name] = sum(group.null_count for group in groups)
        known = [group for group in groups if group.has_min_max]
        if known and len(known) == sum(group.num_values > 0 for group in groups):
            stats["minValues"][name] = _instant(min(group.min for group in known))
            stats["maxValues"][name] = _instant(max(group.max for group in known))
    return stats


def _instant(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
