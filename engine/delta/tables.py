"""Delta tables by path: create, read, append exactly once, replace."""

import shutil
import uuid
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable, Schema
from deltalake.transaction import Transaction
from filelock import FileLock
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import TimestampType

from conf.private_folder import make_private
from conf.settings import Maintain
from engine.delta import appends, commits, log_entries
from engine.delta.data_files import add_action
from engine.delta.file_writer import FileWriter
from engine.delta.snapshot import Snapshot
from engine.process.lease import MAINTENANCE, lease
from schemas.arrow import arrow_schema
from schemas.fields import Table
from transforms.frames import frame_of
from transforms.spans import Span, within

RETENTION = ("delta.deletedFileRetentionDuration", "delta.logRetentionDuration")
RETENTION_HOURS = Maintain().vacuum_retention_hours

NO_CLEAN_UP = {"delta.enableExpiredLogCleanup": "false"}
"""Else Delta Spark and delta-rs remove old entries with a checkpoint, though a stream may need them."""

PROPERTIES = {
    **NO_CLEAN_UP,
    "delta.enableDeletionVectors": "false",
    "delta.checkpointPolicy": "classic",
    # A checkpoint costs as much as three appends; a stream that commits every 2 s writes one in 3 minutes.
    "delta.checkpointInterval": "100",
    # A checkpoint contains the names of all files removed in this time. At two files per commit and 160 bytes
    # each it has 28 MB after two days, and 97 MB after Delta's default of a week, 432 times a day. It must
    # not be shorter than VACUUM keeps files; `plumbline maintain` sets it to that time. The log must be
    # kept as long: at this rate 86,000 entries.
    **dict.fromkeys(RETENTION, f"interval {RETENTION_HOURS} hours"),
}

COMPLETE_FROM = "plumbline.complete_from"
"""Property of a table with date partitions: retention deleted no row from this instant (ISO 8601) on."""

MAINTENANCE_S = 60.0

NO_STATISTICS = "delta.dataSkippingNumIndexedCols"


def path(warehouse: Path, table: Table) -> str:
    """Return the table's folder, `<warehouse>/<layer>/<name>`."""
    return str(warehouse / table.layer / table.name)


def exists(warehouse: Path, table: Table) -> bool:
    """Return whether the table exists: its log has an entry or a checkpoint."""
    return DeltaTable.is_deltatable(path(warehouse, table))


def read(spark: SparkSession, warehouse: Path, table: Table) -> DataFrame:
    """Return the table's rows, or an empty frame of its schema when the table does not exist yet."""
    if not exists(warehouse, table):
        return frame_of(spark, [], table.schema)
    return spark.read.format("delta").load(path(warehouse, table))


def complete_from(warehouse: Path, table: Table) -> datetime | None:
    """Return the instant from which on a table is complete; None if retention has deleted nothing."""
    instant = log_entries.opened(Path(path(warehouse, table))).metadata().configuration.get(COMPLETE_FROM)
    return datetime.fromisoformat(instant) if instant else None


def make(warehouse: Path, table: Table) -> None:
    """
    Create the table if it is missing. Jobs that only read a table call this; its writer calls `ensure`.

    Raises:
        FileExistsError: the folder has files but no table; the files are not changed.

    """
    if exists(warehouse, table):
        return
    make_private(warehouse)
    # Jobs start at the same time and create the same tables: the second one waits here and finds the table.
    with FileLock(warehouse / "_tables.lock"):
        if not exists(warehouse, table):
            _make(Path(path(warehouse, table)), table)


def ensure(spark: SparkSession, warehouse: Path, table: Table) -> None:
    """
    Create the table if it is missing; add the columns that its schema has gained since then.

    The caller must be the table's only writer: on a local disk, Delta's commit can overwrite a commit that
    another process makes at the same time.

    Raises:
        FileExistsError: the folder has files but no table; the files are not changed.
        pyspark.errors.AnalysisException: a column changed its type.
        HeldError: the table lacks columns and `maintain` holds its lease for over a minute.

    """
    make(warehouse, table)
    if not missing_columns(warehouse, table):
        return
    empty = frame_of(spark, [], table.schema).write.format("delta").mode("append")
    with _widening(warehouse, table):
        empty.option("mergeSchema", "true").save(path(warehouse, table))


