"""The broker, side or link that best explains slow round trips in a window, and its onset."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np

from schemas.gold.broker_rtt import MIN_N_P10, MIN_N_P50
from transforms.gold.broker_rtt.baseline import MIN_WINDOWS, Levels, opening, used_from
from transforms.gold.broker_rtt.grid import METHODS, Floats, Grid, Ints, Mask, Pair, median
from transforms.gold.broker_rtt.shapes import (
    DIGITS,
    Evidence,
    Shape,
    Thresholds,
    evidence,
    shapes_of,
    weight,
)
from transforms.windows import HOUR_S

MIN_N_JUDGED = 4
"""The minimum number of round trips. An idle link that is 100 ms slower has few, with a smaller weight."""

MIN_PAIRS_OF_PEERS = 3
"""The minimum number of pairs for a comparison with peers: of two pairs, either one can be the slow one."""

UNSTEADY = 2.0
"""The maximum spread of a young level, in `min_effect_ms`. A larger spread contains the edge of a fault."""

PAUSES = 2.0
"""
The error of a median over that of independent round trips. It is set: in eleven recorded demos the 68th
percentile of this ratio, by size of the error, was mostly 1 to 2.4.
"""

WIDEST = 3.0
"""The largest spread of a pair within a window, in median spreads of the window's pairs."""

NAMED = ("broker", "follower_side", "leader_side", "link")
NONE, NOT_ENOUGH, AMBIGUOUS = "none", "not_enough_data", "ambiguous"
OWN, PEERS = "own", "peers"

CulpritRow = dict[str, Any]
"""A row of `gold.broker_rtt_culprit`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedPairs:
    """
    One round trip per pair and window; all pairs of a window share method and quantile.

    The arrays with two axes are by window and pair, NaN where a pair has too few round trips.
    """

    starts: Ints
    pairs: list[Pair]
    method: Ints  # per window, an index of `METHODS`
    quantile: Ints  # per window, an index of `QUANTILES`
    x_ms: Floats
    thin: Floats  # how much larger the variance is than with enough round trips
    sampling_ms: Floats  # standard error from the spread of the round trips within the window

    def is_seen(self) -> Mask:
        """Return whether a pair has a round trip in a window."""
        return ~np.isnan(self.x_ms)


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A shape that may explain a window."""

    is_accused: bool
    is_own: bool
    holds: bool
    evidence: float
    shape: Shape
    since: int
    effect_ms: float
    effect_se_ms: float

    def rank(self) -> tuple[Any, ...]:
        """Return the key by which the best candidate is the largest."""
        ids = tuple(-1 if part is None else part for part in self.shape[1:])
        return (self.is_accused, self.is_own, self.holds, self.evidence, self.shape.culprit, ids)


def culprits(
    grid: Grid,
    baselines: Mapping[int, Levels],
    thresholds: Thresholds,
    *,
    since: int = 0,
    opened: Grid | None = None,
) -> list[CulpritRow]:
    """
    Return the culprit of each window of a cluster, from the window and the `memory_windows` before it.

    Windows before `since` are only memory. `baselines` has the levels of each hour; both in seconds since the
    epoch. `opened` has the windows of the openings, if `grid` does not reach back to them. The rows lack
    `cluster`.
    """
    judged = judged_pairs(grid)
    openings = openings_of(grid if opened is None else opened, grid)
    shapes, found, is_young = all_evidence(judged, openings, baselines, thresholds)
    return [
        _verdict(
            grid, judged, nth, _candidates(shapes, found, nth, thresholds, is_young=is_young[nth]), thresholds
        )
        for nth in range(int(np.searchsorted(grid.starts, since)), len(grid.starts))
    ]


def openings_of(opened: Grid, grid: Grid) -> dict[int, Levels]:
    """Return the openings in the hours of a grid's windows."""
    return {int(hour): opening(opened, int(hour)) for hour in np.unique(grid.starts - grid.starts % HOUR_S)}


def judged_pairs(grid: Grid) -> JudgedPairs:
    """
    Return one round trip per pair and window.

    The method is the one that covers most pairs. The quantile is p10 if each pair has 30 round trips and a
    clock finer than 1 ms, else the median.
    """
    is_judged = grid.n >= MIN_N_JUDGED
    coverage = is_judged.sum(axis=2)
    method = np.where(coverage[1] >= coverage[0], 1, 0)
    windows = np.arange(len(grid.starts))
    is_seen, n = is_judged[method, windows], grid.n[method, windows]
    p10_ms, p50_ms = (np.where(is_seen, of_quantile[method, windows], np.nan) for of_quantile in grid.ms)
    has_p10 = (n >= MIN_N_P10) & (grid.clock_ms[method, windows] < 1)
    quantile = np.where((has_p10 | ~is_seen).all(axis=1), 0, 1)
    return JudgedPairs(
        starts=grid.starts,
        pairs=grid.pairs,
        method=method,
        quantile=quantile,
        x_ms=np.where(quantile[:, None] == 0, p10_ms, p50_ms),
        thin=np.maximum(1.0, MIN_N_P50 / np.maximum(n, 1)),
        sampling_ms=sampling_error_ms(p50_ms - p10_ms, n),
    )


