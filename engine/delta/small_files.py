"""
Rows of small data files, kept in memory.

The silver of a quiet cluster lies in hundreds of files of some hundred rows. The builds of a batch read those
of the last minutes many times, and to open a file costs more than to read its rows. No data file changes, so
each is read once.
"""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from engine.delta.datasets import dataset
from schemas.arrow import arrow_schema
from schemas.fields import Table

SMALL_BYTES, MAX_ROWS_BYTES = 64 * 1024, 512 * 1024
"""Bytes of a small file, and of its rows in memory: a client can send names that compress very well."""

MAX_READ, MAX_KEPT = 128, 512
"""Files that one query reads from memory, and files of all tables that are kept: up to 256 MiB of rows."""


def are_small(sizes: pa.ChunkedArray) -> bool:
    """Return whether a query reads files of these sizes (bytes) from memory."""
    return 0 < len(sizes) <= MAX_READ and bool(pc.max(sizes).as_py() <= SMALL_BYTES)


def rows_of(where: Path, table: Table, paths: Sequence[str]) -> pa.Table | None:
    """
    Return the rows of small data files of a table in its schema; a file may lack newer columns.

    Return None if the rows of a file are too large for memory.
    """
    found = []
    for path in paths:
        rows = _rows(where, table, path)
        if rows is None:
            return None
        found.append(rows)
    return pa.concat_tables(found)


@lru_cache(maxsize=MAX_KEPT)
def _rows(where: Path, table: Table, path: str) -> pa.Table | None:
    batches, size = list[pa.RecordBatch](), 0
    # Without reading ahead, one row group is in memory; the ingest writes at most 16 MiB of lines in each.
    for batch in dataset(where, table, [path]).to_batches(batch_readahead=0, fragment_readahead=0):
        size += batch.nbytes
        if size > MAX_ROWS_BYTES:
            return None
        batches.append(batch)
    return pa.Table.from_batches(batches, arrow_schema(table))
