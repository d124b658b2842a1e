"""
What is done to one Delta table, by delta-rs: days deleted, small files merged, what no reader needs removed.

Each of them is one commit that is there whole or not at all, so a run that was killed is run again.
delta-rs writes an entry of the log only where there is none, so others may append meanwhile; whoever comes
second looks again. Deleting and merging are tried again here, appends in `light_commit`.
"""

import shutil
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
from deltalake import ColumnProperties, DeltaTable, WriterProperties
from deltalake.exceptions import CommitFailedError
from pyspark.sql.types import DateType, TimestampType

from engine.ingest.files import OF_ITS_OWN
from engine.process.fail_points import reached
from jobs.delta_log import OF_VERSION
from jobs.light_log import thin_checkpoints
from jobs.tables import COMPLETE_FROM, RETENTION
from schemas.fields import Table

TRIES = 30

LOG_HOURS = 24
"""Older entries go. Whoever commits lists all there are: a week of them, one in 2 s, would take it 3 s."""

ROWS_IN_A_GROUP = 250_000
"""Readers skip and share out whole groups, and the writer holds one in memory."""

MIB = 1 << 20
ZSTD = WriterProperties(
    compression="ZSTD",
    compression_level=6,  # a fifth off bronze against Spark's 3, for half as much CPU again
    max_row_group_size=ROWS_IN_A_GROUP,
    column_properties={name: ColumnProperties(dictionary_enabled=False) for name in OF_ITS_OWN},
)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class File:
    """One file that the log names."""

    path: str
    size_bytes: int
    day: date | None  # of its partition; None in a table that has none
    first_at: datetime | None  # of the column that retention goes by, where the log tells it


def day_column(table: Table) -> str | None:
    """Give the column a table is parted by, a UTC date."""
    names = [field.name for field in table.schema if isinstance(field.dataType, DateType)]
    return next((name for name in table.partition_by if name in names), None)


def instant_column(table: Table) -> str | None:
    """Give the instant by which old rows of a table without days are told: the one in its key."""
    kinds = {field.name: field.dataType for field in table.schema}
    return next((name for name in table.key if isinstance(kinds[name], TimestampType)), None)


def files_of(log: DeltaTable, table: Table) -> list[File]:
    """List the files of the newest version."""
    adds = pa.table(log.get_add_actions(flatten=True))
    names, nothing = set(adds.column_names), [None] * adds.num_rows
    day, first = f"partition.{day_column(table)}", f"min.{instant_column(table)}"
    return [
        File(*told)
        for told in zip(
            adds["path"].to_pylist(),
            adds["size_bytes"].to_pylist(),
            adds[day].to_pylist() if day in names else nothing,
            adds[first].to_pylist() if first in names else nothing,
            strict=True,
        )
    ]


def outdated(files: Iterable[File], table: Table, before: date) -> list[File]:
    """Choose the files that hold rows of before that day."""
    if day_column(table):
        return [file for file in files if file.day is not None and file.day < before]
    if instant_column(table) is None:
        return []
    start = datetime(before.year, before.month, before.day, tzinfo=UTC)
    return [file for file in files if file.first_at is None or file.first_at < start]


def delete_before(log: DeltaTable, table: Table, before: date) -> None:
    """
    Delete the rows of days before that one.

    The instant from which on the table is whole is noted first: a window of gold that wants more must not
    be built from what is left, whenever this breaks off.

    Raises:
        deltalake.exceptions.CommitFailedError: others wrote in between, time and again.

    """
    column, instant = day_column(table), f"{before.isoformat()}T00:00:00Z"
    noted = log.metadata().configuration.get(COMPLETE_FROM, "")
    if column and noted < instant:
        note = {COMPLETE_FROM: instant}
        _again(log, lambda: log.alter.set_table_properties(note, raise_if_not_exists=False))
    reached("retention-noted")
    condition = (
        f"{column} < DATE '{before.isoformat()}'"
        if column
        else f"{instant_column(table)} < arrow_cast('{instant}', 'Timestamp(Microsecond, Some(\"UTC\"))')"
    )
    _again(log, lambda: log.delete(condition, writer_properties=ZSTD))