def sampling_error_ms(p10_to_p50_ms: Floats, n: Ints) -> Floats:
    """
    Return the standard error of each pair's quantile in each window, 0 where it is unknown.

    For normal, independent values the variance of a median is 0.96 (p50 - p10)^2 / n; that of a p10 is
    smaller. One pause delays several round trips, so the error is `PAUSES` times larger. A busy machine
    widens all pairs, a fault that begins within the window only its own: a spread counts at least as the
    median spread of the window's pairs, and at most as `WIDEST` times that.
    """
    typical_ms = median(p10_to_p50_ms, axis=1)[:, None]
    spread_ms = np.clip(p10_to_p50_ms, typical_ms, WIDEST * typical_ms)
    return np.nan_to_num(PAUSES * spread_ms / np.sqrt(np.maximum(n, 1)))


def all_evidence(
    judged: JudgedPairs,
    openings: Mapping[int, Levels],
    baselines: Mapping[int, Levels],
    thresholds: Thresholds,
) -> tuple[list[Shape], dict[str, Evidence], Mask]:
    """Return the shapes, their evidence by basis, and the windows in which a pair has no grown history."""
    shapes, members = shapes_of(judged.pairs)
    y_ms, spread_ms, is_young = against_own_history(judged, openings, baselines, thresholds)
    no_spread = np.full_like(judged.x_ms, np.nan)
    found = {
        basis: evidence(
            judged.starts,
            values,
            weight(judged.x_ms, spread, judged.thin, judged.sampling_ms, thresholds),
            members,
            thresholds,
            is_own=basis == OWN,
        )
        # The round trips of peers have no level: the fit estimates their common part.
        for basis, values, spread in ((OWN, y_ms, spread_ms), (PEERS, judged.x_ms, no_spread))
    }
    return shapes, found, is_young


def against_own_history(
    judged: JudgedPairs,
    openings: Mapping[int, Levels],
    baselines: Mapping[int, Levels],
    thresholds: Thresholds,
) -> tuple[Floats, Floats, Mask]:
    """
    Return round trips less each pair's level, the spread of the levels, and the windows with a young level.

    The level is the baseline of the hour, else the pair's opening, else the median of its peers' levels.
    """
    most_spread_ms = UNSTEADY * thresholds.min_effect_ms
    level_ms, spread_ms = np.full_like(judged.x_ms, np.nan), np.full_like(judged.x_ms, np.nan)
    is_young = np.zeros(len(judged.starts), dtype=bool)
    of_hour = judged.starts - judged.starts % HOUR_S
    for hour in np.unique(of_hour):
        windows = np.flatnonzero(of_hour == hour)
        at = (judged.quantile[windows], judged.method[windows])
        for levels, is_opening in ((openings.get(int(hour)), True), (baselines.get(int(hour)), False)):
            known = (levels or _NO_LEVELS).for_pairs(judged.pairs)
            steady = known.steady(most_spread_ms)
            ms, spread = steady.ms[at], steady.spread_ms[at]
            if is_opening:
                is_used = judged.starts[windows, None] >= used_from(known)[judged.method[windows]]
                ms = np.where(is_used, ms, np.nan)
            else:
                is_thin = np.isnan(ms) | (known.windows[judged.method[windows]] < MIN_WINDOWS)
                is_young[windows] = (is_thin & judged.is_seen()[windows]).any(axis=1)
            # The baseline comes second, so it replaces the opening.
            level_ms[windows] = np.where(np.isnan(ms), level_ms[windows], ms)
            spread_ms[windows] = np.where(np.isnan(ms), spread_ms[windows], spread)
    level_ms = np.where(judged.is_seen(), level_ms, np.nan)
    of_peers = median(level_ms, axis=1) if judged.pairs else np.full(len(judged.starts), np.nan)
    return judged.x_ms - np.where(np.isnan(level_ms), of_peers[:, None], level_ms), spread_ms, is_young


_NO_LEVELS = Levels(
    pairs=[],
    windows=np.zeros((len(METHODS), 0), dtype=np.int64),
    last=np.zeros((len(METHODS), 0), dtype=np.int64),
    ms=np.zeros((2, len(METHODS), 0)),
    spread_ms=np.zeros((2, len(METHODS), 0)),
)


