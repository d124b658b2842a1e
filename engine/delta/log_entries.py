"""
Create, open, read and commit to the Delta log of a table, with delta-rs and `new_entry`.

Spark writes and reads the Parquet files. Reading the log takes milliseconds here. Delta Spark needs half a
second per table, because it plans a query. `docs/decisions/006-light-commits.md` explains why this is safe.
"""

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import unquote

import pyarrow.parquet as pq
from deltalake import DeltaTable, Schema
from deltalake.exceptions import CommitFailedError
from deltalake.transaction import (
    AddAction,
    CommitProperties,
    PostCommitHookProperties,
    RemoveAction,
    Transaction,
)
from pyspark.sql.types import StructType, TimestampType

from conf.atomic_file import sync, sync_name
from engine.delta.data_files import NULL_PARTITION, stats_json, sync_files
from engine.delta.log_state import FILES, LAST_CHECKPOINT, REWRITING, added_files, entry, entry_file
from engine.delta.new_entry import check_protocol, put
from engine.process.fail_points import reached
from engine.process.hadoop_files import sync_checked
from schemas.delta_log import open_log, read_on
from schemas.fields import Table

_held = threading.local()
_settled: dict[Path, int] = {}  # by table: the version up to which this process knows everything on disk

NO_HOOKS = PostCommitHookProperties(create_checkpoint=False, cleanup_expired_logs=False)

CHECKPOINT_INTERVAL = "delta.checkpointInterval"
DEFAULT_INTERVAL = 10

CHECKPOINT_KEPT_EVERY_S = 4 * 3_600
NEWEST_CHECKPOINTS = 3
"""Checkpoints that are always kept: a stream writes one in some minutes, so older readers can finish."""

READ_WITHIN_S = 600.0
"""A checkpoint so little older than the newest one is kept: `maintain` may run several times in a row."""


def opened(where: Path) -> DeltaTable:
    """Open a table's log once per thread; later calls read only new entries, because a full read is slow."""
    logs: dict[Path, DeltaTable] = _held.__dict__.setdefault("logs", {})
    if where in logs:
        read_on(logs[where])
    else:
        logs[where] = open_log(where)
    return logs[where]


def create(where: Path, table: Table, properties: Mapping[str, str]) -> None:
    """
    Create a table: write the first entry of its log, and sync it and the folders above it to disk.

    The protocol is the default of delta-rs, reader version 1 and writer version 2, which any reader supports.
    `properties` must not need a later protocol.

    Raises:
        deltalake.exceptions.DeltaError: the table exists.

    """
    DeltaTable.create(
        where,
        Schema.from_json(table.schema.json()),
        partition_by=list(table.partition_by),
        description=table.about,
        configuration=properties,
        commit_properties=CommitProperties(custom_metadata={FILES: "0"}),
        post_commithook_properties=NO_HOOKS,
    )
    _sync_entry(where, 0)
    sync(where)
    sync_name(where)


def schema(where: Path) -> StructType:
    """Return the schema in the newest version of a table."""
    return StructType.fromJson(json.loads(open_log(where).schema().to_json()))


def commit(
    log: DeltaTable,
    where: Path,
    actions: Sequence[AddAction | RemoveAction],
    *,
    transaction: Transaction | None = None,
    note: str = "",
) -> None:
    """
    Add the version after that of `log`; `note` becomes its `userMetadata`.

    Raises:
        deltalake.exceptions.CommitFailedError: another commit came first.
        ValueError: the table's protocol needs more than a plain entry.

    """
    check_protocol(where, log)
    version, partition_by = log.version() + 1, log.metadata().partition_columns
    settle(where, version - 1)
    if not put(where, version, actions, partition_by=partition_by, transaction=transaction, note=note):
        message = f"{where}: another commit is version {version}"
        raise CommitFailedError(message)
    mark_settled(where, version)
    checkpoint_when_due(where, version, interval_of(log))


def settle(where: Path, version: int) -> None:
    """
    Force the log up to a version to disk, with the files that its entries add; then a commit may follow.

    delta-rs and Delta Spark sync nothing, and `maintain` commits with them while streams append. Without
    this, a power cut could leave a whole entry after an empty one, which cannot be repaired. Each process
    does it once per entry.
    """
    if _settled.get(where, -1) >= version:
        return
    sync_name(where)
    for each in range(_first_unsettled(where, version), version + 1):
        files = added_files(where, entry(where / "_delta_log", each) or [])
        sync_files(where, (file for file, _ in files if file.exists()))
        _sync_entry(where, each)


def _first_unsettled(where: Path, version: int) -> int:
    """
    Return the first version that may not be on disk.

    Entries below the first one that a process sees were settled by the writer of that one, except those that
    a killed `maintain` or `replay` has left. Of these, only the oldest can have a checkpoint.
    """
    if where in _settled:
        return _settled[where] + 1
    if not (where / REWRITING).exists():
        return version
    checkpoints = (int(file.name.partition(".")[0]) for file in checkpoints_of(where))
    return max((each for each in checkpoints if each <= version), default=0)


