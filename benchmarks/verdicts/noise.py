"""How runs scatter: each noise gives the logarithms of what runs come to, in the order they were made."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
Dice = np.random.Generator

DRIFT = 5.0
"""The rise of a drift from the first run to the last, in spreads."""


def normal(dice: Dice, n: int) -> Values:
    """Scatter as averages of many small causes do."""
    return dice.normal(size=n)


def heavy_tailed(dice: Dice, n: int) -> Values:
    """Scatter with wild runs among them: Student's t of 2 degrees, whose variance is infinite."""
    return dice.standard_t(2, size=n) / 2


def bimodal(dice: Dice, n: int) -> Values:
    """Scatter between two states, one run in four in the slow one, four spreads away."""
    return dice.normal(0, 0.4, size=n) + 4 * (dice.random(n) < 0.25)  # noqa: PLR2004 (as documented)


def drifting(dice: Dice, n: int) -> Values:
    """Scatter normally about what rises from the first run to the last."""
    return dice.normal(size=n) + np.linspace(0, DRIFT, n)


NOISES: dict[str, Callable[[Dice, int], Values]] = {
    "normal": normal,
    "heavy-tailed": heavy_tailed,
    "bimodal": bimodal,
    "drifting": drifting,
}


def arms(
    dice: Dice, noise: Callable[[Dice, int], Values], n: int, *, is_blocked: bool, spread: float
) -> tuple[Values, Values]:
    """
    Make `n` runs of two same arms, their order drawn as the runner of experiments draws it.

    In blocks each pair of runs that follow each other is one of either arm; else any order is as likely.
    """
    made = 100 * np.exp(spread * noise(dice, 2 * n))
    if is_blocked:
        pairs = dice.permuted(made.reshape(n, 2), axis=1)
        return pairs[:, 0], pairs[:, 1]
    drawn = dice.permutation(made)
    return drawn[:n], drawn[n:]