def to_compact(
    files: Iterable[File], today: date, *, target_bytes: int, from_files: int
) -> dict[date | None, list[File]]:
    """
    Choose the days whose small files are worth merging: those that are over, once there are two.

    The running day, and a table without days, wait for `from_files`: each merge writes its rows once more.
    """
    small: dict[date | None, list[File]] = defaultdict(list)
    for file in files:
        if file.size_bytes < target_bytes:
            small[file.day].append(file)
    return {
        day: held
        for day, held in sorted(small.items(), key=lambda pair: pair[0] or date.max)
        if len(held) >= (2 if day is not None and day < today else from_files)
    }


def compact(log: DeltaTable, table: Table, day: date | None, *, target_bytes: int) -> None:
    """
    Merge the small files of a day, or of a table without days; rows and their order stay.

    Raises:
        deltalake.exceptions.CommitFailedError: others deleted these files in between, time and again.

    """
    column = day_column(table)
    chosen = [(column, "=", day.isoformat() if day else "")] if column else None  # "" is how it says NULL
    reached("optimize-begun")
    _again(
        log,
        lambda: log.optimize.compact(
            partition_filters=chosen,
            target_size=target_bytes,
            max_concurrent_tasks=1,  # each task holds a file in memory, and the streams want the other core
            writer_properties=ZSTD,
        ),
    )
    reached("optimize-committed")


def keep_named(log: DeltaTable, hours: int) -> None:
    """
    Let the log name removed files for as long as VACUUM leaves them.

    VACUUM goes by the age of a file; one that was merged away an hour ago may be old, and is kept since the
    log still names it.
    """
    wanted = {name: f"interval {max(hours, LOG_HOURS)} hours" for name in RETENTION}
    if wanted.items() - log.metadata().configuration.items():
        _again(log, lambda: log.alter.set_table_properties(wanted, raise_if_not_exists=False))


def unneeded(log: DeltaTable, hours: int) -> dict[str, int]:
    """Give path and size of the files that VACUUM would remove: no reader has needed them for so long."""
    where = Path(log.table_uri.removeprefix("file://"))
    paths = log.vacuum(retention_hours=hours, dry_run=True, enforce_retention_duration=False, full=True)
    return {path: (where / path).stat().st_size for path in paths if (where / path).exists()}


def vacuum(log: DeltaTable, hours: int) -> None:
    """Remove what `unneeded` tells, and the folders that are empty then: each append made one."""
    where = Path(log.table_uri.removeprefix("file://"))
    removed = log.vacuum(retention_hours=hours, dry_run=False, enforce_retention_duration=False, full=True)
    for folder in {(where / path).parent for path in removed}:
        _remove_if_empty(folder, where)
    for leftover in where.glob("*/_temporary"):  # of a job of Spark's that was killed
        if time.time() - leftover.stat().st_mtime > hours * 3_600:
            shutil.rmtree(leftover)
            _remove_if_empty(leftover.parent, where)


def tidy_log(log: DeltaTable, *, hours: float) -> int:
    """
    Write a checkpoint, and remove the entries older than `hours`; tell how many.

    Removed is what lies behind the newest checkpoint of that age: all later versions can be told from it.
    delta-rs would go by the table's property, which Delta wants to be as long as removed files are named, and
    leave checksums.
    """
    where = Path(log.table_uri.removeprefix("file://"))
    entries = where / "_delta_log"
    log.create_checkpoint()
    thin_checkpoints(where)
    until = time.time() - hours * 3_600
    told = {file: match for file in entries.iterdir() if (match := OF_VERSION.match(file.name))}
    old = [
        int(match[1])
        for file, match in told.items()
        if file.name.endswith(".checkpoint.parquet") and file.stat().st_mtime < until
    ]
    expired = [file for file, match in told.items() if int(match[1]) < max(old, default=0)]
    for file in expired:
        file.unlink(missing_ok=True)
    return sum(file.name.endswith(".json") for file in expired)


def _again(log: DeltaTable, commit: Callable[[], T]) -> T:
    """Look again and commit again when others have written what this commit hangs on."""
    for nth in range(1, TRIES + 1):
        try:
            log.update_incremental()
            return commit()
        except CommitFailedError:
            if nth == TRIES:
                raise
            time.sleep(min(0.05 * nth, 0.5))
    raise AssertionError


def _remove_if_empty(folder: Path, root: Path) -> None:
    while folder != root:
        try:
            folder.rmdir()
        except OSError:
            return
        folder = folder.parent
