"""Read spans of a Delta table: the log names the files that overlap them, and Spark opens only those."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import reduce
from operator import or_
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from engine.delta import log_entries
from engine.delta.datasets import dataset
from engine.delta.log_state import entry
from engine.delta.small_files import are_small, rows_of
from schemas.fields import Table
from transforms.frames import frame_of
from transforms.spans import MAX_SPANS, Span, within
from transforms.sql import Rows, is_in_spans
from transforms.windows import Reach

INSTANT = pa.timestamp("us", "UTC")

CUT = timedelta(milliseconds=1)
"""Delta Spark truncates the instants in its statistics to milliseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """One version of a table. Later commits do not change it, as long as VACUUM keeps its files."""

    where: Path
    table: Table
    log: DeltaTable
    version: int
    files: pa.Table  # path and statistics of each file

    @classmethod
    def open(cls, where: Path, table: Table) -> "Snapshot":
        """Open the newest version of a table."""
        log = log_entries.opened(where)
        files = pa.table(log.get_add_actions(flatten=True))
        return cls(where=where, table=table, log=log, version=log.version(), files=files)

    def paths(self) -> list[str]:
        """Return the paths of all files."""
        return [str(path) for path in self.files["path"].to_pylist()]

    def paths_by_day(self) -> dict[date | None, set[str]]:
        """Return the paths of the files of each day; None is the day of a table or of rows without one."""
        days: dict[date | None, set[str]] = {}
        day = next((f"partition.{name}" for name in self.table.partition_by), "")
        unknown = pa.nulls(self.files.num_rows)
        of_day = self.files[day] if day in self.files.column_names else unknown
        for path, its_day in zip(self.paths(), of_day.to_pylist(), strict=True):
            days.setdefault(its_day, set()).add(path)
        return days or {None: set()}

    def overlapping(self, column: str, spans: Sequence[Span], reach: Reach = Reach()) -> list[str]:  # noqa: B008 (it is frozen)
        """Return the paths of the files that may have rows in the spans, widened by `reach`."""
        return self._paths(self._any([self._overlaps(column, _widened(span, reach)) for span in spans]))

    def newest(self, column: str) -> datetime | None:
        """Return the latest instant of a column; None if no file has statistics of it."""
        _, high = self._extremes(column)
        latest: datetime | None = pc.max(high).as_py()
        return latest

    def newest_first(self, column: str) -> list[tuple[str, datetime | None]]:
        """Return each file and its latest instant of a column; first those without statistics (None)."""
        _, high = self._extremes(column)
        latest = zip(self.paths(), high.to_pylist(), strict=True)
        return sorted(latest, key=lambda file: (file[1] is None, file[1] or _at(0)), reverse=True)

    def rows(
        self,
        spark: SparkSession,
        column: str,
        spans: Sequence[Span],
        reach: Reach = Reach(),  # noqa: B008 (it is frozen)
    ) -> DataFrame:
        """Return the rows in the spans, widened by `reach`, without the partition columns."""
        rows = self._read(spark, self.overlapping(column, spans, reach))
        return rows.filter(within(column, spans, reach))

    def column(self, name: str) -> pa.ChunkedArray:
        """Return a column of all rows, without Spark."""
        return self.all_rows([name]).read_all()[name]

    def added_since(self, spark: SparkSession, version: int | None) -> DataFrame:
        """
        Return the rows of files added since `version`; all rows if it is None or no longer in the log.

        A file that only merges others counts if one of them was added since.
        """
        fresh = None if version is None else _added_between(self.where, version, self.version)
        paths = self.paths()
        return self._read(spark, paths if fresh is None else [path for path in paths if _name(path) in fresh])

    def arrow(
        self,
        columns: Sequence[str],
        column: str,
        spans: Sequence[Span],
        reach: Reach = Reach(),  # noqa: B008 (it is frozen)
    ) -> pa.Table:
        """Return columns of the rows in the spans, widened by `reach`, without Spark."""
        files = self._dataset(self.overlapping(column, spans, reach))
        is_near = _is_in(column, [_widened(span, reach) for span in spans])
        return files.to_table(columns=list(columns), filter=is_near)

    def near(
        self,
        columns: Sequence[str],
        spans: Sequence[Span] | None,
        reach: Reach = Reach(),  # noqa: B008 (it is frozen)
        where: str = "true",
    ) -> Rows:
        """Return columns of the rows in the spans (None: all rows) that meet a condition, for queries."""
        files = self.files
        if spans is not None:
            widened = [_widened(span, reach) for span in spans]
            files = files.filter(self._any([self._overlaps(self.table.instant, span) for span in widened]))
            where = f"({is_in_spans(self.table.instant, widened)}) AND ({where})"
        paths = [str(path) for path in files["path"].to_pylist()]
        is_small = spans is not None and are_small(files["size_bytes"])
        kept = rows_of(self.where, self.table, paths) if is_small else None
        source = [str(self.where / path) for path in paths] if kept is None else kept
        return Rows(table=self.table, columns=tuple(columns), source=source, where=where)

    def all_rows(self, columns: Sequence[str], where: pc.Expression | None = None) -> pa.RecordBatchReader:
        """Return columns of all rows that meet a condition, without Spark, read in batches."""
        return self.rows_in(self.paths(), columns, where)

    def rows_in(
        self, paths: Collection[str], columns: Sequence[str], where: pc.Expression | None = None
    ) -> pa.RecordBatchReader:
        """Return columns of the rows of some files that meet a condition."""
        return self._dataset(paths).scanner(columns=list(columns), filter=where).to_reader()

    def outside(self, column: str, spans: Sequence[Span]) -> Iterator[pa.RecordBatch]:
        """Yield the other rows of the files that overlap the spans."""
        inside = self._any([self._is_inside(column, span) for span in spans])
        overlaps = self._any([self._overlaps(column, span) for span in spans])
        mixed = self._paths(pc.and_(overlaps, pc.invert(inside)))
        is_outside = ~_is_in(column, spans) | pc.field(column).is_null()
        yield from self._dataset(mixed).to_batches(filter=is_outside)

    def _dataset(self, paths: Collection[str]) -> ds.Dataset:
        return dataset(self.where, self.table, paths)

    def _read(self, spark: SparkSession, paths: list[str]) -> DataFrame:
        schema = StructType(
            [field for field in self.table.schema if field.name not in self.table.partition_by]
        )
        if not paths:
            return frame_of(spark, [], schema)
        reader = spark.read.schema(schema).option("recursiveFileLookup", "true")
        return reader.parquet(*(str(self.where / path) for path in paths))

    def _paths(self, chosen: pa.Array) -> list[str]:
        return [str(path) for path in self.files.filter(chosen)["path"].to_pylist()]

    def _any(self, masks: list[pa.Array]) -> pa.Array:
        return reduce(pc.or_, masks, pa.repeat(pa.scalar(False), self.files.num_rows))

    def _overlaps(self, column: str, span: Span) -> pa.Array:
        """Return a mask of the files that may have rows of the span; a file without statistics may."""
        low, high = self._extremes(column)
        is_in = pc.and_(pc.less(low, _at(span.end)), pc.greater_equal(high, _at(span.start) - CUT))
        return pc.fill_null(is_in, fill_value=True)

    def _is_inside(self, column: str, span: Span) -> pa.Array:
        low, high = self._extremes(column)
        is_in = pc.and_(pc.greater_equal(low, _at(span.start)), pc.less(high, _at(span.end) - CUT))
        return pc.fill_null(is_in, fill_value=False)

    def _extremes(self, column: str) -> tuple[pa.Array, pa.Array]:
        names = (f"min.{column}", f"max.{column}")
        unknown = pa.nulls(self.files.num_rows, INSTANT)
        low, high = (self.files[name] if name in self.files.column_names else unknown for name in names)
        return low, high


