"""
The shift between two arms by ranks: Hodges-Lehmann, its exact interval, and the exact test that it inverts.

The unit is the run: one number each, because latencies within a run depend on each other and are no sample.
The only assumption about the scatter of runs: without an effect each order of the arms (within its block, if
runs were made in blocks) is as likely as any other. The runner draws that order.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import comb, floor, inf, sqrt

import numpy as np
import scipy
from numpy.typing import NDArray

RESAMPLES = 20_000
"""Orders to draw if ties forbid the exact table and there are more orders than that."""

MOST_EXACT = 60
"""With more runs of an arm, the normal law replaces the exact table, which would take seconds to count."""

SEED = 1

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shift:
    """
    Contender less baseline, in the unit of the values; an end is infinite if the runs are too few for it.

    `p` is two-sided. `cliffs_delta` is -1 to 1: how much more often the contender is the greater one.
    """

    n_baseline: int
    n_contender: int
    is_blocked: bool
    estimate: float
    low: float
    high: float
    p: float
    cliffs_delta: float


def between(baseline: Sequence[float], contender: Sequence[float], *, level: float) -> Shift:
    """
    Compare runs that were not made in blocks: Mann-Whitney.

    Raises:
        ValueError: an arm has no run.

    >>> between([100, 101, 99, 102], [80, 81, 79, 82], level=0.95)  # doctest: +ELLIPSIS
    Shift(n_baseline=4, n_contender=4, is_blocked=False, estimate=-20.0, low=-23.0, high=-17.0, p=0.02...
    """
    values, base = np.asarray(contender, float), np.asarray(baseline, float)
    if not len(values) or not len(base):
        message = "each arm needs a run"
        raise ValueError(message)
    differences = np.sort(np.subtract.outer(values, base), axis=None)
    low, high = _interval(differences, cut_of_rank_sums(len(base), level, len(values)))
    return Shift(
        n_baseline=len(base),
        n_contender=len(values),
        is_blocked=False,
        estimate=float(np.median(differences)),
        low=low,
        high=high,
        p=_mann_whitney(values, base),
        cliffs_delta=float(np.sign(differences).mean()),
    )


def within_blocks(baseline: Sequence[float], contender: Sequence[float], *, level: float) -> Shift:
    """
    Compare runs made in blocks, one run of each arm in each: Wilcoxon's signed ranks.

    The values at the same index are of one block. A drift from block to block has no effect.

    Raises:
        ValueError: the arms have not as many runs, or none.

    >>> shift = within_blocks([100, 110, 120, 130, 140, 150], [90, 101, 108, 117, 126, 134], level=0.95)
    >>> shift.estimate, shift.low, shift.high, shift.p
    (-12.5, -16.0, -9.0, 0.03125)
    """
    values, base = np.asarray(contender, float), np.asarray(baseline, float)
    if not len(values) or len(values) != len(base):
        message = f"blocks have a run of each arm: {len(base)} and {len(values)} do not go together"
        raise ValueError(message)
    differences = values - base
    first, second = np.triu_indices(len(values))
    averages = np.sort((differences[first] + differences[second]) / 2)
    low, high = _interval(averages, cut_of_signed_ranks(len(values), level))
    return Shift(
        n_baseline=len(base),
        n_contender=len(values),
        is_blocked=True,
        estimate=float(np.median(averages)),
        low=low,
        high=high,
        p=_signed_rank(differences),
        cliffs_delta=float(np.sign(np.subtract.outer(values, base)).mean()),
    )


def least_p(n: int, *, is_blocked: bool) -> float:
    """
    Return the smallest p that `n` runs of each arm can have.

    >>> least_p(3, is_blocked=False), round(least_p(4, is_blocked=False), 4), least_p(6, is_blocked=True)
    (0.1, 0.0286, 0.03125)
    """
    return 2 / (2**n if is_blocked else comb(2 * n, n))


def _interval(ordered: Floats, k: int) -> tuple[float, float]:
    """Return the ends without `k - 1` values each; infinite for k = 0, if no order is rare enough."""
    return (float(ordered[k - 1]), float(ordered[-k])) if k > 0 else (-inf, inf)


@cache
def cut_of_rank_sums(m: int, level: float, n: int | None = None) -> int:
    """Return how many of the differences of m and n runs the interval loses at each end."""
    n = m if n is None else n
    if max(m, n) > MOST_EXACT:
        return _cut_by_normal_law(m * n / 2, m * n * (m + n + 1) / 12, level)
    return _cut(_rank_sums(m, n), level)


@cache
def cut_of_signed_ranks(n: int, level: float) -> int:
    """Return how many of the averages of two differences the interval loses at each end."""
    if n > MOST_EXACT:
        return _cut_by_normal_law(n * (n + 1) / 4, n * (n + 1) * (2 * n + 1) / 24, level)
    return _cut(_signed_ranks(n), level)


def _cut(counts: list[int], level: float) -> int:
    """Return how many values each end loses so that the rest covers the shift at least at that level."""
    most, total, passed, k = (1 - level) / 2, sum(counts), 0, 0
    while k < len(counts) and (passed + counts[k]) / total <= most:
        passed += counts[k]
        k += 1
    return k


def _cut_by_normal_law(mean: float, variance: float, level: float) -> int:
    return floor(mean - float(scipy.stats.norm.ppf((1 + level) / 2)) * sqrt(variance))


def _rank_sums(m: int, n: int) -> list[int]:
    """Count the orders of m and n values by Mann-Whitney's U, from 0 to mn: Gauss's binomial coefficient."""
    counts = [1] + [0] * (m * n)
    for i in range(1, n + 1):
        for u in range(m * n, m + i - 1, -1):  # times 1 - x^(m + i)
            counts[u] -= counts[u - m - i]
        for u in range(i, m * n + 1):  # over 1 - x^i
            counts[u] += counts[u - i]
    return counts


def _signed_ranks(n: int) -> list[int]:
    """Count the signs of n differences by Wilcoxon's W, from 0 to n(n + 1) / 2."""
    counts = [1] + [0] * (n * (n + 1) // 2)
    for rank in range(1, n + 1):
        for w in range(len(counts) - 1, rank - 1, -1):
            counts[w] += counts[w - rank]
    return counts


def _mann_whitney(values: Floats, base: Floats) -> float:
    if min(len(values), len(base)) == 1:
        return _of_a_single(*(values, base) if len(values) == 1 else (base, values))
    is_tied = len(np.unique(np.concatenate([values, base]))) < len(values) + len(base)
    is_many = max(len(values), len(base)) > MOST_EXACT
    method = "asymptotic" if is_many else _orders() if is_tied else "exact"
    return float(scipy.stats.mannwhitneyu(values, base, method=method).pvalue)


def _of_a_single(one: Floats, others: Floats) -> float:
    """Return the share of ranks as far from the middle as that of a single run, which SciPy cannot test."""
    ranks = scipy.stats.rankdata(np.concatenate([one, others]))
    far = np.abs(ranks - ranks.mean())
    return float(np.mean(far >= far[0]))


def _signed_rank(differences: Floats) -> float:
    if not differences.any():
        return 1.0
    sizes = np.abs(differences)
    if len(sizes) > MOST_EXACT:
        return float(scipy.stats.wilcoxon(differences, zero_method="zsplit", method="approx").pvalue)
    if len(np.unique(sizes)) == len(sizes) and sizes.all():
        return float(scipy.stats.wilcoxon(differences, method="exact").pvalue)
    # As `wilcoxon` with zero_method zsplit, which ranks one order after the other and takes seconds.
    orders = {"n_resamples": RESAMPLES, "rng": np.random.default_rng(SEED)}
    tested = scipy.stats.permutation_test((differences,), _signed_sum, permutation_type="samples", **orders)
    return float(tested.pvalue)


def _signed_sum(differences: Floats, axis: int = -1) -> Floats:
    """Add up the ranks of the sizes, each with its difference's sign."""
    signed = np.sign(differences) * scipy.stats.rankdata(np.abs(differences), axis=axis)
    return np.asarray(signed.sum(axis=axis))


def _orders() -> "scipy.stats.PermutationMethod":
    return scipy.stats.PermutationMethod(n_resamples=RESAMPLES, rng=np.random.default_rng(SEED))
