"""Whole periods of the quota: bursts that come every 11 to 12 s are the limit, not more."""

import pytest
from pyspark.sql import functions as F

from transforms.gold.throttle_compliance.rates import periods, rates

LIMIT = 6_000_000
STRETCH = {"cluster": "lab", "broker_id": 1, "direction": "leader", "limited_from": "x", "stretch": 1}


@pytest.fixture
def rated(spark):
    """Give the rates of bytes by second, of which all are to replicas that catch up."""

    def of(by_s):
        first, last = min(at for at, n in by_s.items() if n), max(at for at, n in by_s.items() if n)
        rows = [
            STRETCH
            | {"second": at, "throttled": by_s.get(at, 0), "catching_up": by_s.get(at, 0)}
            | {"first_s": first, "last_s": last, "is_copy": by_s.get(at, 0) > 0}
            for at in range(first, last + 1)
        ]
        [row] = rates(spark.createDataFrame(rows)).collect()
        return row

    return of


def test_bytes_that_flow_evenly_have_periods_of_11_s(rated):
    row = rated(dict.fromkeys(range(100, 150), LIMIT))

    assert (row.n, row.rate_bytes_per_s, row.moving_s_of_log) == (3, LIMIT, 50)
    assert (row.rate_low_bytes_per_s, row.rate_high_bytes_per_s) == (LIMIT, LIMIT)


@pytest.mark.parametrize("period_s", [11, 12])
def test_bursts_of_a_period_each_are_the_limit(rated, period_s):
    """Any 11 s of 12 s' worth at once are 9 % above the limit: the quota looks back 12 s then."""
    row = rated(dict.fromkeys(range(100, 160, period_s), period_s * LIMIT))

    assert row.rate_bytes_per_s == pytest.approx(LIMIT)
    assert row.best_window_bytes_per_s == pytest.approx(LIMIT * period_s / 11)


def test_what_is_above_the_limit_in_every_period_is_told(rated):
    row = rated(dict.fromkeys(range(100, 160, 12), 12 * LIMIT * 6 // 5))

    assert row.rate_bytes_per_s == pytest.approx(1.2 * LIMIT)


def test_the_last_period_is_open_and_the_first_is_told_apart(rated):
    row = rated({100: 50 * LIMIT, 112: 11 * LIMIT, 123: 11 * LIMIT, 134: LIMIT})

    assert (row.n, row.rate_bytes_per_s) == (2, LIMIT)
    assert row.rate_low_bytes_per_s is None
    assert row.first_window_bytes_per_s == pytest.approx(50 * LIMIT / 11)


def test_a_copy_that_is_over_within_the_first_period_has_no_rate(rated):
    row = rated({100: LIMIT, 105: LIMIT})

    assert (row.n, row.rate_bytes_per_s, row.rate_low_bytes_per_s) == (0, None, None)


def test_bytes_of_replicas_in_sync_open_no_period_but_count(spark):
    seconds = [
        {"second": at, "throttled": 5, "catching_up": 5 * (at in (0, 12)), "is_copy": at in (0, 12)}
        for at in range(14)
    ]
    fields = "array<struct<second: bigint, throttled: bigint, catching_up: bigint, is_copy: boolean>>"
    [row] = (
        spark.createDataFrame([(seconds,)], f"seconds {fields}").select(periods(F.col("seconds"))).collect()
    )

    assert [tuple(one) for one in row[0]] == [(0, 12, 60, 5)]
