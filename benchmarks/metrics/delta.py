"""Weigh the samples in Delta: append them like a stream, run `maintain` a day later, and read them back."""

import hashlib
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable
from deltalake.transaction import Transaction
from pyspark.sql import SparkSession

from benchmarks.metrics.samples import Bits, Head, Longs, RecordedPage, Samples, is_same, ordered
from benchmarks.pipeline.measure import Measured
from conf.progress import Progress
from conf.settings import Settings, WarehouseSettings
from engine.delta import appends, log_entries, tables
from engine.maintain.table import TableMaintenance
from schemas.fields import Table
from schemas.silver.metrics import METRIC_SAMPLES, METRIC_SERIES

CLUSTER = "lab"
NS_A_US = 1_000
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"')


@dataclass(frozen=True, slots=True, kw_only=True)
class InDelta:
    """The bytes of the tables' files, and of the Delta log of the samples."""

    young: int
    samples: int
    series: int
    log: int
    files: int
    cpu_s: float
    is_lossless: bool


def in_delta(held: Samples, root: Path, spark: SparkSession) -> InDelta:
    """Append each round of scrapes in one commit, maintain a day later, weigh, and compare every sample."""
    shutil.rmtree(root, ignore_errors=True)
    settings = Settings(warehouse=WarehouseSettings(root=str(root), checkpoints=str(root / "checkpoints")))
    for table in (METRIC_SAMPLES, METRIC_SERIES):
        tables.ensure(spark, root, table)
    of_series = ids(held.heads)
    _append_all(held, of_series, root)
    young = _bytes_of(root, METRIC_SAMPLES)
    with Measured() as took:
        for table in (METRIC_SAMPLES, METRIC_SERIES):
            tomorrow = _instant(held.pages[-1]) + timedelta(days=1)
            one = TableMaintenance(settings, table, Progress(), tomorrow, dry_run=False)
            one.compact()
            one.clean()
    where = _where(root, METRIC_SAMPLES)
    return InDelta(
        young=young,
        samples=_bytes_of(root, METRIC_SAMPLES),
        series=_bytes_of(root, METRIC_SERIES),
        log=sum(file.stat().st_size for file in (where / "_delta_log").iterdir()),
        files=len(DeltaTable(str(where)).file_uris()),
        cpu_s=took.cpu_s,
        is_lossless=is_same(held.in_order(NS_A_US), _read_back(where, of_series)),
    )


def ids(heads: Sequence[Head]) -> Longs:
    """Return a 64-bit hash of each series, as the ingest does."""
    hashes = (hashlib.blake2b("/".join(head).encode(), digest_size=8).digest() for head in heads)
    return np.array([int.from_bytes(each, "big", signed=True) for each in hashes], dtype=np.int64)


def _append_all(held: Samples, of_series: Longs, root: Path) -> None:
    """Commit once per as many pages as there are nodes, which is about one round of scrapes."""
    nodes = len({node for node, _ in held.heads})
    _append(root, METRIC_SERIES, 0, [(None, _series(held.heads, of_series, held.pages[0]))])
    for nth, first in enumerate(range(0, len(held.pages), nodes)):
        by_day: dict[date, list[pa.Table]] = {}
        for page in held.pages[first : first + nodes]:
            by_day.setdefault(_instant(page).date(), []).append(_rows(page, of_series))
        _append(root, METRIC_SAMPLES, nth, [(day, pa.concat_tables(of)) for day, of in by_day.items()])


def _rows(page: RecordedPage, of_series: Longs) -> pa.Table:
    number = len(page.series)
    at = pa.array(np.full(number, page.at_ns // NS_A_US), pa.timestamp("us", "UTC"))
    columns = (pa.array([CLUSTER] * number), pa.array(of_series[page.series]), at, pa.array(page.values))
    return pa.table(list(columns), names=METRIC_SAMPLES.schema.names[:-1])


def _series(heads: Sequence[Head], of_series: Longs, page: RecordedPage) -> pa.Table:
    rows = [
        {
            "cluster": CLUSTER,
            "series_id": of_series[nth],
            "name": head.partition("{")[0],
            "labels": LABEL.findall(head),
            "node": node,
            "broker_id": int(node.rpartition("-")[2]),
            "type": "untyped",
            "first_at": _instant(page),
            "parser_version": 1,
        }
        for nth, (node, head) in enumerate(heads)
    ]
    kinds = dict.fromkeys(METRIC_SERIES.schema.names, pa.string()) | {
        "series_id": pa.int64(),
        "labels": pa.map_(pa.string(), pa.string()),
        "broker_id": pa.int32(),
        "first_at": pa.timestamp("us", "UTC"),
        "parser_version": pa.int32(),
    }
    return pa.Table.from_pylist(rows, pa.schema(list(kinds.items())))


def _append(root: Path, table: Table, nth: int, by_day: Sequence[tuple[date | None, pa.Table]]) -> None:
    where = _where(root, table)
    attempt = where / f"ingest-{nth}"
    for day, rows in by_day:
        folder = attempt / f"{table.partition_by[0]}={day}" if day else attempt
        folder.mkdir(parents=True)
        pq.write_table(rows, folder / "part-0.parquet", compression="zstd", compression_level=1)
    appends.append(where, list(log_entries.added(where, attempt, table)), Transaction("ingest", nth))


def _read_back(where: Path, of_series: Longs) -> tuple[Longs, Longs, Bits]:
    rows = DeltaTable(str(where)).to_pyarrow_table(columns=["series_id", "at", "value"])
    by_id = np.argsort(of_series)
    series = by_id[np.searchsorted(of_series, rows["series_id"].to_numpy(), sorter=by_id)]
    return ordered(series, rows["at"].cast(pa.int64()).to_numpy(), rows["value"].to_numpy())


def _instant(page: RecordedPage) -> datetime:
    return datetime.fromtimestamp(page.at_ns / 1e9, UTC)


def _where(root: Path, table: Table) -> Path:
    return root / table.layer / table.name


def _bytes_of(root: Path, table: Table) -> int:
    log = DeltaTable(str(_where(root, table)))
    return sum(pa.table(log.get_add_actions(flatten=True))["size_bytes"].to_pylist())