def _candidates(
    shapes: list[Shape], found: Mapping[str, Evidence], nth: int, thresholds: Thresholds, *, is_young: bool
) -> list[Candidate]:
    """
    Return the shapes that may explain a window, the best first.

    The comparison with the own history has priority. The comparison with peers applies only while a pair
    has no grown history in this hour.
    """
    has_own = not np.isnan(found[OWN].evidence[nth]).all()
    rows = [
        Candidate(
            is_accused=bool(of.holds[nth, s] and of.evidence[nth, s] >= thresholds.alarm),
            is_own=basis == OWN,
            holds=bool(of.holds[nth, s]),
            evidence=float(of.evidence[nth, s]),
            shape=shapes[s],
            since=int(of.since[nth, s]),
            effect_ms=float(of.effect_ms[nth, s]),
            effect_se_ms=float(of.effect_se_ms[nth, s]),
        )
        for basis, of in found.items()
        if basis == OWN or is_young or not has_own
        for s in np.flatnonzero(~np.isnan(of.evidence[nth]))
    ]
    return sorted(rows, key=Candidate.rank, reverse=True)


def _verdict(
    grid: Grid, judged: JudgedPairs, nth: int, candidates: list[Candidate], thresholds: Thresholds
) -> CulpritRow:
    """Return the verdict of a window from its candidates."""
    window = grid.windows[nth]
    is_shown: list[bool] = np.any(grid.n[:, nth] > 0, axis=0).tolist()
    brokers = {broker for pair, shown in zip(grid.pairs, is_shown, strict=True) if shown for broker in pair}
    expected = max(window.nodes_expected or 0, len(brokers))
    seen = int(judged.is_seen()[nth].sum())
    row: CulpritRow = {
        "window_start": datetime.fromtimestamp(int(grid.starts[nth]), UTC),
        "pairs_seen": seen,
        "pairs_expected": expected * (expected - 1),
        "nodes_expected": window.nodes_expected,
        "nodes_reporting": window.nodes_reporting,
        "is_settled": window.is_settled,
        "culprit": NONE if seen == sum(is_shown) else NOT_ENOUGH,
    }
    if not candidates:
        return row | {"culprit": NOT_ENOUGH}
    best, basis = candidates[0], [c for c in candidates[1:] if c.is_own == candidates[0].is_own]
    near = [c.shape for c in basis if c.holds and c.evidence > best.evidence - thresholds.tie]
    row |= {
        "evidence": best.evidence,
        "method": METHODS[judged.method[nth]],
        "baseline": OWN if best.is_own else PEERS,
    }
    if not best.is_own and seen < MIN_PAIRS_OF_PEERS:
        return row | {"culprit": NOT_ENOUGH}
    if not best.is_accused:
        return row
    half = 1.96 * best.effect_se_ms
    row |= {
        "culprit": AMBIGUOUS if near else best.shape.culprit,
        "effect_ms": round(best.effect_ms, DIGITS),
        "effect_low_ms": round(best.effect_ms - half, DIGITS),
        "effect_high_ms": round(best.effect_ms + half, DIGITS),
        "since": datetime.fromtimestamp(best.since, UTC),
        "runner_up": basis[0].shape._asdict() if basis else None,
        "runner_up_margin": round(best.evidence - basis[0].evidence, DIGITS) if basis else None,
    }
    if near:
        return row | {"tied": [shape._asdict() for shape in (best.shape, *near)]}
    return row | {name: value for name, value in best.shape._asdict().items() if name != "culprit"}


def is_accused(verdict: CulpritRow) -> bool:
    """
    Return whether a window is excluded from history: it is slower than the pairs' own history.

    A pair that is slower than its peers may always have been slow, so its windows stay in the history.
    """
    return verdict["culprit"] not in {NONE, NOT_ENOUGH} and verdict.get("baseline") == OWN


def with_onset(verdicts: Sequence[CulpritRow], before: Sequence[CulpritRow]) -> list[CulpritRow]:
    """
    Extend `since` for faults longer than `memory_windows`. `before` has the earlier verdicts, both ascending.

    A row continues the fault of the previous row with the same shape if its evidence reaches back to the
    window of that row.
    """
    latest: dict[tuple[Any, ...], CulpritRow] = {}
    found: list[CulpritRow] = []
    for row in (*before, *verdicts):
        shape = tuple(row.get(name) for name in Shape._fields)
        earlier, since = latest.get(shape), row.get("since")
        if earlier and since is not None and since <= earlier["window_start"] and earlier.get("since"):
            row = {**row, "since": min(since, earlier["since"])}  # noqa: PLW2901
        latest[shape] = row
        found.append(row)
    return found[len(before) :]
