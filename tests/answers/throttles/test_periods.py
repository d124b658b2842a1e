"""Whole periods of the quota, from the bytes of each second."""

import pytest

from answers.throttles.periods import Period, periods, rate_of


def test_bytes_of_replicas_in_sync_open_no_period_but_count():
    is_copy = [second in (0, 12) for second in range(14)]

    assert periods(range(14), [5] * 14, [5 * is_one for is_one in is_copy], is_copy) == [Period(12, 60, 5)]


def test_mean_is_of_bytes_and_seconds_and_its_interval_of_periods():
    """58 bytes in 34 s: two periods of 1 byte/s are 12/17 below the mean, one of 3 bytes/s is 22/17 above."""
    found = rate_of([Period(11, 11, 0), Period(11, 11, 11), Period(12, 36, 12)])

    mean = 58 / 34
    half = 4.303 * ((2 * (12 / 17) ** 2 + (22 / 17) ** 2) / 2 / 3) ** 0.5
    assert (found.n, found.rate, found.catching_up_rate) == (3, mean, 23 / 34)
    assert (found.low, found.high) == (0.0, pytest.approx(mean + half))


def test_below_three_periods_there_is_no_interval_and_without_any_no_rate():
    assert rate_of([Period(11, 22, 11)] * 2) == (2, 2.0, None, None, 1.0)
    assert rate_of([]) == (0, None, None, None, None)
