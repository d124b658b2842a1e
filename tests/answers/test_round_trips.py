"""A2 added up over a span."""

from datetime import UTC, datetime

import pytest

from answers.slow_links.round_trips import baseline, pair_rows, round_trips
from schemas.gold.broker_rtt import BROKER_RTT, BROKER_RTT_SUMMARY
from schemas.gold.broker_rtt_baseline import BROKER_RTT_BASELINE
from schemas.silver.client_events import CLIENT_EVENTS
from schemas.silver.requests import REQUESTS
from tests.answers import made_gold
from tests.answers.declared import assert_declared
from tests.answers.selected import selected
from tests.transforms.gold.silver_rows import joined, stream_of, whole
from transforms.gold.fetch_latency.build import BUILD


def summed(requests, events=()):
    gold = BUILD.rows(whole({REQUESTS: requests, CLIENT_EVENTS: events}))
    return round_trips(selected({BROKER_RTT: gold[BROKER_RTT]}))


def test_rows_are_the_declared_ones_and_nothing_gives_nothing():
    assert_declared(summed(*stream_of(15)), BROKER_RTT_SUMMARY)
    assert summed([]) == []


def test_summary_of_a_span_equals_one_window_of_the_same_length():
    """Histograms add up: 60 s in six windows give the quantiles of all their round trips together."""
    rows = {
        (row["leader_id"], row["method"]): row
        for row in summed(*joined(stream_of(100, rtt_ms=2), stream_of(100, rtt_ms=9, leader=3)))
    }

    assert {key: (row["n"], row["windows"], row["estimator"]) for key, row in rows.items()} == {
        (1, "paired"): (100, 6, "p10"),
        (1, "passive"): (99, 6, "p10"),
        (3, "paired"): (100, 6, "p10"),
        (3, "passive"): (99, 6, "p10"),
    }
    slow = rows[3, "paired"]
    assert slow["rtt_ms"] == pytest.approx(9, rel=0.01)
    assert slow["rtt_sum_ms"] == pytest.approx(900)
    assert (slow["until"] - slow["since"]).total_seconds() == 60


@pytest.mark.parametrize(
    ("n", "clock_ms", "estimator"),
    [(30, 0.001, "p10"), (29, 0.001, "p50"), (30, 1.0, "p50"), (12, 0.001, "p50"), (11, 0.001, None)],
)
def test_estimate_of_a_pair_needs_enough_round_trips_and_a_fine_clock(n, clock_ms, estimator):
    made = made_gold.rtt(0, 2, 1) | {"n": n, "clock_resolution_ms": clock_ms}

    [row] = round_trips(selected({BROKER_RTT: [made]}, cluster="east"))

    assert row["estimator"] == estimator
    assert (row["rtt_ms"] is None) == (estimator is None)


@pytest.mark.parametrize(("now_ms", "rise_ms"), [(3.0, 2.0), (None, None)])
def test_pair_without_an_estimate_has_no_rise(now_ms, rise_ms):
    pair = {"method": "paired", "follower_id": 2, "leader_id": 1}

    [row] = pair_rows([pair | {"estimator": "p50", "rtt_ms": now_ms}], [pair | {"rtt_p50_ms": 1.0}])

    assert (row["quiet_ms"], row["rise_ms"]) == (1.0, rise_ms)


def test_a_baseline_is_of_one_hour():
    """The newest one has no p10, and then there is none: that of an older hour is of other windows."""
    hours = [
        {
            "cluster": "lab",
            "hour": datetime(2026, 11, 21, hour, tzinfo=UTC),
            "follower_id": 2,
            "leader_id": 1,
            "method": "paired",
            "p10_ms": p10_ms,
            "p50_ms": 6.0,
            "windows": windows,
        }
        for hour, p10_ms, windows in ((9, 5.0, 300), (10, None, 3))
    ]

    row = baseline(selected({BROKER_RTT_BASELINE: hours}), (2, 1), "paired")

    assert row == {"p10_ms": None, "p50_ms": 6.0, "windows": 3}
