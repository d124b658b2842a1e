"""Means and ratios over rounds: geometric, with Student's interval on logarithms."""

import numpy as np
import pytest

from benchmarks.pipeline import intervals


def test_a_ratio_of_rounds_is_the_ratio_of_their_means():
    ours, theirs = {1: 60.0, 2: 80.0, 3: 50.0}, {1: 40.0, 2: 40.0, 3: 30.0}

    expected = intervals.mean(ours).value / intervals.mean(theirs).value

    assert intervals.ratio(ours, theirs).value == pytest.approx(expected)


def test_rounds_that_slow_both_arms_alike_have_a_ratio_without_spread():
    estimate = intervals.ratio({1: 2.0, 2: 20.0, 3: 6.0}, {1: 1.0, 2: 10.0, 3: 3.0})

    assert estimate == pytest.approx((2.0, 2.0, 2.0, 3))


def test_the_interval_is_that_of_student():
    # ln 2 and 0: mean ln(2) / 2, standard error ln(2) / 2, t of one degree of freedom 12.706.
    middle, low, high, _ = intervals.mean({1: 1.0, 2: 2.0})

    half = 12.706 * np.log(2) / 2
    assert (middle, low, high) == pytest.approx(
        (np.sqrt(2), np.sqrt(2) * np.exp(-half), np.sqrt(2) * np.exp(half)), rel=1e-3
    )


def test_one_round_has_no_interval_and_a_round_of_zero_no_mean():
    assert np.isnan(intervals.mean({1: 5.0}).low)
    assert np.isnan(intervals.mean({1: 5.0, 2: 0.0}).value)


def test_the_round_that_warms_up_does_not_count():
    rows = [{"round": nth, "arm": "ingest", "wall_s": float(nth)} for nth in range(3)]

    assert intervals.rounds_by_arm(rows, "wall_s") == {"ingest": {1: 1.0, 2: 2.0}}
