"""
Rewrite the rows of a day in the order that the table declares, in one commit.

Sorted by series and instant, a constant series is one run and the instants repeat from series to series, so
both compress to almost nothing. Memory is bounded: `ROWS_AT_ONCE` rows are sorted at a time, and the sorted
runs are merged by ranges of the first column, a hash with a uniform distribution. Why not OPTIMIZE ZORDER:
`docs/decisions/012-samples-sorted-by-series.md`.
"""

import shutil
import time
import uuid
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from itertools import pairwise
from operator import itemgetter
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError
from deltalake.transaction import RemoveAction

from engine.delta import log_entries
from engine.delta.data_files import NULL_PARTITION, WITHOUT_DICTIONARY
from engine.maintain.actions import LoggedFile, day_column, files_of
from engine.process.fail_points import reached
from schemas.delta_log import read_on
from schemas.fields import Table

TRIES = 30
"""Each failed attempt is a stream's commit that came first."""

ROWS_AT_ONCE = 2_000_000
"""Rows sorted in memory at once: half a gigabyte, including a copy."""

SPILLED = pa.ipc.IpcWriteOptions(compression="zstd")
PACKED, SCRATCH = "packed-", "_packing-"
"""Prefixes of output and scratch folders. Readers and VACUUM skip names that begin with an underscore."""

ROWS_PER_PAGE = 1_000_000
"""Instants repeat from series to series; only a page with many series lets the compression use that."""

WRITTEN = {
    "compression": "zstd",
    "compression_level": 9,
    "data_page_size": 8 * ROWS_PER_PAGE,
    "max_rows_per_page": ROWS_PER_PAGE,
    "dictionary_pagesize_limit": 8 * ROWS_PER_PAGE,
    "store_schema": False,  # no reader uses Arrow's schema
}


def to_pack(files: Iterable[LoggedFile], today: date) -> dict[date | None, list[LoggedFile]]:
    """
    Return the files of each past day with a file that is not packed.

    Today keeps the order of arrival, so that a query for the newest rows reads few files.
    """
    of_day: dict[date | None, list[LoggedFile]] = defaultdict(list)
    for file in files:
        if file.day is not None and file.day < today:
            of_day[file.day].append(file)
    return {
        day: files_of_day
        for day, files_of_day in sorted(of_day.items(), key=itemgetter(0))
        if any(not file.path.startswith(PACKED) for file in files_of_day)
    }


def pack(log: DeltaTable, table: Table, day: date | None, *, target_bytes: int) -> None:
    """
    Sort all rows of a day into as few files as possible; streams may append at the same time.

    Raises:
        deltalake.exceptions.CommitFailedError: another commit removed these files.

    """
    read_on(log)
    where = log_entries.folder_of(log)
    old = [file.path for file in files_of(log, table) if file.day == day]
    attempt = where / f"{PACKED}{uuid.uuid4().hex[:8]}"
    folder = attempt / f"{day_column(table)}={day or NULL_PARTITION}" if table.partition_by else attempt
    folder.mkdir(parents=True)
    reached("optimize-begun")
    with _scratch(where) as scratch:
        rows = ds.dataset([str(where / path) for path in old], schema=_schema(log, table), format="parquet")
        _write(_in_order(rows, table.sort_by, scratch), rows.schema, folder, target_bytes)
    _swap(log, where, table, old, attempt)
    read_on(log)
    reached("optimize-committed")


def _schema(log: DeltaTable, table: Table) -> pa.Schema:
    """Return the schema of the files, which lack the partition columns."""
    whole = pa.schema(log.schema().to_arrow())
    return pa.schema([field for field in whole if field.name not in table.partition_by])


