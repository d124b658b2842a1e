"""The cost of one ingest append to a young table, and to tables with 100, 1,000 and 10,000 commits."""

import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable
from deltalake.transaction import AddAction, RemoveAction, Transaction
from pyspark.sql import SparkSession

from benchmarks.pipeline.arms import product
from engine.delta import log_entries, tables
from schemas.silver.requests import REQUESTS
from transforms.parse import requests
from transforms.parse.record import Kept, Record

OLDEST = 10_000
CHECKPOINT_EVERY = 100
MOST_APPENDS = CHECKPOINT_EVERY - 20
"""With more, a timed append would write a checkpoint, which is timed separately."""

ROWS = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Append:
    """One append, or one checkpoint, that was timed."""

    age: int
    round: int
    cpu_ms: float
    wall_ms: float


def age(spark: SparkSession, root: Path, commits: int) -> None:
    """
    Create a table with `commits` versions and as many files of one row, with delta-rs.

    The cost of a commit grows with files and log entries, so plain commits would take an hour. Therefore each
    commit removes the previous file, entries that a checkpoint covers are moved away, and at the end all
    files and entries are restored.
    """
    tables.ensure(spark, root, REQUESTS)
    where = Path(tables.path(root, REQUESTS))
    adds = _files(where, commits)
    entries, elsewhere = where / "_delta_log", root / "waiting"
    elsewhere.mkdir()
    for nth in range(1, commits):
        gone = RemoveAction(adds[nth - 1].path, data_change=True, deletion_timestamp=0)
        log = log_entries.opened(where)
        changes: list[AddAction | RemoveAction]
        changes = [adds[nth], gone] if nth < commits - 1 else [*adds[1:]]
        log_entries.commit(log, where, changes, transaction=Transaction("aged", nth))
        if nth % CHECKPOINT_EVERY == 0:
            DeltaTable(str(where)).create_checkpoint()
            _move([entry for entry in entries.glob("*.json") if int(entry.stem) < nth], elsewhere)
    _move(elsewhere.iterdir(), entries)
    DeltaTable(str(where)).create_checkpoint()


def _files(where: Path, n: int) -> list[AddAction]:
    file, names = where / "aged.parquet", [f"aged-{nth}.parquet" for nth in range(n)]
    pq.write_table(pa.table({"position": pa.array(["aged"])}), file)
    for name in names:
        (where / name).hardlink_to(file)
    size, day = file.stat().st_size, {"logged_date": "2026-11-20"}
    return [AddAction(name, size, day, 0, data_change=True, stats='{"numRecords":1}') for name in names]


def _move(files: Iterable[Path], to: Path) -> None:
    for file in files:
        file.rename(to / file.name)


def timed(rows: pa.RecordBatch, roots: dict[int, Path], rounds: int, seed: int) -> list[Append]:
    """Append the same rows to every table, in random order within each round."""
    return [
        _timed(nth, of_age, partial(_append, rows, roots[of_age], "bench", nth))
        for nth, of_age in _interleaved(roots, rounds, seed)
    ]


def timed_checkpoints(rows: pa.RecordBatch, roots: dict[int, Path], rounds: int, seed: int) -> list[Append]:
    """Time the checkpoint of every hundredth append, each after an append that is not timed."""
    measured = []
    for nth, of_age in _interleaved(roots, rounds, seed):
        _append(rows, roots[of_age], "bench-checkpoints", nth)
        where = Path(tables.path(roots[of_age], REQUESTS))
        measured.append(_timed(nth, of_age, partial(_checkpoint, where)))
    return measured


def sample_rows(lines: list[tuple[str, bytes]]) -> pa.RecordBatch:
    """Parse recorded lines once, so that only the append is timed."""
    rows = list[Sequence[Any]]()
    for nth, (node, line) in enumerate(lines[:ROWS]):
        position = f"{node}/bench/{nth}"
        outcome = requests.parse(Record(line, cluster="lab", node=node, time_zone="UTC", position=position))
        if not isinstance(outcome, Kept):
            message = f"{position}: a recorded line cannot be parsed: {outcome}"
            raise TypeError(message)
        rows += outcome.rows[REQUESTS.name]
    return product.rows_of_parser(REQUESTS, rows)


def _timed(nth: int, of_age: int, work: Callable[[], None]) -> Append:
    """Time work of this process with its own clock, which is finer than the 10 ms ticks of a process list."""
    cpu_s, wall_s = time.process_time(), time.perf_counter()
    work()
    cpu_s, wall_s = time.process_time() - cpu_s, time.perf_counter() - wall_s
    return Append(age=of_age, round=nth, cpu_ms=cpu_s * 1e3, wall_ms=wall_s * 1e3)


def _interleaved(roots: dict[int, Path], rounds: int, seed: int) -> Iterator[tuple[int, int]]:
    dice = random.Random(seed)  # noqa: S311 (a repeatable order, no secret)
    for nth in range(rounds):
        for of_age in dice.sample(list(roots), len(roots)):
            yield nth, of_age


def _append(rows: pa.RecordBatch, root: Path, app_id: str, nth: int) -> None:
    product.append(root, REQUESTS, rows, app_id=app_id, batch_id=nth)


def _checkpoint(where: Path) -> None:
    log_entries.opened(where).create_checkpoint()
    log_entries.thin_checkpoints(where)
    DeltaTable(str(where))  # A reader starts at the newest checkpoint.
