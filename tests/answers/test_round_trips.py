"""A2 added up over a span."""

import pytest

from answers.round_trips import round_trips
from schemas.gold.broker_rtt import BROKER_RTT, BROKER_RTT_SUMMARY
from schemas.silver.client_events import CLIENT_EVENTS
from schemas.silver.requests import REQUESTS
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
