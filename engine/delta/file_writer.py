"""Write rows as Parquet files of Delta tables: one file per table and day, synced before it is reported."""

import uuid
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from engine.delta.data_files import NULL_PARTITION, WITHOUT_DICTIONARY, DataFile, stats_json, sync_files
from schemas.arrow import arrow_schema
from schemas.fields import Table

MOST_OPEN = 64
"""Files open at a time. Back-filled pages can name thousands of days, and each open file holds a buffer."""


class FileWriter:
    """
    The Parquet files of one task, or of the driver. Each batch is one row group, which bounds the memory.

    A table has one file per day; it has more when more than `MOST_OPEN` days are written in turn.
    """

    def __init__(self, warehouse: Path, attempt: str) -> None:
        """Write files into the folder `attempt` of each table."""
        self._warehouse, self._attempt, self._task = warehouse, attempt, uuid.uuid4().hex
        self._open: dict[tuple[str, str | None], tuple[Table, Path, pq.ParquetWriter]] = {}
        self._complete: list[tuple[str | None, Table, Path]] = []

    def write(self, table: Table, batch: pa.RecordBatch) -> None:
        """Write a record batch to a table, one file per value of its partition column."""
        for day, rows in _parted(table, batch):
            self._writer(table, day, rows.schema).write_batch(rows)

    def closed(self) -> Iterator[DataFile]:
        """Close every file, sync files and folders to disk, and yield the entries of a commit."""
        while self._open:
            self._close_oldest()
        files: dict[Path, list[Path]] = {}
        for _, table, path in self._complete:
            files.setdefault(self._where(table), []).append(path)
        for where, paths in files.items():
            sync_files(where, paths)
        for day, table, path in self._complete:
            footer = pq.read_metadata(path)
            instants = [field.name for field in arrow_schema(table) if _is_instant(field.type)]
            yield DataFile(
                table=f"{table.layer}.{table.name}",
                path=str(path.relative_to(self._where(table))),
                size=path.stat().st_size,
                rows=footer.num_rows,
                day=day,
                stats=stats_json(footer, instants),
            )

    def abandon(self) -> None:
        """Remove all written files; call it when the task fails."""
        for _, path, writer in self._open.values():
            with suppress(Exception):
                writer.close()
            path.unlink(missing_ok=True)
        for _, _, path in self._complete:
            path.unlink(missing_ok=True)

    def _where(self, table: Table) -> Path:
        return self._warehouse / table.layer / table.name

    def _close_oldest(self) -> None:
        key = next(iter(self._open))
        table, path, writer = self._open.pop(key)
        self._complete.append((key[1], table, path))
        writer.close()

    def _writer(self, table: Table, day: str | None, schema: pa.Schema) -> pq.ParquetWriter:
        name = f"{table.layer}.{table.name}"
        if (name, day) not in self._open:
            folder = self._where(table) / self._attempt
            if table.partition_by:
                folder /= f"{table.partition_by[0]}={day or NULL_PARTITION}"
            folder.mkdir(parents=True, exist_ok=True)
            if len(self._open) >= MOST_OPEN:
                self._close_oldest()
            path = folder / f"part-{self._task}-{len(self._complete)}.parquet"
            writer = pq.ParquetWriter(
                path,
                schema,
                compression="zstd",
                compression_level=1,
                use_dictionary=_with_dictionary(schema),
                write_statistics=[field.name for field in schema if _is_instant(field.type)],
                store_schema=False,
            )
            self._open[name, day] = table, path, writer
        return self._open[name, day][2]


def _parted(table: Table, batch: pa.RecordBatch) -> Iterator[tuple[str | None, pa.RecordBatch]]:
    """Yield the rows of each day. Delta files do not contain the partition column."""
    if not table.partition_by:
        yield None, batch
        return
    at = batch.schema.get_field_index(table.partition_by[0])
    days, rows = batch.column(at), batch.remove_column(at)
    found = pc.unique(days)
    for day in found:
        is_all = len(found) == 1
        mask = None if is_all else pc.is_null(days) if day.as_py() is None else pc.equal(days, day)
        text = None if day.as_py() is None else day.as_py().isoformat()
        yield text, rows if is_all else rows.filter(mask)


@cache
def _with_dictionary(schema: pa.Schema) -> list[str]:
    """Return the paths of the Parquet columns that are dictionary-encoded."""
    sink = pa.BufferOutputStream()
    pq.write_table(schema.empty_table(), sink)
    columns = pq.ParquetFile(pa.BufferReader(sink.getvalue())).schema
    paths = [columns.column(n).path for n in range(len(columns))]
    return [path for path in paths if path.split(".")[0] not in WITHOUT_DICTIONARY]


def _is_instant(kind: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(kind))
