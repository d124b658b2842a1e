"""Comparisons of drawn runs, counted by their verdicts."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import stats

from benchmarks.verdicts.noise import NOISES, Dice, Values, arms
from verdicts.verdict import MeasuredMetric, Verdict, VerdictRule, judged

RULE = VerdictRule()
CHANGES = (Verdict.IMPROVED, Verdict.REGRESSED)
ALIKE = 0.9
"""How much of a run's scatter the metrics of one run share."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """The number of comparisons with some verdict, of all."""

    hits: int
    n: int

    @property
    def share(self) -> float:
        """The share."""
        return self.hits / self.n

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the exact interval of the share (Clopper and Pearson)."""
        ends = stats.binomtest(self.hits, self.n).proportion_ci(level)
        return float(ends.low), float(ends.high)


def measured(baseline: Values, contender: Values, *, is_blocked: bool, name: str = "drawn") -> MeasuredMetric:
    """Return runs in the form that the comparison takes; less is better."""
    return MeasuredMetric(
        metric=name,
        baseline=list(baseline),
        contender=list(contender),
        is_lower_better=True,
        is_blocked=is_blocked,
    )


def counted(draw: Callable[[Dice], MeasuredMetric], n: int, seed: int) -> Counter[Verdict]:
    """Judge `n` comparisons, each drawn separately."""
    dice = np.random.default_rng(seed)
    return Counter(judged([draw(dice)], RULE)[0].verdict for _ in range(n))


def drawn(
    noise: str, runs: int, *, is_blocked: bool, spread: float, factor: float
) -> Callable[[Dice], MeasuredMetric]:
    """Return a function that draws runs of two arms, the contender's `factor` times the baseline's."""

    def draw(dice: Dice) -> MeasuredMetric:
        baseline, contender = arms(dice, NOISES[noise], runs, is_blocked=is_blocked, spread=spread)
        return measured(baseline, contender * factor, is_blocked=is_blocked)

    return draw


def changes(found: Counter[Verdict]) -> Rate:
    """Count the verdicts that name a change."""
    return Rate(hits=sum(found[word] for word in CHANGES), n=found.total())


def rate(found: Counter[Verdict], word: Verdict) -> Rate:
    """Count one verdict."""
    return Rate(hits=found[word], n=found.total())


def of_families(n: int, runs: int, metrics: int, seed: int) -> Rate:
    """Count same arms of which any of several metrics, alike as those of a run are, has a change."""
    dice, hits = np.random.default_rng(seed), 0
    for _ in range(n):
        shared, own = dice.normal(size=2 * runs), dice.normal(size=(metrics, 2 * runs))
        values = 100 * np.exp(0.1 * (ALIKE**0.5 * shared + (1 - ALIKE) ** 0.5 * own))
        family = [
            measured(of[:runs], of[runs:], is_blocked=False, name=f"m{nth}") for nth, of in enumerate(values)
        ]
        hits += any(one.verdict in CHANGES for one in judged(family, RULE))
    return Rate(hits=hits, n=n)


def of_averages(n: int, noise: str, spread: float, seed: int) -> Rate:
    """Count same arms that averages of three runs call different: by more than the tolerance."""
    dice, hits = np.random.default_rng(seed), 0
    for _ in range(n):
        baseline, contender = arms(dice, NOISES[noise], 3, is_blocked=False, spread=spread)
        hits += abs(float(np.mean(contender) / np.mean(baseline)) - 1) > RULE.tolerance
    return Rate(hits=hits, n=n)


def of_one_run(n: int, windows: int, spread: float, seed: int) -> Rate:
    """Count same arms, one run each, whose windows alone call them different: what its label is for."""
    dice, hits = np.random.default_rng(seed), 0
    for _ in range(n):
        runs = []
        for level in dice.normal(0, spread, size=2):
            noise = dice.normal(size=windows)
            for nth in range(1, windows):
                noise[nth] += 0.5 * noise[nth - 1]
            runs.append([(1.0, value) for value in 100 * np.exp(level + 0.1 * noise)])
        middle = [[float(np.mean([value for _, value in run]))] for run in runs]
        one = MeasuredMetric(
            metric="drawn",
            baseline=middle[0],
            contender=middle[1],
            is_lower_better=True,
            is_blocked=False,
            windows=(runs[0], runs[1]),
        )
        hits += judged([one], RULE)[0].verdict in CHANGES
    return Rate(hits=hits, n=n)