def _is_in(column: str, spans: Sequence[Span]) -> pc.Expression:
    at = pc.field(column)
    if len(spans) > MAX_SPANS:
        # A chain of hundreds of comparisons is slow.
        seconds = {second for span in spans for second in range(*span)}
        return pc.divide(at.cast(pa.int64()), 1_000_000).isin(pa.array(seconds, pa.int64()))
    limits = [tuple(pa.scalar(_at(second), INSTANT) for second in span) for span in spans]
    return reduce(or_, [(at >= start) & (at < end) for start, end in limits])


def _at(second: int) -> datetime:
    return datetime.fromtimestamp(second, UTC)


def _widened(span: Span, reach: Reach) -> Span:
    return Span(span.start - reach.lookback_s, span.end + reach.lookahead_s)


def _name(path: str) -> str:
    return path.rsplit("/", 1)[-1]


def _added_between(where: Path, version: int, newest: int) -> set[str] | None:
    """Return the names of the files with rows added after a version; None if the log has lost an entry."""
    fresh = set[str]()
    for each in range(version + 1, newest + 1):
        actions = entry(where / "_delta_log", each)
        if actions is None:
            return None
        adds = [action["add"] for action in actions if "add" in action]
        removed = {_name(action["remove"]["path"]) for action in actions if "remove" in action}
        has_fresh = bool(fresh & removed)
        fresh = (fresh - removed) | {_name(add["path"]) for add in adds if add["dataChange"] or has_fresh}
    return fresh