@contextmanager
def _widening(warehouse: Path, table: Table) -> Iterator[None]:
    """Mark a table while columns are added; `maintain`, which marks it too, must not run at the same time."""
    with lease(warehouse, MAINTENANCE, timeout_s=MAINTENANCE_S), rewriting(warehouse, table):
        yield


def rewriting(warehouse: Path, table: Table) -> AbstractContextManager[None]:
    """Return the context in which a job other than a stream commits to a table with Delta Spark."""
    return log_entries.rewriting(log_entries.opened(Path(path(warehouse, table))))


def missing_columns(warehouse: Path, table: Table) -> list[str]:
    """Return the columns of the schema that an existing table lacks, or has without some of their fields."""
    held = {
        field.name: field.dataType.simpleString()
        for field in log_entries.schema(Path(path(warehouse, table)))
    }
    return [field.name for field in table.schema if held.get(field.name) != field.dataType.simpleString()]


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

    Return whether the rows were written.
    """
    where = Path(path(warehouse, table))
    return commits.append(frame, where, table, txn_app_id=txn_app_id, txn_version=txn_version)


def append_rows(
    rows: pa.Table, warehouse: Path, table: Table, *, txn_app_id: str, txn_version: int = 0
) -> bool:
    """
    Append rows without Spark, once per application id and version.

    Create the table or its missing columns before. Return whether the rows were written.

    Raises:
        HeldError: the table lacks columns and `maintain` holds its lease for over a minute.

    """
    make(warehouse, table)
    where, transaction = Path(path(warehouse, table)), Transaction(txn_app_id, txn_version)
    log = log_entries.opened(where)
    held = {field.name for field in log.schema().fields}
    wanted = Schema.from_arrow(arrow_schema(table)).fields
    if missing := [field for field in wanted if field.name not in held]:
        with _widening(warehouse, table):
            log.alter.add_columns(missing, post_commithook_properties=log_entries.NO_HOOKS)
    if appends.has_batch(where, transaction):
        return False
    writer = FileWriter(warehouse, f"{txn_app_id}-{uuid.uuid4().hex[:8]}")
    for batch in rows.combine_chunks().to_batches():
        writer.write(table, batch)
    return appends.append(where, [add_action(table, file) for file in writer.closed()], transaction)


def snapshot(warehouse: Path, table: Table) -> Snapshot:
    """Return the newest version of a table, to read spans of it without Delta's query planning."""
    return Snapshot.open(Path(path(warehouse, table)), table)


def replace(  # noqa: PLR0913 (rows, table, spans, and the commit's note)
    rows: DataFrame | pa.Table,
    warehouse: Path,
    table: Table,
    *,
    column: str,
    spans: Sequence[Span],
    note: str = "",
) -> None:
    """
    Replace the rows whose instant lies in the spans; `note` becomes the commit's `userMetadata`.

    Rows of a frame outside of the spans are left out. The driver holds the new rows in memory.
    """
    if isinstance(rows, DataFrame):
        rows = rows.filter(within(column, spans)).select(*table.schema.names).toArrow()
    commits.replace(rows, Path(path(warehouse, table)), table, column=column, spans=spans, note=note)


def overwrite(rows: pa.Table, warehouse: Path, table: Table) -> None:
    """Replace all rows of a table."""
    commits.overwrite(rows, Path(path(warehouse, table)), table)


def _make(where: Path, table: Table) -> None:
    if where.exists():
        if strange := next(filter(_is_strange, where.rglob("[!._]*")), None):
            message = (
                f"{strange} is in the folder of the table {table.layer}.{table.name}, which has no log. "
                "Move the files away, or choose another warehouse."
            )
            raise FileExistsError(message)
        shutil.rmtree(where)  # a job was killed before the table's first commit
    log_entries.create(where, table, PROPERTIES | _statistics(table))


def _is_strange(file: Path) -> bool:
    """Return whether no killed job can have left the file; delta-rs leaves drafts like `.json#1`."""
    return file.is_file() and not (file.parent.name == "_delta_log" and ".json#" in file.name)


def _statistics(table: Table) -> dict[str, str]:
    """Return the table property for statistics: only on instants, which readers skip files by."""
    if table.layer == "gold":
        return {}
    instants = [field.name for field in table.schema if isinstance(field.dataType, TimestampType)]
    # The property must exclude columns without statistics, because delta-rs treats such a column as empty.
    return {"delta.dataSkippingStatsColumns": ",".join(instants)} if instants else {NO_STATISTICS: "0"}
