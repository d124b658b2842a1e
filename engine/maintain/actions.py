"""
The maintenance of one Delta table with delta-rs: delete days, merge small files, remove unused files.

Each action is one atomic commit, so a run that was killed can be run again. delta-rs never overwrites a log
entry, so streams may append at the same time; the commit that loses the race is retried. This module retries
deletes and merges; `engine/delta/appends.py` retries appends. No commit cleans up the log: `tidy_log` alone
knows what a stream still needs.
"""

import shutil
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import ColumnProperties, DeltaTable, WriterProperties
from deltalake.exceptions import CommitFailedError, DeltaError
from deltalake.transaction import AddAction, RemoveAction
from pyspark.sql.types import DateType, TimestampType

from engine.delta.data_files import WITHOUT_DICTIONARY
from engine.delta.datasets import dataset
from engine.delta.log_entries import NO_HOOKS, checkpoints_of, folder_of, rewriting, settle, write_checkpoint
from engine.delta.log_state import VERSION_FILE
from engine.delta.tables import COMPLETE_FROM, NO_CLEAN_UP, RETENTION
from engine.process.fail_points import reached
from schemas.delta_log import is_half_listed, read_on
from schemas.fields import Table

TRIES = 30

LOG_HOURS = 24
"""Age at which log entries are removed. Each commit lists all entries, which takes 3 s for a week of them."""

ROWS_PER_GROUP = 250_000
"""Readers skip and distribute whole row groups, and the writer holds one in memory."""

MIB = 1 << 20
ZSTD = WriterProperties(
    compression="ZSTD",
    compression_level=6,  # bronze is a fifth smaller than with Spark's level 3, for 1.5 times the CPU
    max_row_group_size=ROWS_PER_GROUP,
    column_properties={name: ColumnProperties(dictionary_enabled=False) for name in WITHOUT_DICTIONARY},
)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class LoggedFile:
    """One file in the log."""

    path: str
    size_bytes: int
    day: date | None  # partition; None in a table without date partitions
    first_at: datetime | None  # minimum of the retention column; None without statistics
    last_at: datetime | None  # its maximum
    rows: int | None


def day_column(table: Table) -> str | None:
    """Return the date partition column of a table (UTC), None without one."""
    names = [field.name for field in table.schema if isinstance(field.dataType, DateType)]
    return next((name for name in table.partition_by if name in names), None)


def instant_column(table: Table) -> str | None:
    """Return the retention column of a table without date partitions: the instant in its key."""
    kinds = {field.name: field.dataType for field in table.schema}
    return next((name for name in table.key if isinstance(kinds[name], TimestampType)), None)


def files_of(log: DeltaTable, table: Table) -> list[LoggedFile]:
    """Return the files of the newest version."""
    adds = pa.table(log.get_add_actions(flatten=True))
    names, nothing = set(adds.column_names), [None] * adds.num_rows
    day, instant = f"partition.{day_column(table)}", instant_column(table)
    columns = (day, f"min.{instant}", f"max.{instant}", "num_records")
    return [
        LoggedFile(*values)
        for values in zip(
            adds["path"].to_pylist(),
            adds["size_bytes"].to_pylist(),
            *(adds[column].to_pylist() if column in names else nothing for column in columns),
            strict=True,
        )
    ]


def newest_day(files: Iterable[LoggedFile], today: date) -> date | None:
    """
    Return the newest day of the rows, up to today; None without any.

    Days in the future are those of a wrong clock: one line from 2099 must not move the retention.
    """
    days = (file.day or (file.last_at.astimezone(UTC).date() if file.last_at else None) for file in files)
    return max((day for day in days if day is not None and day <= today), default=None)


def outdated(files: Iterable[LoggedFile], table: Table, before: date) -> list[LoggedFile]:
    """Return the files that contain rows from before that day."""
    if day_column(table):
        return [file for file in files if file.day is not None and file.day < before]
    if instant_column(table) is None:
        return []
    start = datetime(before.year, before.month, before.day, tzinfo=UTC)
    return [file for file in files if file.first_at is None or file.first_at < start]


