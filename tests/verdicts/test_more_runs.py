"""How many runs are named, and that so many do decide."""

import numpy as np
import pytest

from verdicts.more_runs import ObservedEffect, decided, more_runs
from verdicts.verdict import MeasuredMetric, Verdict, VerdictRule, judged


def plan(**more):
    known = {"runs": 3, "spread": 1.0, "tolerance": 0.05, "alpha": 0.05, "is_blocked": False}
    return ObservedEffect(**known | more)


@pytest.mark.parametrize("is_blocked", [False, True])
@pytest.mark.parametrize("shift", [-1.2, -0.8])
def test_so_many_runs_decide_four_times_out_of_five(shift, is_blocked):
    asked = plan(shift=shift, is_blocked=is_blocked)
    n = 3 + more_runs(asked)
    dice, said = np.random.default_rng(7), 0
    for _ in range(400):
        spread = 1.0 if is_blocked else 0.5**0.5
        baseline = dice.normal(0, 0 if is_blocked else spread, n)
        contender = baseline + dice.normal(shift, 1.0, n) if is_blocked else dice.normal(shift, spread, n)
        of = MeasuredMetric(
            metric="p99_ms",
            baseline=list(np.exp(baseline)),
            contender=list(np.exp(contender)),
            is_lower_better=True,
            is_blocked=is_blocked,
        )
        said += judged([of], VerdictRule())[0].verdict is Verdict.IMPROVED

    assert 0.73 < said / 400 < 0.97
    assert decided(asked, n - 1) < 0.8


def test_more_than_two_hundred_is_no_number():
    assert more_runs(plan(shift=0.04, spread=5.0)) is None
    assert more_runs(plan(shift=0.0, spread=float("inf"))) is None


def test_more_metrics_and_blocks_take_more_runs():
    assert more_runs(plan(shift=-3.0)) < more_runs(plan(shift=-3.0, alpha=0.05 / 8))
    assert more_runs(plan(shift=-3.0)) < more_runs(plan(shift=-3.0, is_blocked=True))


def test_a_number_above_what_is_tried_follows_the_formula():
    asked = plan(shift=-0.3, runs=5)

    n = 5 + more_runs(asked)
    assert n > 30
    assert 0.7 < decided(asked, n) < 0.9
