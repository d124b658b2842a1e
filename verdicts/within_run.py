"""
Compare one run of each arm by its windows, in moving blocks. The result says nothing about another run.

Windows that follow each other are alike, so stretches of them are drawn, never single ones.
"""

from collections.abc import Sequence
from math import ceil
from math import pow as power

import numpy as np
from numpy.typing import NDArray

from verdicts.shift import Shift

DRAWS = 4_000
SEED = 1
LEAST_WINDOWS = 12
"""With fewer windows there are too few stretches to draw from."""

WeightedWindow = tuple[float, float]
"""The weight of a window (its records, or its seconds), and its value."""


def of_windows(
    baseline: Sequence[WeightedWindow], contender: Sequence[WeightedWindow], *, level: float
) -> Shift | None:
    """
    Compare weighted means of two runs in logarithms; None if windows are too few, or a mean is not above 0.

    >>> of_windows([(1.0, 10.0)] * 11, [(1.0, 12.0)] * 40, level=0.95) is None
    True
    >>> shift = of_windows([(1.0, 10.0)] * 12, [(2.0, 20.0)] * 12, level=0.95)
    >>> [round(float(np.exp(of)), 3) for of in (shift.low, shift.estimate, shift.high)]
    [2.0, 2.0, 2.0]
    """
    arms = [np.asarray(arm, float).reshape(-1, 2) for arm in (baseline, contender)]
    if min(map(len, arms)) < LEAST_WINDOWS or any(_mean(arm[None])[0] <= 0 for arm in arms):
        return None
    dice = np.random.default_rng(SEED)
    base, values = (np.log(np.maximum(_mean(_drawn(arm, dice)), np.finfo(float).tiny)) for arm in arms)
    estimate = float(np.log(_mean(arms[1][None])[0]) - np.log(_mean(arms[0][None])[0]))
    shifts = values - base
    low, high = np.quantile(shifts, [(1 - level) / 2, (1 + level) / 2])
    beyond = min(int((shifts <= 0).sum()), int((shifts >= 0).sum()))
    return Shift(
        n_baseline=1,
        n_contender=1,
        is_blocked=False,
        estimate=estimate,
        low=float(low),
        high=float(high),
        p=min(1.0, 2 * (beyond + 1) / (DRAWS + 1)),
        cliffs_delta=float(np.sign(estimate)),
    )


def block_length(n: int) -> int:
    """
    Return how many windows are drawn at once: the cube root of all, the usual order for a mean.

    >>> block_length(12), block_length(60), block_length(400)
    (3, 4, 8)
    """
    return ceil(round(power(n, 1 / 3), 9))


def _drawn(windows: NDArray[np.float64], dice: np.random.Generator) -> NDArray[np.float64]:
    """Draw as many windows as there are, in stretches that begin anywhere."""
    n, length = len(windows), block_length(len(windows))
    begins = dice.integers(0, n - length + 1, (DRAWS, ceil(n / length)))
    places = (begins[..., None] + np.arange(length)).reshape(DRAWS, -1)[:, :n]
    return np.asarray(windows[places])


def _mean(windows: NDArray[np.float64]) -> NDArray[np.float64]:
    weights, values = windows[..., 0], windows[..., 1]
    return np.asarray((weights * values).sum(-1) / np.maximum(weights.sum(-1), np.finfo(float).tiny))
