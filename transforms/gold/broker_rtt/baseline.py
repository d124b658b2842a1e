"""The normal round-trip time of each pair of brokers: its history, fixed for each hour."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from schemas.gold.broker_rtt import MIN_N_P50
from transforms.gold.broker_rtt.grid import METHODS, QUANTILES, Floats, Grid, Ints, Mask, Pair, median
from transforms.windows import HOUR_S, WINDOW_S

OPENING_WINDOWS = 6
"""The number of settled windows that replace a missing history: the first minute of a pair."""

OPENING_REACH_S = 600
"""The maximum distance of an opening before its hour. A pair with an older history needs no opening."""

TRAILING_HOURS = 24
"""The history of a baseline in hours. A fault stays visible while a part of the history has no fault."""

MIN_WINDOWS = 30
"""Five minutes of windows. A level from fewer windows is young and needs additional checks."""

MAD_TO_SPREAD = 1.4826
"""From the median absolute deviation to the standard deviation of a normal distribution."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Levels:
    """
    The normal round trips of pairs in one hour.

    The axes of `windows` and `last` are method and pair; those of `ms` and `spread_ms` are quantile, method
    and pair. A level is NaN if it would be from fewer than `OPENING_WINDOWS` windows.
    """

    pairs: list[Pair]
    windows: Ints
    last: Ints  # start of the last window, seconds since the epoch; -1 without one
    ms: Floats
    spread_ms: Floats

    def for_pairs(self, pairs: Sequence[Pair]) -> "Levels":
        """Return the levels of these pairs, in their order; a pair without a level has NaN."""
        place = {pair: nth for nth, pair in enumerate(self.pairs)}
        at = np.array([place.get(pair, len(place)) for pair in pairs], dtype=np.int64)

        def picked(values: NDArray[Any], missing: float) -> NDArray[Any]:
            width = [(0, 0)] * (values.ndim - 1) + [(0, 1)]
            return np.pad(values, width, constant_values=missing)[..., at]

        return Levels(
            pairs=list(pairs),
            windows=picked(self.windows, 0),
            last=picked(self.last, -1),
            ms=picked(self.ms, np.nan),
            spread_ms=picked(self.spread_ms, np.nan),
        )

    def steady(self, most_spread_ms: float) -> "Levels":
        """Remove young levels with a larger spread than that, because their windows contain a fault."""
        is_steady = (self.windows >= MIN_WINDOWS) | (self.spread_ms <= most_spread_ms)
        ms = np.where(is_steady, self.ms, np.nan)
        return Levels(pairs=self.pairs, windows=self.windows, last=self.last, ms=ms, spread_ms=self.spread_ms)


def baseline(grid: Grid, hour: int, accused: Collection[int]) -> Levels:
    """
    Return each pair's level for an hour (seconds since the epoch), from the settled windows before it.

    Windows in `accused` (seconds) are excluded, so that a fault does not become normal.
    """
    history = grid.between(hour - TRAILING_HOURS * HOUR_S, hour)
    is_history = _enough(history) & ~np.isin(history.starts, list(accused))[None, :, None]
    return _levels(history, is_history)


def opening(grid: Grid, hour: int) -> Levels:
    """
    Return each pair's level from its first minute, which replaces the history of a new recording.

    For an hour these are the first six settled windows from `OPENING_REACH_S` before it. A pair with more
    windows before the hour has a baseline. Windows after `last` may use the level. An opening cannot reveal
    a pair that is slow from its first line; a comparison with peers can.
    """
    near = grid.between(hour - OPENING_REACH_S, hour + HOUR_S)
    is_enough = _enough(near)
    return _levels(near, is_enough & (np.cumsum(is_enough, axis=1) <= OPENING_WINDOWS))


def baseline_rows(cluster: str, hour: int, levels: Levels) -> list[dict[str, Any]]:
    """Return rows of `gold.broker_rtt_baseline`, one for each pair and method with a window."""
    return [
        {
            "cluster": cluster,
            "hour": datetime.fromtimestamp(hour, UTC),
            "history_since": datetime.fromtimestamp(hour - TRAILING_HOURS * HOUR_S, UTC),
            "follower_id": follower,
            "leader_id": leader,
            "method": METHODS[method],
            "windows": int(levels.windows[method, pair]),
            **{
                name: None if np.isnan(value) else float(value)
                for nth, quantile in enumerate(QUANTILES)
                for name, value in (
                    (f"{quantile}_ms", levels.ms[nth, method, pair]),
                    (f"{quantile}_spread_ms", levels.spread_ms[nth, method, pair]),
                )
            },
        }
        for pair, (follower, leader) in enumerate(levels.pairs)
        for method in range(len(METHODS))
        if levels.windows[method, pair]
    ]


def levels_of(rows: pa.Table) -> Levels:
    """Return the levels in rows of `gold.broker_rtt_baseline` of one cluster and hour."""
    found = rows.to_pylist()
    pairs = sorted({(row["follower_id"], row["leader_id"]) for row in found})
    place = {pair: nth for nth, pair in enumerate(pairs)}
    shape = (len(METHODS), len(pairs))
    windows, last = np.zeros(shape, dtype=np.int64), np.full(shape, -1)
    ms, spread_ms = (np.full((len(QUANTILES), *shape), np.nan) for _ in range(2))
    for row in found:
        cell = (METHODS.index(row["method"]), place[row["follower_id"], row["leader_id"]])
        windows[cell] = row["windows"]
        for nth, quantile in enumerate(QUANTILES):
            for values, name in ((ms, f"{quantile}_ms"), (spread_ms, f"{quantile}_spread_ms")):
                values[(nth, *cell)] = np.nan if row[name] is None else row[name]
    return Levels(pairs=pairs, windows=windows, last=last, ms=ms, spread_ms=spread_ms)


def used_from(levels: Levels) -> Ints:
    """Return the first window (seconds since the epoch) that may use each opening."""
    return levels.last + WINDOW_S


def _enough(grid: Grid) -> Mask:
    return (grid.n >= MIN_N_P50) & grid.is_settled()[None, :, None]


def _levels(grid: Grid, is_used: Mask) -> Levels:
    """Return median and spread (1.4826 x median absolute deviation) of the used windows of each pair."""
    windows = is_used.sum(axis=1)
    starts = np.where(is_used, grid.starts[None, :, None], -1)
    values = np.where(is_used, grid.ms, np.nan)
    ms = median(values, axis=2)
    spread_ms = MAD_TO_SPREAD * median(np.abs(values - ms[:, :, None, :]), axis=2)
    has_enough = windows >= OPENING_WINDOWS
    return Levels(
        pairs=grid.pairs,
        windows=windows,
        last=starts.max(axis=1, initial=-1),
        ms=np.where(has_enough, ms, np.nan),
        spread_ms=np.where(has_enough, spread_ms, np.nan),
    )
