"""The edge of each threshold of a throttle's verdict: the value itself, and the one next to it."""

import pytest

from answers.throttles.verdict import (
    LEFT_OVER_S,
    STUCK_WINDOWS,
    is_ineffective,
    is_left_over,
    is_over,
    is_stuck,
)

LIMIT = 1_000
NOTHING = dict.fromkeys(
    (
        *("rate_bytes_per_s", "counter_bytes_per_s", "best_window_bytes_per_s", "counted_s", "idle_after_s"),
        *("passed_bytes_per_s", "inbound_bytes_per_s", "whole_windows", "moving_windows"),
        *("catching_up_bytes", "unlisted_bytes", "is_listed"),
    )
)


def row(**known):
    return NOTHING | {"limit_bytes_per_s": LIMIT} | known


@pytest.mark.parametrize(
    ("idle_s", "found"), [(LEFT_OVER_S, True), (LEFT_OVER_S - 0.1, False), (None, False)]
)
def test_left_over_from_25_s_on(idle_s, found):
    assert is_left_over(row(idle_after_s=idle_s)) is found


@pytest.mark.parametrize(
    ("windows", "passed", "found"),
    [
        (STUCK_WINDOWS, 700, True),
        (STUCK_WINDOWS - 1, 700, False),
        (STUCK_WINDOWS, 701, False),
        (STUCK_WINDOWS, None, False),
    ],
)
def test_stuck_from_three_windows_on_with_no_more_passed_than_produced(windows, passed, found):
    shown = {"whole_windows": windows, "moving_windows": windows, "inbound_bytes_per_s": 700}

    assert is_stuck(row(passed_bytes_per_s=passed, **shown)) is found


@pytest.mark.parametrize(
    ("unlisted", "caught_up", "found"),
    [
        (LIMIT, 0, False),  # a second of the limit: a replica that restarted
        (LIMIT + 1, 0, True),
        (LIMIT + 1, LIMIT + 1, False),  # half is on the list
        (LIMIT + 1, LIMIT, True),
        (None, None, False),
    ],
)
def test_a_list_is_missed_by_more_than_a_second_of_the_limit_and_more_than_half(unlisted, caught_up, found):
    assert is_ineffective(row(unlisted_bytes=unlisted, catching_up_bytes=caught_up)) is found


@pytest.mark.parametrize(
    ("measured", "found"),
    [
        ({"rate_bytes_per_s": 1_100}, False),
        ({"rate_bytes_per_s": 1_101}, True),
        ({"rate_bytes_per_s": 1_000, "best_window_bytes_per_s": 1_150}, False),
        ({"rate_bytes_per_s": 1_000, "best_window_bytes_per_s": 1_151}, True),
        # Counters may include one more burst: 12 s of the 60 s that were counted.
        ({"counter_bytes_per_s": 1_299, "counted_s": 60}, False),
        ({"counter_bytes_per_s": 1_301, "counted_s": 60}, True),
        ({}, False),
    ],
)
def test_over_the_limit_by_more_than_the_tolerance(measured, found):
    assert is_over(row(**measured)) is found