def mark_settled(where: Path, version: int) -> None:
    """Note that the log up to a version is on disk, with the files of its entries."""
    _settled[where] = version


@contextmanager
def rewriting(log: DeltaTable) -> Iterator[None]:
    """
    Mark a table while a block commits to it with delta-rs or Delta Spark, then settle its log.

    No batch would write such a commit again. If a power cut tears it, the marker tells the next audit that it
    was not finished, so that the table can go back to the version before.
    """
    where = folder_of(log)
    marker = where / REWRITING
    settle(where, log.version())  # first: a marker that is there is of a block that was killed
    marker.touch()
    sync(where)
    try:
        yield
    finally:
        read_on(log)
        settle(where, log.version())
        _sync_checkpoint(where)  # delta-rs and Delta Spark write one at some versions
        marker.unlink(missing_ok=True)
        sync(where)


def folder_of(log: DeltaTable) -> Path:
    """Return the folder of a table."""
    return Path(unquote(log.table_uri.removeprefix("file://")))


def _sync_entry(where: Path, version: int) -> None:
    """Sync an entry, the checksums of Delta Spark, and their folder; the entry's files must be on disk."""
    file = entry_file(where / "_delta_log", version)
    sync_checked(file)
    with suppress(FileNotFoundError):  # there is none, or a later append has removed it
        sync_checked(file.with_suffix(".crc"))
    sync(file.parent)
    mark_settled(where, version)


def interval_of(log: DeltaTable) -> int:
    """Return the number of versions between two checkpoints of a table."""
    return int(log.metadata().configuration.get(CHECKPOINT_INTERVAL, DEFAULT_INTERVAL))


def checkpoint_when_due(where: Path, version: int, interval: int) -> None:
    """Write a checkpoint if the last one is `interval` versions old; a failed one is due again."""
    if version - _last_checkpoint(where) < interval:
        return
    reached("checkpoint-begun")
    write_checkpoint(where, opened(where))
    # Drop the cached log: it starts at the old checkpoint, and each commit would replay all later versions.
    _held.logs.pop(where, None)


def write_checkpoint(where: Path, log: DeltaTable) -> None:
    """
    Write a checkpoint of the newest version, sync it, and remove the checkpoints that no reader needs.

    A checkpoint hides the entry below it from every later look. So what it names is on disk before.
    """
    settle(where, log.version())
    log.create_checkpoint()
    _sync_checkpoint(where)
    reached("checkpoint-written")
    thin_checkpoints(where)


def _sync_checkpoint(where: Path) -> None:
    """Sync the newest checkpoint, `_last_checkpoint` and their folder."""
    folder = where / "_delta_log"
    for file in (*list(checkpoints_of(where))[-1:], folder / LAST_CHECKPOINT):
        # A table may have no checkpoint yet. A stream's start sets a torn `_last_checkpoint` aside. If the
        # version has a checkpoint, delta-rs does not write it again.
        with suppress(FileNotFoundError):
            sync(file)
    sync(folder)


def thin_checkpoints(where: Path) -> None:
    """
    Remove checkpoints that no reader needs: keep the newest ones, and one per four hours for log clean-up.

    Each contains the names of all files removed in two days. At 432 a day they would take 12 GB for a table
    of 100 MB.
    """
    written_at = checkpoints_of(where)
    young_from = max(written_at.values(), default=0.0) - READ_WITHIN_S
    kept = {file for file, at in written_at.items() if at > young_from}
    kept.update(list(written_at)[-NEWEST_CHECKPOINTS:])
    kept.update({at // CHECKPOINT_KEPT_EVERY_S: file for file, at in reversed(written_at.items())}.values())
    for file in written_at.keys() - kept:
        file.unlink(missing_ok=True)


def checkpoints_of(where: Path) -> dict[Path, float]:
    """Return when each checkpoint of a table was written, in epoch seconds; in the order of the versions."""
    written_at = dict[Path, float]()
    for file in sorted((where / "_delta_log").glob("*.checkpoint.parquet")):
        with suppress(FileNotFoundError):  # a stream or `maintain` may remove it at the same time
            written_at[file] = file.stat().st_mtime
    return written_at


def _last_checkpoint(where: Path) -> int:
    """Return the version of the last checkpoint; 0 without one, or if `_last_checkpoint` is torn."""
    try:
        hint = json.loads((where / "_delta_log" / LAST_CHECKPOINT).read_text())
        return int(hint["version"])
    except (OSError, ValueError, KeyError, TypeError):
        return 0


def added(where: Path, attempt: Path, table: Table, *, data_change: bool = True) -> Iterator[AddAction]:
    """Yield the add actions of an attempt's files with rows, with statistics; the files are synced before."""
    sync_files(where, attempt.rglob("*.parquet"))
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
            stats=stats_json(footer, instants),
        )


def _partition_of(below: Path) -> dict[str, str | None]:
    pairs = (part.split("=", 1) for part in below.parts[:-1])
    return {name: None if value == NULL_PARTITION else unquote(value) for name, value in pairs}
