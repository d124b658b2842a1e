"""Update the baselines of broker pairs and the culprits after a change of `broker_rtt`."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import pyarrow as pa

from conf.documents import checked, read_toml
from conf.settings import PROJECT
from engine.delta import tables
from engine.gold.culprit_stores import MemoryStore, Store, WarehouseStore
from schemas.fields import Table
from schemas.gold.broker_rtt import BROKER_RTT
from schemas.gold.broker_rtt_baseline import BROKER_RTT_BASELINE
from schemas.gold.broker_rtt_culprit import BROKER_RTT_CULPRIT
from transforms.gold.broker_rtt.baseline import (
    MIN_WINDOWS,
    OPENING_REACH_S,
    TRAILING_HOURS,
    Levels,
    baseline,
    baseline_rows,
    levels_of,
)
from transforms.gold.broker_rtt.culprit import CulpritRow, culprits, is_accused, with_onset
from transforms.gold.broker_rtt.grid import Grid, grids, of_clusters, seconds
from transforms.gold.broker_rtt.shapes import Thresholds
from transforms.spans import Span
from transforms.windows import HOUR_S, WINDOW_S

TRAILING_S = TRAILING_HOURS * HOUR_S
LEARNT = PROJECT / "conf" / "culprit.toml"
"""The thresholds that `make verify` learns."""


def thresholds(path: Path = LEARNT) -> Thresholds:
    """Return the learnt thresholds; a wrong, missing or unknown key is a `WrongUseError`."""
    return checked(Thresholds, read_toml(path), path)


class CulpritWriter:
    """
    Computes verdicts again when the round trips of a window, or of its history, have changed.

    It remembers the levels of the last hours. So a batch reads minutes of history instead of a day. The
    builder of `broker_rtt` owns it and holds the lease.
    """

    def __init__(self, store: Store, newest: int, limits: Thresholds | None = None) -> None:
        """Continue after the `newest` window (seconds since the epoch); `limits` replace the learnt ones."""
        self._store, self._end = store, newest + WINDOW_S
        self._thresholds = limits or thresholds()
        self._memory_s = self._thresholds.memory_windows * WINDOW_S
        self._levels: dict[int, dict[str, Levels]] = {}

    def rebuild(self, spans: list[Span]) -> None:
        """
        Compute the verdicts again, from the first window of these spans to the newest window.

        Later windows depend on earlier ones: the evidence for some minutes, a pair's baseline for a day.
        Without late lines this is only the last minute, in one step.
        """
        if not spans:
            return
        start = spans[0].start
        self._end = max(self._end, spans[-1].end)
        # Old hours are dropped, because a stream may run for months.
        self._levels = {hour: levels for hour, levels in self._levels.items() if hour > start - 3 * HOUR_S}
        for hour in range(_hour(start - self._memory_s), self._end, HOUR_S):
            self._learn(hour, spans)
            # Judge before the next hour learns, because accused windows of this hour are no history for it.
            if hour + HOUR_S > start:
                self._judge(Span(max(start, hour), min(self._end, hour + HOUR_S)))

    def _learn(self, hour: int, spans: list[Span]) -> None:
        """Compute the hour's baselines if its history has changed or was not read yet."""
        history, of_hour = Span(hour - TRAILING_S, hour), Span(hour, hour + HOUR_S)
        has_changed = any(span.start < history.end and span.end > history.start for span in spans)
        if hour in self._levels and not has_changed:
            return
        known = self._store.rows(BROKER_RTT_BASELINE, of_hour)
        if known.num_rows and not has_changed:
            self._levels[hour] = {cluster: levels_of(rows) for cluster, rows in of_clusters(known)}
            return
        verdicts = _by_cluster(self._store.rows(BROKER_RTT_CULPRIT, history))
        self._levels[hour] = {
            cluster: baseline(grid, hour, _accused(verdicts.get(cluster, ())))
            for cluster, grid in grids(self._store.rows(BROKER_RTT, history)).items()
        }
        rows = (
            row
            for cluster, levels in self._levels[hour].items()
            for row in baseline_rows(cluster, hour, levels)
        )
        self._store.replace(BROKER_RTT_BASELINE, list(rows), of_hour)

    def _judge(self, span: Span) -> None:
        seen = Span(span.start - self._memory_s, span.end)
        found = grids(self._store.rows(BROKER_RTT, seen))
        hours = sorted({_hour(seen.start), _hour(span.start)})
        levels = {cluster: self._known(cluster, hours) for cluster in found}
        opened: dict[str, Grid] = {}
        if any(
            _needs_opening(grid, [levels[cluster].get(hour) for hour in hours])
            for cluster, grid in found.items()
        ):
            opened = grids(self._store.rows(BROKER_RTT, Span(hours[0] - OPENING_REACH_S, span.end)))
        before = _by_cluster(self._store.rows(BROKER_RTT_CULPRIT, Span(seen.start, span.start)))
        rows = [
            {"cluster": cluster, **row}
            for cluster, grid in found.items()
            for row in with_onset(
                culprits(
                    grid,
                    levels[cluster],
                    self._thresholds,
                    since=span.start,
                    opened=opened.get(cluster, grid),
                ),
                before.get(cluster, ()),
            )
        ]
        self._store.replace(BROKER_RTT_CULPRIT, rows, span)

    def _known(self, cluster: str, hours: Sequence[int]) -> dict[int, Levels]:
        return {hour: of[cluster] for hour in hours if cluster in (of := self._levels.get(hour, {}))}


def culprits_of(warehouse: Path) -> CulpritWriter:
    """Return the writer of a warehouse, whose tables exist."""
    newest = tables.snapshot(warehouse, BROKER_RTT).newest("window_start")
    return CulpritWriter(WarehouseStore(warehouse), int(newest.timestamp()) if newest else -WINDOW_S)


def culprit_tables(broker_rtt: pa.Table, limits: Thresholds | None = None) -> dict[Table, pa.Table]:
    """Return the baselines and culprits of a recording (`broker_rtt`, at least the columns of a grid)."""
    store = MemoryStore(broker_rtt)
    span = Span(0, 0)
    if broker_rtt.num_rows:
        starts = seconds(broker_rtt["window_start"])
        span = Span(int(starts.min()), int(starts.max()) + WINDOW_S)
        CulpritWriter(store, span.start, limits).rebuild([span])
    everything = Span(_hour(span.start), span.end)
    return {table: store.rows(table, everything) for table in (BROKER_RTT_BASELINE, BROKER_RTT_CULPRIT)}


def _by_cluster(verdicts: pa.Table) -> dict[str, list[CulpritRow]]:
    return {cluster: rows.sort_by("window_start").to_pylist() for cluster, rows in of_clusters(verdicts)}


def _accused(verdicts: Sequence[CulpritRow]) -> set[int]:
    return {int(row["window_start"].timestamp()) for row in verdicts if is_accused(row)}


def _needs_opening(grid: Grid, levels: Iterable[Levels | None]) -> bool:
    """Return whether a pair has no grown level in an hour."""
    is_shown = (grid.n > 0).any(axis=1)
    return any(
        known is None or bool((is_shown & (known.for_pairs(grid.pairs).windows < MIN_WINDOWS)).any())
        for known in levels
    )


def _hour(second: int) -> int:
    """Return the start of the hour that contains a second."""
    return second - second % HOUR_S
