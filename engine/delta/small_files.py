"""
Rows of small data files, kept in memory.

The silver of a quiet cluster lies in hundreds of files of some hundred rows. The builds of a batch read those
of the last minutes many times, and to open a file costs more than to read its rows. No data file changes, so
each is read once.
"""

from collections.abc import Collection, Sequence
from functools import lru_cache
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from schemas.arrow import arrow_schema
from schemas.fields import Table

SMALL_BYTES = 64 * 1024
MAX_READ, MAX_KEPT = 128, 1_024
"""Files that one query reads from memory, and files of all tables that are kept."""


def are_small(sizes: pa.ChunkedArray) -> bool:
    """Return whether a query reads files of these sizes (bytes) from memory."""
    return 0 < len(sizes) <= MAX_READ and bool(pc.max(sizes).as_py() <= SMALL_BYTES)


def rows_of(where: Path, table: Table, paths: Sequence[str]) -> pa.Table:
    """Return the rows of small data files of a table in its schema; a file may lack newer columns."""
    return pa.concat_tables(_rows(where, table, path) for path in paths)


def dataset(where: Path, table: Table, paths: Collection[str]) -> ds.Dataset:
    """Return data files of a table as a dataset in its schema; a file may lack newer columns."""
    schema = arrow_schema(table)
    files = [str(where / path) for path in paths]
    if not files:
        return ds.dataset(schema.empty_table())
    # The values of partition columns are in the paths only.
    fields = pa.schema([schema.field(name) for name in table.partition_by])
    of_paths, base = ds.partitioning(fields, flavor="hive"), str(where)
    return ds.dataset(files, schema=schema, format="parquet", partitioning=of_paths, partition_base_dir=base)


@lru_cache(maxsize=MAX_KEPT)
def _rows(where: Path, table: Table, path: str) -> pa.Table:
    return dataset(where, table, [path]).to_table()
