"""Silver of raw files outside the streams: the tasks of the ingest parse them into a separate folder."""

import uuid
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

from conf.names import Kind
from conf.settings import Settings
from engine.delta.data_files import DataFile
from engine.ingest.batches import name_of, task_plan
from engine.ingest.task.batch_files import written_batch
from engine.ingest.task.records import BATCH_RECORDS
from engine.ingest.task.records import RAW as ARROW_RAW
from engine.ingest.task.task_plan import TaskPlan, run
from engine.ingest.task.written import Tally
from engine.process.cores import Mapper
from schemas.arrow import arrow_schema
from schemas.fields import Table
from schemas.silver import SILVER
from schemas.silver.not_kept import GAPS

ATTEMPT = "parsed"
PARSERS = ("engine.ingest.raw_files", __name__)
"""The modules that read and parse files, for `cores.mapper`."""

TASK_BYTES = 16 * 1024 * 1024
"""The size of the raw lines that one task parses, if they are in several row groups."""


def raw_lines(raw: Path, kinds: Iterable[Kind] = Kind) -> ds.Dataset:
    """Return the raw lines of these kinds (`raw_files.write_raw`) as rows of bronze."""
    files = [str(file) for kind in kinds for file in sorted((raw / kind.value).glob("*.parquet"))]
    return _dataset(files, ARROW_RAW)


def parse_files(
    lines: ds.Dataset, folder: Path, settings: Settings, run_all: Mapper = map
) -> tuple[dict[Table, ds.Dataset], Tally]:
    """
    Parse rows of bronze in Parquet files; return the rows of each silver table, and the counts.

    Keep `folder` as long as the rows are in use. The column `kind` of a row selects the parser.
    """
    reader = uuid.uuid4().hex[:8]
    root = folder / reader
    plan = task_plan(settings, root, ATTEMPT, reader=reader, writes_bronze=False)
    parsed = run_all(partial(_parsed, plan=plan), list(_tasks(lines)))
    written = written_batch([row for rows in parsed for row in rows], plan, batch_id=0)
    files = {table: written.files.get(name_of(table), []) for table in SILVER if table is not GAPS}
    return {table: _silver(root, table, files[table]) for table in files}, written.tally


def _tasks(lines: ds.Dataset) -> Iterator[list[ds.Fragment]]:
    """Yield the row groups of each task."""
    task, size_bytes = [], 0
    for group in (group for file in lines.get_fragments() for group in file.split_by_row_group()):
        task.append(group)
        size_bytes += group.row_groups[0].total_byte_size
        if size_bytes >= TASK_BYTES:
            yield task
            task, size_bytes = [], 0
    if task:
        yield task


def _parsed(groups: Sequence[ds.Fragment], plan: TaskPlan) -> list[tuple[Any, ...]]:
    """Return the report of a task."""
    rows = (
        batch
        for group in groups
        for batch in group.to_batches(schema=ARROW_RAW, batch_size=BATCH_RECORDS, batch_readahead=1)
    )
    return [row for report in run(rows, plan) for row in zip(*report.to_pydict().values(), strict=True)]


def _silver(root: Path, table: Table, files: Sequence[DataFile]) -> ds.Dataset:
    where = root / table.layer / table.name
    return _dataset([str(where / file.path) for file in files], arrow_schema(table))


def _dataset(files: Sequence[str], schema: pa.Schema) -> ds.Dataset:
    if not files:
        return ds.FileSystemDataset([], schema, ds.ParquetFileFormat())
    return ds.dataset(files, schema, format="parquet")
