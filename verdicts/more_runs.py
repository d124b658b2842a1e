"""Estimate how many more runs would decide; the estimate is as uncertain as the observed effect."""

from dataclasses import dataclass
from math import isfinite, pi, sqrt

import numpy as np
import scipy
from numpy.typing import NDArray

from verdicts.shift import cut_of_rank_sums, cut_of_signed_ranks

POWER = 0.8
"""The probability that the returned number of runs is enough."""

OF_RANKS = pi / 3
"""The runs that ranks need over those that means need, if runs scatter normally; otherwise fewer."""

MOST_TRIED = 30
"""Up to this number of runs, draws decide: ranks of few runs come in steps that no formula describes."""

DRAWS = 400
SEED = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedEffect:
    """
    What was observed (runs of each arm, shift, spread of a difference of two) and what is needed to decide.

    `alpha` is the smallest level for one of several metrics, `level` that of the interval.
    """

    runs: int
    shift: float
    spread: float
    tolerance: float
    alpha: float
    is_blocked: bool
    level: float = 0.95
    most: int = 200


def more_runs(effect: ObservedEffect) -> int | None:
    """
    Return how many more runs of each arm would decide four times out of five; None for more than `most`.

    They decide if the change is as observed and its interval excludes zero, or if the change is smaller
    than the tolerance and the interval is within it.

    >>> from dataclasses import replace
    >>> apart = ObservedEffect(runs=3, shift=-2.0, spread=0.8, tolerance=0.05, alpha=0.05, is_blocked=False)
    >>> more_runs(apart), more_runs(replace(apart, is_blocked=True))
    (1, 3)
    >>> more_runs(replace(apart, runs=8, shift=0.05, spread=0.2, is_blocked=True))
    124
    """
    if not isfinite(effect.spread):
        return None
    reach = float(scipy.stats.norm.ppf(1 - effect.alpha / 2) + scipy.stats.norm.ppf(POWER))
    room = max(abs(effect.shift), effect.tolerance - abs(effect.shift))
    wanted = OF_RANKS * (reach * effect.spread / room) ** 2 if room > 0 else float("inf")
    if wanted > effect.most:
        return None
    if wanted <= MOST_TRIED:
        for n in range(effect.runs + 1, MOST_TRIED + 1):
            if decided(effect, n) >= POWER:
                return n - effect.runs
    return max(int(np.ceil(wanted)), MOST_TRIED + 1, effect.runs + 1) - effect.runs


def decided(effect: ObservedEffect, n: int) -> float:
    """Return how often `n` runs of each arm decide, if runs scatter normally and the shift is as observed."""
    dice = np.random.default_rng(SEED)
    if effect.is_blocked:
        seen = dice.normal(effect.shift, effect.spread, (DRAWS, n))
        first, second = np.triu_indices(n)
        pairs = (seen[:, first] + seen[:, second]) / 2
    else:
        arms = dice.normal(0, effect.spread / sqrt(2), (DRAWS, 2, n))
        pairs = (arms[:, 1, :, None] - arms[:, 0, None, :] + effect.shift).reshape(DRAWS, -1)
    cut = cut_of_signed_ranks if effect.is_blocked else cut_of_rank_sums
    of_test, of_interval = cut(n, 1 - effect.alpha), cut(n, effect.level)
    differs = _are_few(pairs <= 0, of_test) | _are_few(pairs >= 0, of_test)
    is_same = _are_few(pairs <= -effect.tolerance, of_interval) & _are_few(
        pairs >= effect.tolerance, of_interval
    )
    return float(np.mean(differs | is_same))


def _are_few(beyond: NDArray[np.bool_], cut: int) -> NDArray[np.bool_]:
    """Return for each draw whether an interval without `cut` values at an end excludes the values beyond."""
    return np.asarray(beyond.sum(axis=1) < cut)
