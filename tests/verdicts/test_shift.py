"""Shifts by ranks: what SciPy's exact tests say, and intervals that leave out zero exactly where they do."""

from itertools import product
from math import inf

import numpy as np
import pytest
from scipy import stats

from verdicts.shift import between, least_p, within_blocks

LEVEL = 0.95


def draws(n):
    dice = np.random.default_rng(11)
    for _ in range(n):
        m, k = dice.integers(3, 10, 2)
        effect = dice.choice([0.0, 0.7, 1.5])
        yield (
            dice.normal(size=m),
            dice.normal(effect, size=k),
            dice.normal(size=m),
            dice.normal(effect, size=m),
        )


def test_an_interval_leaves_out_zero_exactly_where_the_test_says_so():
    said = []
    for theirs, ours, first, second in draws(200):
        shifts = (between(theirs, ours, level=LEVEL), within_blocks(first, second, level=LEVEL))
        said += [(not shift.low <= 0 <= shift.high, shift.p <= 1 - LEVEL) for shift in shifts]

    assert [of for of in said if of[0] != of[1]] == []
    assert len(set(said)) == 2


def test_p_is_scipys():
    for theirs, ours, first, second in draws(50):
        assert between(theirs, ours, level=LEVEL).p == pytest.approx(
            stats.mannwhitneyu(ours, theirs, method="exact").pvalue
        )
        assert within_blocks(first, second, level=LEVEL).p == pytest.approx(
            stats.wilcoxon(second - first, method="exact").pvalue
        )


def test_p_of_ties_counts_every_order():
    theirs, ours = [3, 3, 4, 5], [3, 5, 6, 6]

    of_ranks = stats.rankdata([*theirs, *ours])
    sums = [
        of_ranks[[bool(ours) for ours in chosen]].sum()
        for chosen in product([0, 1], repeat=8)
        if sum(chosen) == 4
    ]
    seen, middle = of_ranks[4:].sum(), np.mean(sums)
    expected = np.mean([abs(of - middle) >= abs(seen - middle) - 1e-9 for of in sums])
    assert between(theirs, ours, level=LEVEL).p == pytest.approx(expected)


@pytest.mark.parametrize(
    ("theirs", "ours", "p"),
    [([1], [2], 1.0), ([1], [1], 1.0), ([5], [1, 2, 3], 0.5), ([1, 2, 3], [2], 1.0), ([2, 2, 2], [1], 0.25)],
)
def test_a_single_run_has_as_many_orders_as_there_are_runs(theirs, ours, p):
    told = between(theirs, ours, level=LEVEL)

    assert (told.p, told.low, told.high) == (p, -inf, inf)


@pytest.mark.parametrize("compare", [between, within_blocks])
def test_interval_holds_the_shift_as_often_as_it_says(compare):
    dice = np.random.default_rng(5)
    held = []
    for _ in range(1500):
        shift = compare(dice.standard_t(3, size=7), dice.standard_t(3, size=7) + 1.0, level=LEVEL)
        held.append(shift.low <= 1.0 <= shift.high)

    assert stats.binomtest(sum(held), len(held), LEVEL, alternative="less").pvalue > 0.001
    assert np.mean(held) < 0.995


def test_three_runs_of_each_have_no_interval():
    shift = between([1, 2, 3], [10, 11, 12], level=LEVEL)

    assert (shift.low, shift.high) == (-inf, inf)
    assert shift.p == pytest.approx(least_p(3, is_blocked=False)) == pytest.approx(0.1)


def test_blocks_take_out_what_drifts():
    baseline = [100, 200, 300, 400, 500, 600]
    contender = [90, 191, 292, 388, 489, 591]

    assert (
        within_blocks(baseline, contender, level=LEVEL).p < 0.05 < between(baseline, contender, level=LEVEL).p
    )


@pytest.mark.parametrize("arms", [([], [1]), ([1], [])])
def test_an_arm_without_runs_is_refused(arms):
    with pytest.raises(ValueError, match="each arm needs a run"):
        between(*arms, level=LEVEL)


def test_blocks_with_one_arm_are_refused():
    with pytest.raises(ValueError, match="3 and 2 do not go together"):
        within_blocks([1, 2, 3], [1, 2], level=LEVEL)
