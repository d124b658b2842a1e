"""Build gold: find the windows that new rows touch, read what they depend on, replace them whole."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from pyspark.sql import SparkSession

from conf.progress import Progress
from engine.delta import tables
from engine.delta.snapshot import Snapshot
from engine.gold.addresses import forget_addresses
from engine.gold.coverage import Settling
from engine.gold.culprit import culprits_of
from engine.gold.derived import DerivedRows
from engine.gold.held_back import let_through
from engine.gold.inputs import WarehouseTables, WindowInputs
from engine.process.fail_points import reached
from schemas.fields import Table
from schemas.gold.leader_redirect import LEADER_REDIRECT
from transforms.gold.build import Arrived, Build
from transforms.gold.builds import BUILDS
from transforms.spans import Span, in_steps, spans_of, window_of, windows_of
from transforms.windows import WINDOW_S, Reach


def gold_of(builds: Iterable[Build]) -> tuple[Table, ...]:
    """Return the tables that a builder writes."""
    return tuple(table for build in builds for table in (*build.tables, *build.followed_by))


class Builder:
    """
    Builds the gold tables of one warehouse as they are declared; its caller holds the lease.

    It remembers between batches only what it can read from tables again.
    """

    def __init__(
        self, spark: SparkSession, warehouse: Path, progress: Progress, builds: Sequence[Build] = BUILDS
    ) -> None:
        """Create the missing tables."""
        self.warehouse, self._progress, self.builds = warehouse, progress, tuple(builds)
        for table in {table.name: table for build in builds for table in build.silver}.values():
            tables.make(warehouse, table)
        for table in gold_of(builds):
            tables.ensure(spark, warehouse, table)
        if LEADER_REDIRECT in gold_of(builds):
            forget_addresses(warehouse)
        self._derived = DerivedRows()
        known = WarehouseTables(warehouse, self._derived)
        self._memories = {build.name: build.memory(known) for build in builds if build.memory}
        self._settling = Settling(warehouse, gold_of(build for build in builds if build.is_covered))
        self._culprits = culprits_of(warehouse) if any(build.followed_by for build in builds) else None
        self._newest = dict.fromkeys((build.name for build in builds), _newest(warehouse, gold_of(builds)))
        self._newest_stored = {build.name: _newest(warehouse, _inputs(build)) for build in builds}
        self._refused: dict[str, set[int]] = {build.name: set() for build in builds}

    def build(self, arrived: Sequence[Arrived]) -> dict[str, int]:
        """Build the windows that new rows (`arrivals.arrived`) touch; return how many, by build."""
        self._settling.saw(arrived)
        may_settle = self._settling.may_settle()
        windows = {build.name: self.touched(build, arrived) for build in self.builds}
        snapshots: dict[str, Snapshot] = {}
        for build in self.builds:
            if build.is_covered:
                windows[build.name] |= may_settle
            self.rebuild(build, windows[build.name], snapshots)
        return {name: len(of) for name, of in windows.items() if of}

    def rebuild_span(self, span: Span) -> int:
        """Build all windows of a span again; return how many were refused because silver is incomplete."""
        return max(self.rebuild(build, windows_of([span])) for build in self.builds)

    def touched(self, build: Build, arrived: Sequence[Arrived]) -> set[int]:
        """Return the windows of a build that new rows touch, and those that it remembers."""
        inputs = {table.name for table in _inputs(build)}
        slots = (row.slot for row in arrived if row.input in inputs)
        newest = self._newest[build.name] = max(self._newest[build.name], max(slots, default=0))
        touched = build.touched(arrived, newest, self._newest_stored[build.name])
        memory = self._memories.get(build.name)
        return memory.windows(touched, arrived) if memory else set().union(*touched)

    def rebuild(
        self, build: Build, windows: Iterable[int], snapshots: dict[str, Snapshot] | None = None
    ) -> int:
        """
        Build windows (epoch seconds) again; return how many were refused because silver is incomplete.

        Missing snapshots of silver are added to `snapshots`, which the builds of a batch share.
        """
        wanted = let_through(self.warehouse, windows)
        if not wanted:
            return 0
        # Take the snapshots first: rows that retention deletes after the check below are still in them.
        snapshots = {} if snapshots is None else snapshots
        for table in build.silver:
            if table.name not in snapshots:
                snapshots[table.name] = tables.snapshot(self.warehouse, table)
        oldest = _first_whole_window(self.warehouse, build.reads)
        refused = {window for window in wanted if oldest is not None and window < oldest}
        self._report_refused(build, refused, oldest)
        if build.is_covered:
            self._settling.forget(refused)
        built = spans_of(wanted - refused)
        self._newest[build.name] = max(self._newest[build.name], *(wanted - refused), 0)
        reached("gold-begun")
        for spans in in_steps(built):
            self._replace(build, spans, snapshots)
        if self._culprits and build.followed_by:
            reached("gold-windows-committed")
            self._culprits.rebuild(built)
        return len(refused)

    def _replace(self, build: Build, spans: Sequence[Span], snapshots: Mapping[str, Snapshot]) -> None:
        inputs = WindowInputs(build, snapshots, self._settling, spans, self._derived)
        if build.needs and not any(map(inputs.has, build.needs)) and not self._holds(build, spans):
            return
        versions = {f"{table.layer}.{table.name}": snapshots[table.name].version for table in build.reads}
        note = json.dumps({"built_from": versions})
        rows = {}
        for table, new in build.rows(inputs).items():
            has_rows = bool(new.num_rows)
            tables.replace(
                new, self.warehouse, table, column=table.instant, spans=spans, note=note if has_rows else ""
            )
            reached("gold-table-committed")
            rows[table] = new
        if build.name in self._memories:
            self._memories[build.name].built(spans, rows)

    def _holds(self, build: Build, spans: Sequence[Span]) -> bool:
        """Return whether a table of the build may have rows in the spans."""
        gold = ((table, tables.snapshot(self.warehouse, table)) for table in build.tables)
        return any(snapshot.overlapping(table.instant, spans) for table, snapshot in gold)

    def _report_refused(self, build: Build, refused: set[int], oldest: int | None) -> None:
        if oldest is None or refused <= self._refused[build.name]:
            return
        self._refused[build.name] |= refused
        for span in spans_of(refused):
            since = str(Span(oldest, oldest)).split(" to ")[0]
            self._progress.say(f"{build.name} not rebuilt: {span}; silver is complete only from {since} on")


def _first_whole_window(warehouse: Path, reaches: Mapping[Table, Reach]) -> int | None:
    """Return the first window (epoch seconds) whose silver is complete; None if nothing was ever deleted."""
    starts = [
        math.ceil((at.timestamp() + reach.lookback_s) / WINDOW_S) * WINDOW_S
        for table, reach in reaches.items()
        if (at := tables.complete_from(warehouse, table)) is not None
    ]
    return max(starts, default=None)


def _inputs(build: Build) -> set[Table]:
    """Return the tables whose rows touch a build."""
    return {touch.table for touch in build.touched_by}


def _newest(warehouse: Path, stored: Iterable[Table]) -> int:
    """Return the newest window (epoch seconds) of some tables; 0 without rows."""
    newest = (tables.snapshot(warehouse, table).newest(table.instant) for table in stored)
    return max((window_of(at.timestamp()) for at in newest if at), default=0)
