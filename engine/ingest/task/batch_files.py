"""Write the files of one batch: most in tasks, a few on the driver."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame

from engine.delta.data_files import DataFile
from engine.delta.file_writer import FileWriter
from engine.ingest.task.arrow_rows import TABLES, record_batch
from engine.ingest.task.known_rows import KnownRows
from engine.ingest.task.task_plan import TaskPlan, run
from engine.ingest.task.written import SCHEMA, SkippedKey, Tally, tally_of
from schemas.silver.not_kept import SKIPPED
from transforms.parse.record import PARSER_VERSION

NO_ROWS = KnownRows()


class LostFileError(Exception):
    """A file that a task wrote is missing or has a different size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenBatch:
    """The files of a batch by table (`layer.name`), and the counts of its records."""

    files: dict[str, list[DataFile]] = field(default_factory=dict)
    tally: Tally = field(default_factory=Tally)
    new_rows: dict[str, list[Any]] = field(default_factory=dict)  # rows of `WRITTEN_ONCE` tables
    unnamed: list[Path] = field(default_factory=list)  # files that no task reported


def write_batch_files(
    records: DataFrame, plan: TaskPlan, *, batch_id: int, known: KnownRows = NO_ROWS
) -> WrittenBatch:
    """
    Parse records of the Kafka source, or bronze rows, and write the files of all tables.

    Raises:
        LostFileError: a file that a task wrote is missing or has a different size.

    """
    rows = records.mapInArrow(partial(run, plan=plan, batch_id=batch_id), SCHEMA).collect()
    return written_batch(rows, plan, batch_id=batch_id, known=known)


def written_batch(
    rows: Iterable[Sequence[Any]], plan: TaskPlan, *, batch_id: int, known: KnownRows = NO_ROWS
) -> WrittenBatch:
    """
    Write the driver's files; `rows` are the reports of all tasks.

    Nothing is committed. Rows whose key is already in `known` are not written again.

    Raises:
        LostFileError: a file that a task wrote is missing or has a different size.

    """
    reports = list(rows)
    files = [DataFile(*file) for *file, tally_bytes in reports if tally_bytes is None]
    tally = tally_of(tally_bytes for *_, tally_bytes in reports if tally_bytes is not None)
    new_rows = {name: known.unknown(name, candidates) for name, candidates in tally.new_rows.items()}
    files += _driver_files(plan, {**new_rows, SKIPPED.name: list(_skipped_rows(tally, batch_id))})
    unnamed = check_written(Path(plan.warehouse), plan.attempt, files)
    by_table: dict[str, list[DataFile]] = {}
    for file in files:
        by_table.setdefault(file.table, []).append(file)
    return WrittenBatch(files=by_table, tally=tally, new_rows=new_rows, unnamed=unnamed)


def _driver_files(plan: TaskPlan, rows_by_table: dict[str, Sequence[Any]]) -> list[DataFile]:
    writer = FileWriter(Path(plan.warehouse), plan.attempt)
    for name, rows in rows_by_table.items():
        if rows:
            writer.write(TABLES[name], record_batch(TABLES[name], rows))
    return list(writer.closed())


def _skipped_rows(tally: Tally, batch_id: int) -> Iterable[tuple[Any, ...]]:
    """Yield rows of `silver.skipped`, in column order."""
    for key, lines in tally.skipped.items():
        kind, cluster, node, source, logger, reason, day = SkippedKey(*key)
        yield batch_id, kind, cluster, node, source, logger, reason, lines, PARSER_VERSION, day


def check_written(warehouse: Path, attempt: str, files: Iterable[DataFile]) -> list[Path]:
    """
    Check that each reported file exists with its reported size; return the files that no task reported.

    A task that failed or ran twice can leave unreported files. They are not committed, and
    `plumbline maintain` removes them.

    Raises:
        LostFileError: a reported file is missing or has a different size.

    """
    named: dict[str, set[Path]] = {}
    for file in files:
        path = warehouse / file.table.replace(".", "/") / file.path
        named.setdefault(file.table, set()).add(path)
        size = path.stat().st_size if path.exists() else None
        if size != file.size:
            found = "is missing" if size is None else f"has {size:,} bytes"
            message = f"{path} {found}; its task wrote {file.size:,}. No file of the batch is committed."
            raise LostFileError(message)
    folders = {table: warehouse / table.replace(".", "/") / attempt for table in named}
    found_files = ((table, path) for table, folder in folders.items() for path in folder.rglob("*.parquet"))
    return [path for table, path in found_files if path not in named[table]]