def share_before(log: DeltaTable, table: Table, files: Sequence[LoggedFile], before: date) -> float:
    """Return the share of the table's rows that `delete_before` deletes, 0 to 1."""
    old = outdated(files, table, before)
    if day_column(table):
        return _weight(old) / max(_weight(files), 1)
    where, start = folder_of(log), datetime(before.year, before.month, before.day, tzinfo=UTC)
    is_old = pc.field(instant_column(table) or "") < pa.scalar(start)
    n: int = dataset(where, table, [file.path for file in files]).count_rows()
    deleted: int = dataset(where, table, [file.path for file in old]).count_rows(filter=is_old)
    return deleted / max(n, 1)


def _weight(files: Sequence[LoggedFile]) -> int:
    """Return the number of rows; a file without statistics counts with its bytes."""
    return sum(file.size_bytes if file.rows is None else file.rows for file in files)


def delete_before(log: DeltaTable, table: Table, before: date) -> None:
    """
    Delete the rows of days before that one.

    The instant from which on the table is complete is committed first. Otherwise, after an interrupt, gold
    would build windows from incomplete silver.

    Raises:
        deltalake.exceptions.CommitFailedError: other commits came first in every attempt.

    """
    column, instant = day_column(table), f"{before.isoformat()}T00:00:00Z"
    known = log.metadata().configuration.get(COMPLETE_FROM, "")
    if column and known < instant:
        properties = {COMPLETE_FROM: instant}
        _retry(log, lambda: _set(log, properties))
    reached("retention-noted")
    if column:
        _retry(log, lambda: _remove(log, outdated(files_of(log, table), table, before)))
        return
    condition = f"{instant_column(table)} < arrow_cast('{instant}', 'Timestamp(Microsecond, Some(\"UTC\"))')"
    _retry(
        log,
        lambda: log.delete(condition, writer_properties=ZSTD, post_commithook_properties=NO_HOOKS),
    )


def _remove(log: DeltaTable, files: Sequence[LoggedFile]) -> None:
    """
    Remove whole files from the table in one commit; rows appended meanwhile stay until the next run.

    A delete of delta-rs fails if rows of the same days are appended meanwhile; this commit does not.
    """
    now = int(time.time() * 1_000)
    gone: list[AddAction | RemoveAction] = [
        RemoveAction(file.path, data_change=True, deletion_timestamp=now) for file in files
    ]
    if gone:
        log.create_write_transaction(
            gone,
            mode="append",
            schema=log.schema(),
            partition_by=log.metadata().partition_columns,
            post_commithook_properties=NO_HOOKS,
        )


def to_compact(
    files: Iterable[LoggedFile], today: date, *, target_bytes: int, from_files: int
) -> dict[date | None, list[LoggedFile]]:
    """
    Return the small files to merge, by day: of a past day from two files on.

    Today, and a table without date partitions, wait for `from_files`, because each merge rewrites the rows.
    """
    small: dict[date | None, list[LoggedFile]] = defaultdict(list)
    for file in files:
        if file.size_bytes < target_bytes:
            small[file.day].append(file)
    return {
        day: files_of_day
        for day, files_of_day in sorted(small.items(), key=lambda pair: pair[0] or date.max)
        if len(files_of_day) >= (2 if day is not None and day < today else from_files)
    }


def compact(log: DeltaTable, table: Table, day: date | None, *, target_bytes: int) -> None:
    """
    Merge the small files of a day, or of a table without date partitions; keep the order of rows.

    delta-rs 1.6.6 ignores `NO_HOOKS` here. So `keep_named` must come before.

    Raises:
        deltalake.exceptions.CommitFailedError: other commits removed these files in every attempt.

    """
    column = day_column(table)
    chosen = [(column, "=", day.isoformat() if day else "")] if column else None  # delta-rs writes NULL as ""
    reached("optimize-begun")
    _retry(
        log,
        lambda: log.optimize.compact(
            partition_filters=chosen,
            target_size=target_bytes,
            max_concurrent_tasks=1,  # each task holds a file in memory, and the streams need the other core
            writer_properties=ZSTD,
        ),
    )
    reached("optimize-committed")


