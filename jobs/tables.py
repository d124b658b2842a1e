"""Delta tables by path: where a table lives, how it is made, read and appended to exactly once."""

import shutil
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from delta.tables import DeltaTable
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

# Reader version 1 asks nothing of a reader; writer version 2 is what appends and invariants need.
PROPERTIES = {
    "delta.minReaderVersion": "1",
    "delta.minWriterVersion": "2",
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
    """Give the table's folder, `<warehouse>/<layer>/<name>`."""
    return str(warehouse / table.layer / table.name)


def exists(spark: SparkSession, warehouse: Path, table: Table) -> bool:
    """Tell whether the table was ever made; a folder without a first commit is no table."""
    return DeltaTable.isDeltaTable(spark, path(warehouse, table))


def read(spark: SparkSession, warehouse: Path, table: Table) -> DataFrame:
    """Read the table, or give an empty frame of its schema when it does not exist yet."""
    if not exists(spark, warehouse, table):
        return frame_of(spark, [], table.schema)
    return spark.read.format("delta").load(path(warehouse, table))


def complete_from(warehouse: Path, table: Table) -> datetime | None:
    """Give the instant from which on retention has left a table whole, None when it has deleted nothing."""
    told = light_log.opened(Path(path(warehouse, table))).metadata().configuration.get(COMPLETE_FROM)
    return datetime.fromisoformat(told) if told else None


def make(spark: SparkSession, warehouse: Path, table: Table) -> None:
    """Make the table if it is missing; whoever does not write it does no more than that."""
    warehouse.mkdir(parents=True, exist_ok=True)
    # Jobs start side by side and want the same tables; Delta would make the second of them fail.
    with FileLock(warehouse / "_tables.lock"):
        if not exists(spark, warehouse, table):
            _make(spark, warehouse, table)


def ensure(spark: SparkSession, warehouse: Path, table: Table) -> None:
    """
    Make the table if it is missing; add the columns it has gained since it was made.

    Its caller is its one writer: Delta's own commit, on a local disk, goes over one that comes in between.

    Raises:
        pyspark.errors.AnalysisException: a column changed its type, which no append can mend.
        jobs.lease.LeaseHeldError: the table lacks columns and `maintain` is at work for longer than a minute.

    """
    make(spark, warehouse, table)
    held = {field.name: field.dataType.simpleString() for field in read(spark, warehouse, table).schema}
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


def _make(spark: SparkSession, warehouse: Path, table: Table) -> None:
    where = Path(path(warehouse, table))
    if where.exists() and not any(file.is_file() for file in where.rglob("[!._]*")):
        shutil.rmtree(where)  # a maker was killed before its first commit, and Delta refuses what it left
    builder = DeltaTable.createIfNotExists(spark).location(str(where)).comment(table.about)
    builder = builder.addColumns(table.schema).partitionedBy(*table.partition_by)
    for key, value in (PROPERTIES | _statistics(table)).items():
        builder = builder.property(key, value)
    builder.execute()


def _statistics(table: Table) -> dict[str, str]:
    """Collect statistics where readers skip by them: instants. A wide row's other columns only cost."""
    if table.layer == "gold":
        return {}
    instants = [field.name for field in table.schema if isinstance(field.dataType, TimestampType)]
    # Where none are announced, none may be missed: delta-rs takes a column without them for an empty one.
    return {"delta.dataSkippingStatsColumns": ",".join(instants)} if instants else {NO_STATISTICS: "0"}
