"""Delta tables by path: where a table lives, how it is made, read and appended to exactly once."""

import shutil
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from deltalake import DeltaTable
from filelock import FileLock
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import TimestampType

from conf.settings import Maintain
from jobs import light_commit, light_log
from jobs.gold_spans import Span, within
from jobs.lease import MAINTENANCE, lease
from jobs.light_read import Snapshot
from schemas.fields import Table
from transforms.frames import frame_of

RETENTION = ("delta.deletedFileRetentionDuration", "delta.logRetentionDuration")
RETENTION_HOURS = Maintain().vacuum_retention_hours

PROPERTIES = {
    "delta.enableDeletionVectors": "false",
    "delta.checkpointPolicy": "classic",
    # A checkpoint costs as much as three appends, so a stream that commits every 2 s makes one in 3 minutes.
    "delta.checkpointInterval": "100",
    # A checkpoint names the files removed for so long: two a commit, 160 bytes each, are 28 MB after two days
    # and 97 MB after Delta's own week, 432 times a day. Not shorter than files are kept: `plumbline maintain`
    # sets it to that. The log must be kept as long, which at this pace is 86,000 entries.
    **dict.fromkeys(RETENTION, f"interval {RETENTION_HOURS} hours"),
}

COMPLETE_FROM = "plumbline.complete_from"
"""Property of a table that is parted by days: from this instant on (ISO 8601) retention has left it whole."""

MAINTENANCE_S = 60.0

NO_STATISTICS = "delta.dataSkippingNumIndexedCols"


def path(warehouse: Path, table: Table) -> str:
    """Return the table's folder, `<warehouse>/<layer>/<name>`."""
    return str(warehouse / table.layer / table.name)


def exists(warehouse: Path, table: Table) -> bool:
    """Return whether the table was ever made: its log has an entry or a checkpoint."""
    return DeltaTable.is_deltatable(path(warehouse, table))


def read(spark: SparkSession, warehouse: Path, table: Table) -> DataFrame:
    """Return the table's rows, or an empty frame of its schema when the table does not exist yet."""
    if not exists(warehouse, table):
        return frame_of(spark, [], table.schema)
    return spark.read.format("delta").load(path(warehouse, table))


def complete_from(warehouse: Path, table: Table) -> datetime | None:
    """Give the instant from which on retention has left a table whole, None when it has deleted nothing."""
    told = light_log.opened(Path(path(warehouse, table))).metadata().configuration.get(COMPLETE_FROM)
    return datetime.fromisoformat(told) if told else None


def make(warehouse: Path, table: Table) -> None:
    """
    Make the table if it is missing. A job that does not write the table does no more than that.

    Raises:
        FileExistsError: the folder holds files and no table; they are left as they are.

    """
    if exists(warehouse, table):
        return
    warehouse.mkdir(parents=True, exist_ok=True)
    # Jobs start side by side and make the same tables: the second one waits here, and finds the table.
    with FileLock(warehouse / "_tables.lock"):
        if not exists(warehouse, table):
            _make(Path(path(warehouse, table)), table)


def ensure(spark: SparkSession, warehouse: Path, table: Table) -> None:
    """
    Make the table if it is missing; add the columns that its schema has gained since it was made.

    The caller must be the table's only writer: on a local disk, Delta's commit overwrites one that another
    process makes at the same time.

    Raises:
        FileExistsError: the folder holds files and no table; they are left as they are.
        pyspark.errors.AnalysisException: a column changed its type, which no append can mend.
        jobs.lease.LeaseHeldError: the table lacks columns and `maintain` holds its lease for over a minute.

    """
    make(warehouse, table)
    held = {
        field.name: field.dataType.simpleString() for field in light_log.schema(Path(path(warehouse, table)))
    }
    if all(held.get(field.name) == field.dataType.simpleString() for field in table.schema):
        return
    with lease(warehouse, MAINTENANCE, timeout_s=MAINTENANCE_S):
        empty = frame_of(spark, [], table.schema)
        empty.write.format("delta").mode("append").option("mergeSchema", "true").save(path(warehouse, table))


def append(
    frame: DataFrame,
    warehouse: Path,
    table: Table,
    *,
    txn_app_id: str,
    txn_version: int,
) -> bool:
    """
    Append once: a second call with the same application id and version writes nothing.

    Returns whether it was written.
    """
    where = Path(path(warehouse, table))
    return light_commit.append(frame, where, table, txn_app_id=txn_app_id, txn_version=txn_version)


def snapshot(warehouse: Path, table: Table) -> Snapshot:
    """Take the newest version of a table, to read spans of it without a plan of Delta's."""
    return Snapshot.of(Path(path(warehouse, table)), table)


def replace(  # noqa: PLR0913 (what, where, which part of it, and who commits what it was built from)
    frame: DataFrame,
    warehouse: Path,
    table: Table,
    *,
    column: str,
    spans: Sequence[Span],
    note: str = "",
) -> None:
    """Put rows into the place of those whose instant lies in the spans; `note` becomes `userMetadata`."""
    where, rows = Path(path(warehouse, table)), frame.filter(within(column, spans))
    light_commit.replace(
        rows.select(*table.schema.names), where, table, column=column, spans=spans, note=note
    )


def overwrite(frame: DataFrame, warehouse: Path, table: Table) -> None:
    """Put rows into the place of all there are."""
    light_commit.overwrite(frame.select(*table.schema.names), Path(path(warehouse, table)), table)


def _make(where: Path, table: Table) -> None:
    if where.exists():
        if strange := next(filter(_is_strange, where.rglob("[!._]*")), None):
            message = (
                f"{strange} lies in the place of the table {table.layer}.{table.name}, which has no log. "
                "Move the files away, or name another warehouse."
            )
            raise FileExistsError(message)
        shutil.rmtree(where)  # a job was killed before the table's first commit
    light_log.create(where, table, PROPERTIES | _statistics(table))


def _is_strange(file: Path) -> bool:
    """Return whether the file is none that a killed job leaves: delta-rs drafts an entry as `.json#1`."""
    return file.is_file() and not (file.parent.name == "_delta_log" and ".json#" in file.name)


def _statistics(table: Table) -> dict[str, str]:
    """Return for which columns to collect statistics: instants, by which readers skip files."""
    if table.layer == "gold":
        return {}
    instants = [field.name for field in table.schema if isinstance(field.dataType, TimestampType)]
    # Where none are announced, none may be missed: delta-rs takes a column without them for an empty one.
    return {"delta.dataSkippingStatsColumns": ",".join(instants)} if instants else {NO_STATISTICS: "0"}
