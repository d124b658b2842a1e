"""Means and ratios over rounds, with 95 % intervals (Student's t on logarithms)."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

Rounds = dict[int, float]
"""Values of a figure by round."""

LEAST_ROUNDS = 2
NAN = float("nan")


class Estimate(NamedTuple):
    """A figure, its 95 % interval (NaN: none), and the number of measurements that it is made of."""

    value: float
    low: float = NAN
    high: float = NAN
    n: int = 1


def rounds_by_arm(rows: Iterable[Mapping[str, Any]], name: str) -> dict[str, Rounds]:
    """Return a figure of each arm by round, without the warm-up round 0."""
    by_arm: dict[str, Rounds] = defaultdict(dict)
    for row in rows:
        if row["round"]:
            by_arm[row["arm"]][row["round"]] = row[name]
    return dict(by_arm)


def mean(rounds: Rounds) -> Estimate:
    """Return the geometric mean; NaN if a round is not positive."""
    return _estimate(list(rounds.values()))


def ratio(ours: Rounds, theirs: Rounds) -> Estimate:
    """
    Return the geometric mean of the ratios within each round.

    It equals the ratio of the two geometric means. Its interval is narrower than that of unpaired rounds if
    the machine slows both arms of a round equally.
    """
    if min(theirs.values()) <= 0:
        return Estimate(NAN, n=len(theirs))
    return _estimate([ours[number] / theirs[number] for number in sorted(ours)])


def _estimate(values: list[float]) -> Estimate:
    if min(values) <= 0:
        return Estimate(NAN, n=len(values))
    logs = np.log(values)
    middle = float(np.exp(logs.mean()))
    if len(logs) < LEAST_ROUNDS:
        return Estimate(middle)
    half = float(stats.t.ppf(0.975, len(logs) - 1) * stats.sem(logs))
    return Estimate(middle, middle * float(np.exp(-half)), middle * float(np.exp(half)), len(logs))
