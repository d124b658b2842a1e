"""What the builds of gold read: the rows around some windows of a warehouse, or all rows."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from engine.delta import tables
from engine.delta.snapshot import Snapshot
from engine.gold.coverage import Settling
from engine.gold.derived import DerivedRows, Function
from schemas.arrow import arrow_schema
from schemas.fields import Table
from schemas.silver.requests import REQUESTS
from transforms.gold.build import Build
from transforms.spans import Span, spans_of, window_of, windows_of
from transforms.sql import Rows, connect
from transforms.windows import LINE, Coverage, Reach, coverage, newest_lines


class WindowInputs:
    """The rows that a step of windows depends on, from snapshots of a warehouse (see `build.Inputs`)."""

    def __init__(
        self,
        build: Build,
        snapshots: Mapping[str, Snapshot],
        settling: Settling,
        spans: Sequence[Span],
        derived: DerivedRows | None = None,
    ) -> None:
        """Read for the windows of the spans; `snapshots` are those of the build's inputs, by name."""
        self._build, self._settling = build, settling
        self._derived = derived or DerivedRows()
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
        where: str = "true",
    ) -> Rows:
        """Return columns of the rows around the windows; of a table in `Build.whole`, of all rows."""
        snapshot, within = self._snapshots[table.name], reach or self._build.reads.get(table)
        return snapshot.near(columns, None if within is None else self._spans, within or Reach(), where)

    def derived(
        self, table: Table, columns: Sequence[str], function: Function, where: pc.Expression | None = None
    ) -> pa.Table:
        """Return a function of the rows of each day of a table, from an earlier step if they are the same."""
        return self._derived.results(self._snapshots[table.name], columns, function, where)

    def around(
        self,
        table: Table,
        columns: Sequence[str],
        seconds: Collection[int],
        reach: Reach,
        *,
        where: str = "true",
    ) -> Rows:
        """Return columns of the rows around other windows, which contain these seconds."""
        spans = spans_of({window_of(second) for second in seconds})
        return self._snapshots[table.name].near(columns, spans, reach, where)

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
    """All rows of some silver tables (see `build.Inputs`): gold of a folder, and of made rows."""

    spans = windows = None

    def __init__(self, silver: Mapping[Table, ds.Dataset]) -> None:
        """Read these rows."""
        self._silver = silver

    def rows(
        self,
        table: Table,
        columns: Sequence[str],
        reach: Reach | None = None,  # noqa: ARG002 (all rows are near)
        *,
        where: str = "true",
    ) -> Rows:
        """Return columns of all rows."""
        return Rows(table=table, columns=tuple(columns), source=self._silver[table], where=where)

    def reader(
        self, table: Table, columns: Sequence[str], where: pc.Expression | None = None
    ) -> pa.RecordBatchReader:
        """Return columns of all rows that meet a condition, read in batches."""
        return self._silver[table].scanner(columns=list(columns), filter=where).to_reader()

    def derived(
        self, table: Table, columns: Sequence[str], function: Function, where: pc.Expression | None = None
    ) -> pa.Table:
        """Return a function of all rows of a table."""
        return function(self.reader(table, columns, where))

    def around(
        self,
        table: Table,
        columns: Sequence[str],
        seconds: Collection[int],  # noqa: ARG002 (all rows are near)
        reach: Reach,  # noqa: ARG002
        *,
        where: str = "true",
    ) -> Rows:
        """Return columns of all rows."""
        return self.rows(table, columns, where=where)

    def covered(self) -> list[Coverage]:
        """Return the coverage of all windows."""
        return coverage(newest_lines(self.reader(REQUESTS, LINE)))

    def has(self, table: Table) -> bool:
        """Return whether a table has rows."""
        return bool(self._silver[table].head(1).num_rows)


def gold_of_all(build: Build, inputs: WholeInputs) -> Mapping[Table, pa.Table]:
    """Return the gold of a build from all rows; no rows if none of the tables in `needs` has rows."""
    if build.needs and not any(map(inputs.has, build.needs)):
        return {table: arrow_schema(table).empty_table() for table in build.tables}
    return build.rows(inputs)


class WarehouseTables:
    """The tables of a warehouse, from which the memory of a build begins (see `build.RememberedTables`)."""

    def __init__(self, warehouse: Path, derived: DerivedRows | None = None) -> None:
        """Read existing tables."""
        self._warehouse, self._derived = warehouse, derived or DerivedRows()

    def rows(self, table: Table, columns: Sequence[str], among: Collection[int] | None = None) -> Rows:
        """Return columns of the rows in some windows (epoch seconds; default: all rows)."""
        spans = None if among is None else spans_of(among)
        return tables.snapshot(self._warehouse, table).near(columns, spans)

    def derived(
        self, table: Table, columns: Sequence[str], function: Function, where: pc.Expression | None = None
    ) -> pa.Table:
        """Return a function of the rows of each day of a table."""
        return self._derived.results(tables.snapshot(self._warehouse, table), columns, function, where)

    def windows(self, table: Table, among: Collection[int]) -> set[int]:
        """Return those windows (epoch seconds) in which a table has rows."""
        with connect({"rows": self.rows(table, ["window_start"], among)}) as db:
            found = db.sql("SELECT DISTINCT epoch(window_start)::BIGINT FROM rows").fetchall()
        return {start for (start,) in found}
