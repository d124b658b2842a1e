"""Write and read the table `gold.quality_results`, which gold and the report use."""

import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from engine.delta import log_entries, tables
from schemas.gold.quality_results import QUALITY_RESULTS
from schemas.rows import Row
from transforms.frames import frame_of
from transforms.spans import Span, window_of
from transforms.windows import WINDOW_S

_known: dict[Path, tuple[int | None, set[int]]] = {}

RESULT_KEY = ("layer", "table_name", "rule", "span_start", "span_end")


def write(spark: SparkSession, warehouse: Path, rows: Sequence[Row]) -> None:
    """Append the results of a check; the caller holds the lease."""
    tables.ensure(spark, warehouse, QUALITY_RESULTS)
    frame = frame_of(spark, rows, QUALITY_RESULTS.schema).coalesce(1)
    once = f"check_quality-{uuid.uuid4()}"
    tables.append(frame, warehouse, QUALITY_RESULTS, txn_app_id=once, txn_version=1)


def read(warehouse: Path, *columns: str) -> list[Row]:
    """Return all results, the oldest first; an empty list before the first check."""
    if not tables.exists(warehouse, QUALITY_RESULTS):
        return []
    wanted = [*dict.fromkeys(("checked_at", *(columns or QUALITY_RESULTS.schema.names)))]
    # Not `DeltaTable.to_pyarrow_table`: after a query of DuckDB, the process would abort at its end.
    found: pa.Table = tables.snapshot(warehouse, QUALITY_RESULTS).all_rows(wanted).read_all()
    rows: list[Row] = found.take(pc.sort_indices(found, [("checked_at", "ascending")])).to_pylist()
    return rows


def newest(warehouse: Path, since: datetime | None = None, until: datetime | None = None) -> list[Row]:
    """Return the newest result of each rule and span that overlaps `since` to `until`."""
    last = {tuple(row[name] for name in RESULT_KEY): row for row in read(warehouse)}
    results = [
        {**row, **{name: _aware(row[name]) for name in ("checked_at", "span_start", "span_end")}}
        for row in last.values()
    ]
    return [
        row
        for row in results
        if row["span_start"] is None
        or ((until is None or row["span_start"] < until) and (since is None or row["span_end"] > since))
    ]


def blocked(warehouse: Path) -> set[int]:
    """Return the windows (epoch seconds) of silver whose newest check failed; cached per table version."""
    where = Path(tables.path(warehouse, QUALITY_RESULTS))
    if not (where / "_delta_log").is_dir():
        return set()
    version = log_entries.opened(where).version()
    if _known.get(where, (None, set()))[0] != version:
        _known[where] = (version, _blocked(warehouse))
    return _known[where][1]


def _blocked(warehouse: Path) -> set[int]:
    of_table: dict[str, set[int]] = {}
    checks: dict[tuple[datetime, str, datetime, datetime], bool] = {}
    for row in read(warehouse, "layer", "table_name", "span_start", "span_end", "is_passed"):
        if row["layer"] == "silver" and row["span_start"] is not None:
            check = (row["checked_at"], row["table_name"], row["span_start"], row["span_end"])
            checks[check] = checks.get(check, True) and row["is_passed"]
    for (_, table, start, end), is_passed in checks.items():
        bad = of_table.setdefault(table, set())
        span = span_between(start, end)
        if is_passed:
            of_table[table] = {window for window in bad if not span.start <= window < span.end}
        else:
            bad.update(range(span.start, span.end, WINDOW_S))
    return set().union(*of_table.values())


def checked_version(warehouse: Path, layer: str, table: str) -> int | None:
    """Return the table version up to which all new rows were checked; None before the first check."""
    rows = read(warehouse, "layer", "table_name", "table_version")
    versions = [row["table_version"] for row in rows if (row["layer"], row["table_name"]) == (layer, table)]
    return next((version for version in reversed(versions) if version is not None), None)


def span_between(start: datetime, end: datetime) -> Span:
    """Return the span of whole windows between two instants; the last window contains the end."""
    last = window_of(_aware(end).timestamp() - 1e-6) + WINDOW_S
    return Span(window_of(_aware(start).timestamp()), last)


def _aware(at: datetime) -> datetime:
    return at if at is None or at.tzinfo else at.replace(tzinfo=UTC)
