"""Data files of Delta tables: their log entry, statistics and encoding."""

import json
import time
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq
from deltalake.transaction import AddAction

from conf.atomic_file import sync
from engine.process.hadoop_files import sync_checked
from schemas.fields import Table

NULL_PARTITION = "__HIVE_DEFAULT_PARTITION__"
"""The partition folder of rows without a day, as Hive, Spark and Delta name it."""

WITHOUT_DICTIONARY = frozenset(
    (
        *("value", "position", "offset", "timestamp"),
        *("logged_at", "logged_mono_ns", "started_at", "correlation_id", "session_epoch"),
    )
)
"""High-cardinality columns. A dictionary of them costs time and a third of the size of silver."""


class DataFile(NamedTuple):
    """One Parquet file of a table, with what a commit records about it."""

    table: str  # layer.name
    path: str  # relative to the table's folder
    size: int
    rows: int
    day: str | None  # value of the table's partition column
    stats: str  # Delta's statistics, JSON


def statistics(footer: pq.FileMetaData, instants: Iterable[str]) -> Mapping[str, Any]:
    """Return the Delta statistics of a file: row count, and min, max and NULL count per instant column."""
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


def stats_json(footer: pq.FileMetaData, instants: Iterable[str]) -> str:
    """Return `statistics` as the JSON string of a Delta log entry."""
    return json.dumps(statistics(footer, instants))


def _instant(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def add_action(table: Table, file: DataFile) -> AddAction:
    """Return the log entry that adds a file to a table."""
    return AddAction(
        path=file.path,
        size=file.size,
        partition_values=dict.fromkeys(table.partition_by, file.day),
        modification_time=int(time.time() * 1_000),
        data_change=True,
        stats=file.stats,
    )


def sync_files(where: Path, files: Iterable[Path]) -> None:
    """Force files of a table to disk, then the folders from each file up to the table's."""
    folders = set()
    for file in files:
        sync_checked(file)
        folders |= {folder for folder in file.parents if folder.is_relative_to(where)}
    for folder in folders:
        sync(folder)
