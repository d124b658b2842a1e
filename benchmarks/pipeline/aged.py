"""What one small append costs on a young table and on ones with 100, 1,000 and 10,000 commits behind them."""

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable
from deltalake.transaction import AddAction, CommitProperties, RemoveAction, Transaction
from pyspark.sql import DataFrame, SparkSession

from benchmarks.pipeline.measure import Measured
from engine.ingest.arrow_rows import record_batch
from jobs import light_log, tables
from schemas.silver import REQUESTS
from transforms.parse import requests
from transforms.parse.record import Kept, Record

AGES = (1, 100, 1_000, 10_000)
CHECKPOINT_EVERY = 100
MOST_APPENDS = CHECKPOINT_EVERY - 20
"""Beyond them one of the timed appends would make a checkpoint, which is timed apart."""

ROWS = 2_000
CHECKPOINTS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Append:
    """One append, or one checkpoint, that was timed."""

    age: int
    round: int
    cpu_ms: float
    wall_ms: float


def age(spark: SparkSession, root: Path, commits: int) -> None:
    """
    Make the table and commit to it, by delta-rs, until it has so many versions and as many files of one row.

    A commit costs the more the more files and entries there are, which would take an hour here. So each
    takes the file before it away again, entries wait elsewhere once a checkpoint tells the same, and at
    last all of both are put back.
    """
    tables.ensure(spark, root, REQUESTS)
    where = Path(tables.path(root, REQUESTS))
    adds = _files(where, commits)
    entries, elsewhere = where / "_delta_log", root / "waiting"
    elsewhere.mkdir()
    for nth in range(1, commits):
        gone = RemoveAction(adds[nth - 1].path, data_change=True, deletion_timestamp=0)
        log = light_log.opened(where)
        noted = CommitProperties(app_transactions=[Transaction("aged", nth)])
        light_log.commit(log, where, [adds[nth], gone] if nth < commits - 1 else adds[1:], noted)
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


def timed(rows: DataFrame, roots: dict[int, Path], rounds: int, seed: int) -> list[Append]:
    """Append the same rows to every table, in random order within each round."""
    measured = []
    for nth, of_age in _interleaved(roots, rounds, seed):
        with Measured() as took:
            _append(rows, roots[of_age], "bench", nth)
        measured.append(_told(took, nth, of_age))
    return measured


def timed_checkpoints(rows: DataFrame, roots: dict[int, Path], rounds: int, seed: int) -> list[Append]:
    """Time the checkpoint that every hundredth append makes, each behind an append that is not timed."""
    measured = []
    for nth, of_age in _interleaved(roots, rounds, seed):
        _append(rows, roots[of_age], "bench-checkpoints", nth)
        where = Path(tables.path(roots[of_age], REQUESTS))
        with Measured() as took:
            _checkpoint(where)
        measured.append(_told(took, nth, of_age))
    return measured


def _interleaved(roots: dict[int, Path], rounds: int, seed: int) -> Iterator[tuple[int, int]]:
    dice = random.Random(seed)  # noqa: S311 (a repeatable order, no secret)
    for nth in range(rounds):
        for of_age in dice.sample(list(roots), len(roots)):
            yield nth, of_age


def _append(rows: DataFrame, root: Path, app_id: str, nth: int) -> None:
    tables.append(rows, root, REQUESTS, txn_app_id=app_id, txn_version=nth)


def _checkpoint(where: Path) -> None:
    light_log.opened(where).create_checkpoint()
    light_log.thin_checkpoints(where)
    DeltaTable(str(where))  # behind a checkpoint the log is read anew from there


def _told(took: Measured, nth: int, of_age: int) -> Append:
    return Append(age=of_age, round=nth, cpu_ms=took.cpu_s * 1e3, wall_ms=took.wall_s * 1e3)


def sample_rows(spark: SparkSession, lines: list[tuple[str, bytes]]) -> DataFrame:
    """Parse so many real lines once and keep them in memory, so that only the append is timed."""
    rows = list[Sequence[Any]]()
    for nth, (node, line) in enumerate(lines[:ROWS]):
        position = f"{node}/bench/{nth}"
        outcome = requests.parse(Record(line, cluster="lab", node=node, time_zone="UTC", position=position))
        if not isinstance(outcome, Kept):
            message = f"{position}: a recorded line cannot be parsed: {outcome}"
            raise TypeError(message)
        rows += outcome.rows[REQUESTS.name]
    frame = spark.createDataFrame(pa.Table.from_batches([record_batch(REQUESTS, rows)]), REQUESTS.schema)
    frame = frame.coalesce(2).cache()
    frame.count()
    return frame
