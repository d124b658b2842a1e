"""Rates over whole periods of the quota: bursts that come every 11 to 12 s are the limit, not more."""

from datetime import UTC, datetime, timedelta

import pytest

from answers.throttles.limits import limits
from schemas.gold.throttle_compliance import THROTTLE_COMPLIANCE, THROTTLE_COMPLIANCE_SUMMARY
from tests.answers.declared import assert_declared
from tests.answers.selected import selected
from tests.transforms.gold.throttle_rows import copied, gold, in_sync, move, throttle

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
LIMIT = 6_000_000


def rated(by_s):
    """Return the row of bytes by second, of which all are to replicas that catch up."""
    windows = [
        {
            "cluster": "lab",
            "window_start": NOON + timedelta(seconds=start),
            "broker_id": 1,
            "direction": "leader",
            "limited_from": NOON,
            "limit_bytes_per_s": LIMIT,
            "is_listed": True,
            "moving_partitions": int(any(of_window)),
            "throttled_by_s": of_window,
            "throttled_bytes": sum(of_window),
            "catching_up_by_s": of_window,
            "catching_up_bytes": sum(of_window),
        }
        for start in range(min(by_s) // 10 * 10, max(by_s) + 1, 10)
        for of_window in [[by_s.get(second, 0) for second in range(start, start + 10)]]
    ]
    [row] = limits(selected({THROTTLE_COMPLIANCE: windows}))
    return row


def test_rows_are_the_declared_ones():
    changes, ended = throttle(0.5, LIMIT), [in_sync(61.6, [1, 2])]
    lines = copied(60, LIMIT, whole=60 * LIMIT)
    windows = gold(requests=lines, changes=changes, moves=move(0.9, {0: [1, 2]}), isr=ended)

    rows = limits(selected({THROTTLE_COMPLIANCE: windows[THROTTLE_COMPLIANCE]}))
    assert_declared(rows, THROTTLE_COMPLIANCE_SUMMARY)


def test_without_a_throttle_or_a_move_there_is_nothing():
    assert limits(selected({THROTTLE_COMPLIANCE: gold()[THROTTLE_COMPLIANCE]})) == []


def test_bytes_that_flow_evenly_have_periods_of_11_s():
    row = rated(dict.fromkeys(range(100, 150), LIMIT))

    assert (row["n"], row["rate_bytes_per_s"], row["moving_s"]) == (3, LIMIT, 50)
    assert (row["rate_low_bytes_per_s"], row["rate_high_bytes_per_s"]) == (LIMIT, LIMIT)


@pytest.mark.parametrize("period_s", [11, 12])
def test_bursts_of_a_period_each_are_the_limit(period_s):
    """Any 11 s of 12 s' worth at once are 9 % above the limit: the quota looks back 12 s then."""
    row = rated(dict.fromkeys(range(100, 160, period_s), period_s * LIMIT))

    assert row["rate_bytes_per_s"] == pytest.approx(LIMIT)
    assert row["best_window_bytes_per_s"] == pytest.approx(LIMIT * period_s / 11)


def test_pause_between_two_moves_is_in_no_period():
    row = rated(dict.fromkeys([*range(100, 150), *range(200, 250)], LIMIT))

    assert (row["n"], row["rate_bytes_per_s"], row["moving_s"]) == (6, LIMIT, 100)
    assert row["whole_windows"] == 3


def test_what_is_above_the_limit_in_every_period_is_in_the_rate():
    row = rated(dict.fromkeys(range(100, 160, 12), 12 * LIMIT * 6 // 5))

    assert row["rate_bytes_per_s"] == pytest.approx(1.2 * LIMIT)


def test_the_last_period_is_open_and_the_first_is_separate():
    row = rated({100: 50 * LIMIT, 112: 11 * LIMIT, 123: 11 * LIMIT, 134: LIMIT})

    assert (row["n"], row["rate_bytes_per_s"]) == (2, LIMIT)
    assert row["rate_low_bytes_per_s"] is None
    assert row["first_window_bytes_per_s"] == pytest.approx(50 * LIMIT / 11)


def test_a_copy_that_is_over_within_the_first_period_has_no_rate():
    row = rated({100: LIMIT, 105: LIMIT})

    assert (row["n"], row["rate_bytes_per_s"], row["rate_low_bytes_per_s"]) == (0, None, None)
