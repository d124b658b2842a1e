"""What the builds of gold read: the rows around some windows of a warehouse, or all rows of some frames."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from urllib.parse import unquote, urlparse

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema

from engine.delta import tables
from engine.delta.snapshot import Snapshot
from engine.gold.coverage import Settling
from schemas.arrow import arrow_schema
from schemas.fields import Table
from schemas.silver.requests import REQUESTS
from transforms.frames import frame_of, frame_of_arrow
from transforms.gold.build import Build
from transforms.spans import Span, spans_of, window_of, windows_of
from transforms.windows import Coverage, Reach, coverage, newest_lines


class WindowInputs:
    """The rows that a step of windows depends on, from snapshots of a warehouse (see `build.Inputs`)."""

    def __init__(
        self,
        build: Build,
        snapshots: Mapping[str, Snapshot],
        settling: Settling,
        spans: Sequence[Span],
    ) -> None:
        """Read for the windows of the spans; `snapshots` are those of the build's inputs, by name."""
        self._build, self._settling = build, settling
        self._snapshots, self._spans = snapshots, list(spans)

    @property
    def spans(self) -> Sequence[Span]:
        """The windows to build."""
        return self._spans

    @property
    def windows(self) -> set[int]:
        """The windows to build, in epoch seconds."""
        return windows_of(self._spans)

    def rows(
        self,
        table: Table,
        columns: Sequence[str],
        reach: Reach | None = None,
        *,
        where: pc.Expression | None = None,
    ) -> pa.RecordBatchReader:
        """Return columns of the rows around the windows; of a table in `Build.whole`, of all rows."""
        snapshot, within = self._snapshots[table.name], reach or self._build.reads.get(table)
        if within is None:
            return snapshot.all_rows(columns, where)
        return snapshot.reader(columns, table.instant, self._spans, within, where)

    def around(
        self,
        table: Table,
        columns: Sequence[str],
        seconds: Collection[int],
        reach: Reach,
        *,
        where: pc.Expression | None = None,
    ) -> pa.RecordBatchReader:
        """Return columns of the rows around other windows, which contain these seconds."""
        spans = spans_of({window_of(second) for second in seconds})
        if not spans:
            return arrow_schema(table).empty_table().select(columns).to_reader()
        return self._snapshots[table.name].reader(columns, table.instant, spans, reach, where)

    def covered(self) -> list[Coverage]:
        """Return the coverage of the windows."""
        return self._settling.covered(self._snapshots[REQUESTS.name], self._spans)

    def has(self, table: Table) -> bool:
        """Return whether a table may have rows near the windows, or at all, by its log."""
        snapshot, reach = self._snapshots[table.name], self._build.reads.get(table)
        if reach is None:
            return bool(snapshot.paths())
        return bool(snapshot.overlapping(table.instant, self._spans, reach))


class WholeInputs:
    """All rows of some silver frames (see `build.Inputs`): gold of a folder, and of made rows."""

    spans = windows = None

    def __init__(self, silver: Mapping[Table, DataFrame]) -> None:
        """Read these frames. A frame of files must be unfiltered, because `rows` reads the files."""
        self._silver = silver

    @property
    def spark(self) -> SparkSession:
        """The session of the frames."""
        return next(iter(self._silver.values())).sparkSession

    def rows(
        self,
        table: Table,
        columns: Sequence[str],
        reach: Reach | None = None,  # noqa: ARG002 (all rows are near)
        *,
        where: pc.Expression | None = None,
    ) -> pa.RecordBatchReader:
        """Return columns of all rows, read from the files of the frame if it has any."""
        return reader_of(self._silver[table], columns, where)

    def around(
        self,
        table: Table,
        columns: Sequence[str],
        seconds: Collection[int],  # noqa: ARG002 (all rows are near)
        reach: Reach,  # noqa: ARG002
        *,
        where: pc.Expression | None = None,
    ) -> pa.RecordBatchReader:
        """Return columns of all rows."""
        return self.rows(table, columns, where=where)

    def covered(self) -> list[Coverage]:
        """Return the coverage of all windows."""
        return coverage(newest_lines(self._silver[REQUESTS]).toArrow())

    def has(self, table: Table) -> bool:
        """Return whether a table has rows."""
        return not self._silver[table].isEmpty()


def reader_of(
    frame: DataFrame, columns: Sequence[str], where: pc.Expression | None = None
) -> pa.RecordBatchReader:
    """Return columns of the rows of a frame. A frame of files must be unfiltered: the files are read."""
    files = [unquote(urlparse(file).path) for file in frame.inputFiles()]
    schema = to_arrow_schema(frame.schema, timezone="UTC")
    rows = ds.dataset(files, schema=schema, format="parquet") if files else ds.dataset(frame.toArrow())
    return rows.scanner(columns=list(columns), filter=where).to_reader()


class WarehouseTables:
    """The tables of a warehouse, from which the memory of a build begins (see `build.Warehouse`)."""

    def __init__(self, warehouse: Path) -> None:
        """Read existing tables."""
        self._warehouse = warehouse

    def rows(self, table: Table, columns: Sequence[str]) -> pa.RecordBatchReader:
        """Return columns of all rows of a table."""
        return tables.snapshot(self._warehouse, table).all_rows(columns)

    def windows(self, table: Table) -> set[int]:
        """Return the windows (epoch seconds) in which a table has rows."""
        starts = tables.snapshot(self._warehouse, table).column("window_start")
        return {int(start.timestamp()) for start in starts.unique().to_pylist()}


def frames_of(build: Build, inputs: WholeInputs) -> dict[Table, DataFrame]:
    """Return the gold of a build from all rows; empty frames if none of the tables in `needs` has rows."""
    if build.needs and not any(map(inputs.has, build.needs)):
        return {table: frame_of(inputs.spark, [], table.schema) for table in build.tables}
    return {table: frame_of_arrow(inputs.spark, rows) for table, rows in build.rows(inputs).items()}