def keep_named(log: DeltaTable, hours: int) -> None:
    """
    Keep removed files in the log for as long as VACUUM must keep them, and entries until `tidy_log`.

    VACUUM goes by the age of a file. A file that was merged an hour ago may be old; only its entry in the log
    protects it.
    """
    wanted = {name: f"interval {max(hours, LOG_HOURS)} hours" for name in RETENTION} | NO_CLEAN_UP
    if wanted.items() - log.metadata().configuration.items():
        _retry(log, lambda: _set(log, wanted))


def _set(log: DeltaTable, properties: dict[str, str]) -> None:
    log.alter.set_table_properties(properties, raise_if_not_exists=False, post_commithook_properties=NO_HOOKS)


def unneeded(log: DeltaTable, hours: int) -> dict[str, int]:
    """Return path and size of the files that VACUUM would remove: unused for that many hours."""
    where = folder_of(log)
    paths = log.vacuum(retention_hours=hours, dry_run=True, enforce_retention_duration=False, full=True)
    return {path: (where / path).stat().st_size for path in paths if (where / path).exists()}


def vacuum(log: DeltaTable, unused: Collection[str], hours: int) -> None:
    """
    Remove the `unneeded` files, and the empty folders: each append creates a folder.

    The log is on disk first, so that no file is gone that the log after a power cut still needs. delta-rs
    would write two entries, unsynced; a power cut that takes only the first one leaves a log with a hole.
    """
    where = folder_of(log)
    settle(where, log.version())
    for path in unused:
        (where / path).unlink(missing_ok=True)
    for folder in {(where / path).parent for path in unused}:
        _remove_if_empty(folder, where)
    for leftover in where.glob("*/_temporary"):  # left by a killed Spark job
        if time.time() - leftover.stat().st_mtime > hours * 3_600:
            shutil.rmtree(leftover)
            _remove_if_empty(leftover.parent, where)


def tidy_log(log: DeltaTable, *, hours: float) -> int:
    """
    Write a checkpoint and remove the log entries older than `hours`; return how many.

    Only entries before the newest checkpoint of that age are removed, because it replaces them. The clean-up
    of delta-rs would use the table's property, which must be as long as removed files are kept in the log,
    and would leave checksum files.
    """
    where = folder_of(log)
    entries = where / "_delta_log"
    write_checkpoint(where, log)
    until = time.time() - hours * 3_600
    versions = {file: int(match[1]) for file in entries.iterdir() if (match := VERSION_FILE.match(file.name))}
    old = [versions[file] for file, at in checkpoints_of(where).items() if file in versions and at < until]
    expired = [file for file, version in versions.items() if version < max(old, default=0)]
    for file in expired:
        file.unlink(missing_ok=True)
    return sum(file.name.endswith(".json") for file in expired)


def _retry(log: DeltaTable, commit: Callable[[], T]) -> T:
    """
    Commit; read the log and try again when a conflicting commit came first.

    A commit also reads the log, and fails after it is made if that fails. It has nothing to do the next time.
    """
    with rewriting(log):
        for attempt in range(1, TRIES + 1):
            try:
                read_on(log)
                return commit()
            except DeltaError as error:
                is_repeated = isinstance(error, CommitFailedError) or is_half_listed(error)
                if attempt == TRIES or not is_repeated:
                    raise
                time.sleep(min(0.05 * attempt, 0.5))
        raise AssertionError


def _remove_if_empty(folder: Path, root: Path) -> None:
    while folder != root:
        try:
            folder.rmdir()
        except OSError:
            return
        folder = folder.parent