def _in_order(rows: ds.Dataset, order: Sequence[str], scratch: Path) -> Iterator[pa.Table]:
    """Yield all rows in order, in parts of about `ROWS_AT_ONCE`; a day that fits is sorted at once."""
    number = -(-rows.count_rows() // ROWS_AT_ONCE)
    if number <= 1:
        yield _sorted(rows.to_table(), order)
        return
    bounds = [(1 << 64) * index // number - (1 << 63) for index in range(1, number)]
    runs = [
        _spill(_sorted(run, order), order[0], bounds, scratch / f"{index}.arrow")
        for index, run in enumerate(_runs(rows))
    ]
    for index in range(number):
        yield _sorted(pa.Table.from_batches([_range_of(run, index) for run in runs]), order)


def _runs(rows: ds.Dataset) -> Iterator[pa.Table]:
    """Yield the rows in file order, in parts of at least `ROWS_AT_ONCE`."""
    pending: list[pa.RecordBatch] = []
    for batch in rows.to_batches(batch_readahead=1, fragment_readahead=1):
        pending.append(batch)
        if sum(each.num_rows for each in pending) >= ROWS_AT_ONCE:
            yield pa.Table.from_batches(pending)
            pending = []
    if pending:
        yield pa.Table.from_batches(pending)


def _sorted(rows: pa.Table, order: Sequence[str]) -> pa.Table:
    return rows.sort_by([(name, "ascending") for name in order]).combine_chunks()


def _spill(run: pa.Table, by: str, bounds: Sequence[int], path: Path) -> Path:
    """Write a sorted run with one batch per range of the column; NULLs come last."""
    column = run[by].chunk(0) if run.num_rows else run[by]
    known = range(run.num_rows - column.null_count)
    cuts = [
        0,
        *(bisect_left(known, bound, key=lambda row: column[row].as_py()) for bound in bounds),
        run.num_rows,
    ]
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, run.schema, options=SPILLED) as writer:
        for start, end in pairwise(cuts):
            batches = run.slice(start, end - start).to_batches()
            writer.write_batch(batches[0] if batches else pa.RecordBatch.from_pylist([], schema=run.schema))
    return path


def _range_of(run: Path, index: int) -> pa.RecordBatch:
    with pa.OSFile(str(run)) as source, pa.ipc.open_file(source) as reader:
        return reader.get_batch(index)


def _write(parts: Iterator[pa.Table], schema: pa.Schema, folder: Path, target_bytes: int) -> None:
    """Write the parts in order; start a new file when the current one has reached its target size."""
    often = [f.name for f in schema if f.name not in WITHOUT_DICTIONARY and not pa.types.is_timestamp(f.type)]
    part, number = next(parts, None), 0
    while part is not None:
        path = folder / f"part-{number:05}.zstd.parquet"
        with pq.ParquetWriter(path, schema, use_dictionary=often, **WRITTEN) as writer:
            is_full = False
            while part is not None and not is_full:
                writer.write_table(part, row_group_size=ROWS_PER_PAGE)
                part, is_full = next(parts, None), path.stat().st_size >= target_bytes
        number += 1


def _swap(log: DeltaTable, where: Path, table: Table, old: Sequence[str], attempt: Path) -> None:
    """Replace the files in one commit; files that a stream appended in the meantime stay."""
    now = int(time.time() * 1_000)
    gone = [RemoveAction(path, data_change=False, deletion_timestamp=now) for path in old]
    added = list(log_entries.added(where, attempt, table, data_change=False))
    for n in range(1, TRIES + 1):
        read_on(log)
        lost = set(old) - {file.path for file in files_of(log, table)}
        if lost:
            message = f"{len(lost)} of the packed files were removed by another commit"
            raise CommitFailedError(message)
        try:
            log_entries.commit(log, where, [*added, *gone])
        except CommitFailedError:  # the written files stay until VACUUM: see decision 006
            if n == TRIES:
                raise
            time.sleep(min(0.05 * n, 0.5))
        else:
            return


@contextmanager
def _scratch(where: Path) -> Iterator[Path]:
    """Yield a folder for sorted runs; first remove those of killed runs, since only one `maintain` runs."""
    for left in where.glob(f"{SCRATCH}*"):
        shutil.rmtree(left, ignore_errors=True)
    scratch = where / f"{SCRATCH}{uuid.uuid4().hex[:8]}"
    scratch.mkdir()
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
