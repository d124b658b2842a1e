"""How many more runs would decide, told from what was seen: an estimate, and as uncertain as that."""

from dataclasses import dataclass
from math import isfinite, pi, sqrt

import numpy as np
import scipy
from numpy.typing import NDArray

from verdicts.shift import cut_of_rank_sums, cut_of_signed_ranks

POWER = 0.8
"""So often the number of runs that is named is to be enough."""

OF_RANKS = pi / 3
"""Where runs scatter normally, ranks need so many times the runs that means would; elsewhere fewer."""

MOST_TRIED = 30
"""Up to here the number is tried in draws: ranks of few runs come in steps that no formula follows."""

DRAWS = 400
SEED = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """
    What was seen: runs of each arm, their shift, the spread of a difference of two, and what is asked.

    `alpha` is the least that one of several metrics may be asked for, `level` that of the interval.
    """

    seen: int
    shift: float
    spread: float
    tolerance: float
    alpha: float
    is_blocked: bool
    level: float = 0.95
    most: int = 200


def more_runs(plan: Plan) -> int | None:
    """
    Give how many more runs of each arm would decide four times out of five; None for more than `most`.

    Either the change is as it was seen, and its interval leaves out zero; or it is smaller than the
    tolerance, and the interval lies within that.

    >>> more_runs(Plan(seen=3, shift=-2.0, spread=0.8, tolerance=0.05, alpha=0.05, is_blocked=False))
    1
    >>> more_runs(Plan(seen=3, shift=-2.0, spread=0.8, tolerance=0.05, alpha=0.05, is_blocked=True))
    3
    >>> more_runs(Plan(seen=8, shift=0.05, spread=0.2, tolerance=0.05, alpha=0.05, is_blocked=True))
    124
    """
    if not isfinite(plan.spread):
        return None
    reach = float(scipy.stats.norm.ppf(1 - plan.alpha / 2) + scipy.stats.norm.ppf(POWER))
    room = max(abs(plan.shift), plan.tolerance - abs(plan.shift))
    wanted = OF_RANKS * (reach * plan.spread / room) ** 2 if room > 0 else float("inf")
    if wanted > plan.most:
        return None
    if wanted <= MOST_TRIED:
        for n in range(plan.seen + 1, MOST_TRIED + 1):
            if decided(plan, n) >= POWER:
                return n - plan.seen
    return max(int(np.ceil(wanted)), MOST_TRIED + 1, plan.seen + 1) - plan.seen


def decided(plan: Plan, n: int) -> float:
    """Give how often `n` runs of each arm decide, where runs scatter normally and the shift is as seen."""
    dice = np.random.default_rng(SEED)
    if plan.is_blocked:
        seen = dice.normal(plan.shift, plan.spread, (DRAWS, n))
        first, second = np.triu_indices(n)
        pairs = (seen[:, first] + seen[:, second]) / 2
    else:
        arms = dice.normal(0, plan.spread / sqrt(2), (DRAWS, 2, n))
        pairs = (arms[:, 1, :, None] - arms[:, 0, None, :] + plan.shift).reshape(DRAWS, -1)
    cut = cut_of_signed_ranks if plan.is_blocked else cut_of_rank_sums
    of_test, of_interval = cut(n, 1 - plan.alpha), cut(n, plan.level)
    differs = _are_few(pairs <= 0, of_test) | _are_few(pairs >= 0, of_test)
    is_same = _are_few(pairs <= -plan.tolerance, of_interval) & _are_few(pairs >= plan.tolerance, of_interval)
    return float(np.mean(differs | is_same))


def _are_few(beyond: NDArray[np.bool_], cut: int) -> NDArray[np.bool_]:
    """Tell of each draw whether an interval that loses `cut` values at an end leaves out what lies beyond."""
    return np.asarray(beyond.sum(axis=1) < cut)
