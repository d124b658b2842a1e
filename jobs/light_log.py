"""
The Delta log of a table by delta-rs: opened once, read on from there, and committed to.

Spark writes and reads the Parquet files; what the log says of them costs milliseconds here, and half a
second a table where Delta plans a query for it. Why it is as safe: `docs/decisions/006-light-commits.md`.
"""

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow.parquet as pq
from deltalake import DeltaTable
from deltalake.transaction import (
    AddAction,
    CommitProperties,
    PostCommitHookProperties,
    RemoveAction,
)
from pyspark.sql.types import TimestampType

from jobs.delta_log import FILES
from jobs.fail_points import reached
from schemas.fields import Table

_held = threading.local()

NULL_PARTITION = "__HIVE_DEFAULT_PARTITION__"
NO_HOOKS = PostCommitHookProperties(create_checkpoint=False, cleanup_expired_logs=False)

OF_ITS_OWN = (
    *("value", "position", "offset", "timestamp"),
    *("logged_at", "logged_mono_ns", "started_at", "correlation_id", "session_epoch"),
)
"""Columns whose rows nearly all differ: a dictionary of them takes time, and a third of silver's room."""

CHECKPOINT_INTERVAL = "delta.checkpointInterval"
DEFAULT_INTERVAL = 10

CHECKPOINT_KEPT_EVERY_S = 4 * 3_600
NEWEST_CHECKPOINTS = 3
"""Whoever reads one has some minutes for it, until as many are made."""


def opened(where: Path) -> DeltaTable:
    """Open a table's log once a thread, and then read only what is new: an aged table's takes a while."""
    logs: dict[Path, DeltaTable] = _held.__dict__.setdefault("logs", {})
    if where in logs:
        logs[where].update_incremental()
    else:
        logs[where] = DeltaTable(str(where))
    return logs[where]


def is_written(log: DeltaTable, txn_app_id: str, txn_version: int) -> bool:
    """Tell whether the log has this batch of this writer, or a later one."""
    written = log.transaction_version(txn_app_id)
    return written is not None and written >= txn_version


def commit(
    log: DeltaTable, where: Path, actions: Sequence[AddAction | RemoveAction], properties: CommitProperties
) -> None:
    """
    Add one version to the log.

    Raises:
        deltalake.exceptions.CommitFailedError: another has committed meanwhile what this does not go with.

    """
    properties.custom_metadata = {**(properties.custom_metadata or {}), FILES: str(len(actions))}
    log.create_write_transaction(
        [*actions],
        mode="append",
        schema=log.schema(),
        partition_by=log.metadata().partition_columns,
        commit_properties=properties,
        post_commithook_properties=NO_HOOKS,
    )
    _checkpoint_when_due(log, where)


def _checkpoint_when_due(log: DeltaTable, where: Path) -> None:
    """
    Write a checkpoint once the log is its interval past the last one; one that failed is due again.

    `log` was opened before the commit: to look again would list all entries, which an aged table has many of.
    """
    interval = int(log.metadata().configuration.get(CHECKPOINT_INTERVAL, DEFAULT_INTERVAL))
    if log.version() + 1 - _last_checkpoint(where) < interval:
        return
    reached("checkpoint-begun")
    opened(where).create_checkpoint()
    reached("checkpoint-written")
    thin_checkpoints(where)
    # What is held goes on from the old checkpoint, and each commit would replay all versions since.
    _held.logs.pop(where, None)


def thin_checkpoints(where: Path) -> None:
    """
    Remove the checkpoints that nobody needs: the newest are read, one in four hours lets the log be tidied.

    Each names all files removed for two days: 432 of them a day are 12 GB for a table of a hundred megabytes.
    """
    with_age = []
    for file in sorted((where / "_delta_log").glob("*.checkpoint.parquet")):
        with suppress(FileNotFoundError):  # `maintain` tidies as well
            with_age.append((file, int(file.stat().st_mtime // CHECKPOINT_KEPT_EVERY_S)))
    first_of = {age: file for file, age in reversed(with_age)}
    newest = [file for file, _ in with_age[-NEWEST_CHECKPOINTS:]]
    for file, _ in with_age:
        if file not in newest and file not in first_of.values():
            file.unlink(missing_ok=True)


def _last_checkpoint(where: Path) -> int:
    """Give the version of the last checkpoint, 0 when there is none or its file is torn."""
    try:
        told = json.loads((where / "_delta_log" / "_last_checkpoint").read_text())
        return int(told["version"])
    except (OSError, ValueError, KeyError, TypeError):
        return 0


def added(where: Path, attempt: Path, table: Table, *, data_change: bool = True) -> Iterator[AddAction]:
    """Name the files of an attempt that hold rows, with the statistics that readers skip files by."""
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
            data_change=data_change,
            stats=json.dumps(_stats(footer, instants)),
        )


def _partition_of(below: Path) -> dict[str, str | None]:
    pairs = (part.split("=", 1) for part in below.parts[:-1])
    return {name: None if value == NULL_PARTITION else unquote(value) for name, value in pairs}


def _stats(footer: pq.FileMetaData, instants: list[str]) -> Mapping[str, Any]:
    """Give the number of rows, and of each instant the extremes and the NULLs."""
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
