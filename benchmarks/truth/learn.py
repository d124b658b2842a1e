"""Learn from healthy windows what is noise and how much evidence it makes: conf/culprit.toml."""

import math
from dataclasses import asdict, replace

import numpy as np

from transforms.gold.broker_rtt.culprit import JudgedPairs, all_evidence, judged_pairs, openings_of
from transforms.gold.broker_rtt.grid import Grid, median
from transforms.gold.broker_rtt.shapes import Thresholds

RELATIVE_NOISE = 0.05
MEMORY_WINDOWS = 30
TIE = 5.0
"""e^5, 150 to 1: below such odds two shapes are not called apart."""

LEAST_ALARM = 12.0
SAFETY = 1.5
"""So far lies the alarm above the largest evidence of a healthy window, the effect above any wandering."""

HEAD = """\
# What counts as noise and as evidence when a culprit is named: docs/culprit.md.
# Learnt from healthy windows on real brokers by `python -m benchmarks.truth --relearn`,
# but for relative_noise, tie, memory_windows and the floor of alarm, which are set.
"""


def learn(healthy: Grid) -> Thresholds:
    """Return the thresholds that the healthy windows of a cluster speak for."""
    first = Thresholds(
        **_noise(judged_pairs(healthy)),
        relative_noise=RELATIVE_NOISE,
        alarm=math.inf,
        cap=LEAST_ALARM / 1.9,
        tie=TIE,
        memory_windows=MEMORY_WINDOWS,
    )
    alarm = max(LEAST_ALARM, SAFETY * largest_evidence(healthy, first))
    return replace(first, alarm=round(alarm, 1), cap=round(alarm / 1.9, 1))


def largest_evidence(healthy: Grid, thresholds: Thresholds) -> float:
    """Return the most evidence that any shape gathered while nothing was slow."""
    judged = judged_pairs(healthy)
    _, found, _ = all_evidence(judged, openings_of(healthy, healthy), {}, thresholds)
    return max((float(np.nanmax(of.evidence, initial=0.0)) for of in found.values()), default=0.0)


def toml(learnt: Thresholds) -> str:
    """Write thresholds as the file `engine.gold.culprit` reads."""
    return HEAD + "".join(f"{name} = {value}\n" for name, value in asdict(learnt).items())


def _noise(judged: JudgedPairs) -> dict[str, float]:
    """Robust spreads: of a pair over windows, of what the pairs of a window share, of the pairs' levels."""
    x_ms = judged.x_ms
    level_ms, wandered_ms = np.full_like(x_ms, np.nan), np.full_like(x_ms, np.nan)
    for method, quantile in sorted(set(zip(judged.method, judged.quantile, strict=True))):
        windows = np.flatnonzero((judged.method == method) & (judged.quantile == quantile))
        for pair in range(len(judged.pairs)):
            seen = windows[~np.isnan(x_ms[windows, pair])]
            values = x_ms[seen, pair]
            level_ms[seen, pair] = np.median(values) if len(values) else np.nan
            for nth, window in enumerate(seen):
                lately = np.median(values[max(0, nth - 15) : nth + 15])
                wandered_ms[window, pair] = abs(lately - level_ms[window, pair])
    rise_ms = x_ms - level_ms
    shared_ms = np.where(np.isnan(rise_ms), np.nan, median(rise_ms, axis=1)[:, None])
    apart_ms = np.abs(level_ms - median(level_ms, axis=1)[:, None])
    # What the spread within the window does not explain: `weight` adds that of each window.
    alone_ms = np.sqrt(np.maximum(0.0, (rise_ms - shared_ms) ** 2 - judged.sampling_ms**2))
    window_95, shared_95 = (float(np.nanpercentile(np.abs(values), 95)) for values in (alone_ms, shared_ms))
    apart, wandered = float(np.nanmax(apart_ms)), float(np.nanmax(wandered_ms))
    return {
        "noise_ms": round(math.hypot(window_95 / 1.96, apart / 2), 3),
        "shared_ms": round(max(0.1, shared_95 / 1.96), 3),
        "min_effect_ms": round(SAFETY * max(apart, wandered), 3),
    }
