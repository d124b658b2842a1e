"""A2: round trips of pairs of brokers."""

import pytest

from schemas.arrow import arrow_schema
from schemas.gold.broker_rtt import BROKER_RTT
from schemas.silver.client_events import CLIENT_EVENTS
from schemas.silver.requests import REQUESTS
from tests.transforms.gold.silver_rows import (
    at,
    event,
    fetch_gold,
    joined,
    mono,
    replaced,
    request,
    selected,
    stream_of,
    whole,
)
from transforms.gold.broker_rtt.table import trips
from transforms.gold.fetch_latency.build import BUILD
from transforms.gold.fetch_latency.pairing import fetches


def rtt(requests, events=()):
    return fetch_gold(requests, events)[BROKER_RTT]


def measured(requests, events=()):
    """Return the round trips by method."""
    rows = selected(trips(f"({fetches()})"), requests, events)
    return sorted((row.method, round(row.rtt_ms, 4)) for row in rows)


def by_method(rows):
    """Return the first row of each method."""
    return {row.method: row for row in reversed(rows)}


def test_gold_has_exactly_the_promised_schema():
    empty = BUILD.rows(whole({REQUESTS: [], CLIENT_EVENTS: []}))[BROKER_RTT]

    assert empty.schema == arrow_schema(BROKER_RTT)
    assert empty.num_rows == 0


def test_both_methods_find_the_injected_round_trip_of_an_idle_pair():
    """Twenty fetches in 10 s, 10 ms on the wire: the median, since n is below 30."""
    rows = by_method(rtt(*stream_of(18, rtt_ms=10)))

    assert {method: (row.n, row.blocks, row.estimator) for method, row in rows.items()} == {
        "paired": (18, 18, "p50"),
        "passive": (17, 17, "p50"),  # the first has none before it
    }
    for row in rows.values():
        assert row.rtt_ms == row.rtt_p50_ms == pytest.approx(10, rel=0.01)
        assert row.rtt_low_ms <= 10 <= row.rtt_high_ms


def test_busy_pair_is_judged_by_its_low_quantile():
    """CPU queues lengthen most round trips of a busy broker; the link shows in the quickest tenth."""
    quick = stream_of(10, first=1, rtt_ms=2, total_ms=1)
    queued = stream_of(40, first=2, rtt_ms=8, total_ms=1, start_id=10)

    row = by_method(rtt(*joined(quick, queued)))["paired"]

    assert (row.n, row.estimator) == (50, "p10")
    assert row.rtt_ms == pytest.approx(2, rel=0.01)
    assert row.rtt_p50_ms == pytest.approx(8, rel=0.01)
    assert row.rtt_low_ms <= 2 <= row.rtt_high_ms


def test_below_twelve_round_trips_there_is_no_estimate():
    row = by_method(rtt(*stream_of(11)))["paired"]

    estimate = (row.estimator, row.rtt_ms, row.rtt_low_ms, row.rtt_high_ms)
    assert (row.n, estimate) == (11, (None, None, None, None))
    assert row.rtt_p50_ms is not None


def test_clock_of_whole_milliseconds_is_judged_by_its_median():
    requests, events = stream_of(40, total_ms=100)
    coarse = {"logged_mono_ns": None, "clock_resolution_ms": 1.0}
    requests = [replaced(REQUESTS, row, **coarse) for row in requests]
    events = [replaced(CLIENT_EVENTS, row, **coarse) for row in events]

    rows = by_method(rtt(requests, events))

    assert {(row.estimator, row.clock_resolution_ms) for row in rows.values()} == {("p50", 1.0)}


def test_send_time_is_taken_out_of_the_leaders_total():
    """The leader notes the end of its send after the follower has the bytes: by total it would be -0.2."""
    requests = [request(10, total_ms=500.5, send_ms=0.5)]
    events = [event(9.5, "sent"), event(10.0003, "received")]

    assert measured(requests, events) == [("paired", 0.3)]


def test_gap_between_fetches_that_are_not_neighbours_is_not_measured():
    """Id 1 went elsewhere, so 0 and 2 are no neighbours; 3 is on a new connection."""
    requests = [
        request(1.0, correlation_id=0),
        request(2.0, correlation_id=2),
        request(2.502, correlation_id=3, connection="127.0.0.1:21001-127.0.0.1:40000-0-1"),
        request(3.004, correlation_id=4, connection="127.0.0.1:21001-127.0.0.1:40000-0-1"),
    ]

    assert measured(requests) == [("passive", 2.0)]


def test_correlation_ids_that_start_anew_meet_their_own_neighbours_only():
    """Sorted by id alone, the old 7 would follow the new 6, an hour later."""
    requests = [
        request(1, correlation_id=7),
        request(3601, correlation_id=6),
        request(3601.502, correlation_id=7),
    ]

    assert measured(requests) == [("passive", 2.0)]


def test_wall_clock_serves_unless_both_lines_have_monotonic_time():
    requests = [
        request(1.0, correlation_id=0, logged_mono_ns=None),
        request(1.502, correlation_id=1, logged_mono_ns=mono(99)),
        request(2.0, correlation_id=2, logged_mono_ns=mono(99.503)),
    ]

    assert measured(requests) == [("passive", 2.0), ("passive", 3.0)]


@pytest.mark.parametrize(
    ("gap_ms", "expected"),
    [(-1, [("passive", -1.0)]), (-6, []), (9_999, [("passive", 9_999.0)]), (10_001, [])],
)
def test_small_negative_gaps_are_kept_and_absurd_ones_are_not(gap_ms, expected):
    """Dropping only what is below zero would shift every quantile of a coarse clock upwards."""
    requests = [request(1.0, correlation_id=0), request(1.5 + gap_ms / 1e3, correlation_id=1)]

    assert measured(requests) == expected


def test_lines_without_times_measure_nothing():
    requests = [
        request(1.0, correlation_id=0),
        request(1.502, correlation_id=1, total_ms=None, remote_ms=None, send_ms=None),
    ]

    assert measured(requests) == []


def test_gap_counts_in_the_window_of_the_later_fetch():
    requests = [request(9.8, correlation_id=0), request(10.302, correlation_id=1)]

    (row,) = rtt(requests)

    assert (row.window_start, row.n) == (at(10), 1)


def test_blocks_count_stretches_and_not_round_trips():
    """A burst of 100 fetches within 0.2 s is one stretch: they shared their fate."""
    row = by_method(rtt(*stream_of(100, first=1.0, rtt_ms=1, total_ms=0.5)))["paired"]

    assert (row.n, row.blocks) == (100, 1)


def test_restart_of_a_fetcher_in_mid_window_costs_one_gap_and_no_pair():
    before = stream_of(8, first=0.6, rtt_ms=3)
    after = stream_of(8, first=5.5, rtt_ms=3, session_id=88)
    moved = [replaced(REQUESTS, row, connection="127.0.0.1:21001-127.0.0.1:40000-0-1") for row in after[0]]

    rows = by_method(rtt(*joined(before, (moved, after[1]))))

    assert (rows["paired"].n, rows["passive"].n) == (16, 14)
    assert rows["paired"].rtt_max_ms == rows["paired"].rtt_min_ms == pytest.approx(3, abs=1e-6)


def test_lines_sent_again_change_nothing():
    requests, events = stream_of(15)

    assert rtt(requests * 2, events * 2) == rtt(requests, events)


def test_consumers_and_raft_have_no_round_trip_between_brokers():
    requests = [
        request(n / 10, correlation_id=n, total_ms=1.0, kind=kind, client_id=kind)
        for n in range(20)
        for kind in ("consumer", "raft")
    ]

    assert rtt(requests) == []
