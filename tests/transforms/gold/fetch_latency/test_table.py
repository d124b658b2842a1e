"""A1: fetch latency per window, leader and fetcher."""

import pytest

from schemas.arrow import arrow_schema
from schemas.gold.fetch_latency import FETCH_LATENCY
from schemas.silver.client_events import CLIENT_EVENTS
from schemas.silver.requests import REQUESTS
from tests.transforms.gold.silver_rows import (
    event,
    fetch,
    fetch_gold,
    joined,
    replaced,
    request,
    share_fetch,
    stream_of,
    whole,
)
from transforms.gold.fetch_latency.build import BUILD


def latency(requests, events=()):
    return fetch_gold(requests, events)[FETCH_LATENCY]


def test_gold_has_exactly_the_promised_schema():
    empty = BUILD.rows(whole({REQUESTS: [], CLIENT_EVENTS: []}))[FETCH_LATENCY]

    assert empty.schema == arrow_schema(FETCH_LATENCY)
    assert empty.num_rows == 0


def test_wait_in_purgatory_hides_what_the_true_latency_shows():
    """KIP-736's point: 500 ms everywhere, and only elapsed - remote tells the 20 ms link."""
    rows = latency(*stream_of(15, rtt_ms=20, total_ms=500))
    row = rows[0]

    assert (row.n, row.n_delayed, row.n_true) == (15, 15, 15)
    assert row.total_p50_ms == pytest.approx(500, rel=0.01)
    assert row.leader_local_p50_ms == pytest.approx(1, rel=0.01)
    assert row.true_p50_ms == pytest.approx(21, rel=0.01)
    assert (row.total_sum_ms, row.leader_local_min_ms) == (7500.0, 1.0)


def test_subtraction_is_per_request_and_never_of_percentiles():
    """Half the fetches wait 500 ms, half work 5 ms: p99(total) - p99(remote) is 0, the truth is 5 ms."""
    rows = [request(1 + n / 10, correlation_id=n, total_ms=500.0, remote_ms=500.0) for n in range(10)]
    rows += [request(3 + n / 10, correlation_id=20 + n, total_ms=5.0, remote_ms=0.0) for n in range(10)]

    (row,) = latency(rows)

    assert row.leader_local_p99_ms == pytest.approx(5, rel=0.01)
    assert (row.n, row.n_delayed) == (20, 10)


def test_immediate_fetches_are_all_less_the_delayed_bucket_by_bucket():
    delayed = [request(1 + n / 10, correlation_id=n, total_ms=500.0, remote_ms=498.0) for n in range(4)]
    immediate = [request(3 + n / 10, correlation_id=9 + n, total_ms=2.0, remote_ms=0.0) for n in range(3)]

    (row,) = latency(delayed + immediate)

    assert (row.leader_local_hist, row.leader_local_delayed_hist) == ({726: 7}, {726: 4})


def test_true_latency_is_null_where_the_followers_log_is_missing():
    (row,) = latency([request(1)])

    assert (row.n, row.n_true) == (1, 0)
    assert [row[name] for name in row.__fields__ if name.startswith("true_")] == [None] * 7


def test_no_delayed_fetch_is_a_known_zero():
    (row,) = latency(*fetch(1, total_ms=2.0))

    assert (row.n_delayed, row.leader_local_delayed_hist, row.true_delayed_hist) == (0, {}, {})


def test_fetch_without_times_is_counted_and_measures_nothing():
    (row,) = latency([request(1, total_ms=None, remote_ms=None, send_ms=None)])

    assert (row.n, row.n_delayed, row.n_true) == (1, 0, 0)
    assert (row.total_hist, row.total_p50_ms, row.total_sum_ms) == (None, None, None)


def test_nan_and_infinite_times_measure_nothing():
    rows = [request(1, total_ms=float("nan"), remote_ms=0.0), request(2, correlation_id=1, total_ms=2.0)]

    (row,) = latency(rows)

    assert (row.n, row.total_sum_ms, row.total_hist) == (2, 2.0, {726: 1})


def test_followers_consumers_share_consumers_and_raft_keep_rows_of_their_own():
    rows = [
        request(1, correlation_id=1),
        request(2, correlation_id=2, kind="consumer", follower_id=None, client_id="app"),
        request(3, correlation_id=3, kind="consumer", follower_id=None, client_id=None),
        request(4, correlation_id=4, kind="raft", follower_id=3, client_id="raft-client-3"),
        share_fetch(5, client_id="app"),
        request(6, correlation_id=6, api="PRODUCE", kind="other", follower_id=None, client_id="app"),
    ]

    found = {(row.kind, row.follower_id, row.client_id) for row in latency(rows)}

    assert found == {
        ("follower", 2, "broker-2-fetcher-0"),
        ("consumer", None, "app"),
        ("consumer", None, None),
        ("raft", 3, "raft-client-3"),
        ("share", None, "app"),
    }


def test_the_wait_of_a_share_fetch_is_no_latency():
    idle = share_fetch(1.5, total_ms=502.0, remote_ms=500.25, correlation_id=7)
    busy = share_fetch(2.0, total_ms=10.5, remote_ms=6.0, correlation_id=8)

    (row,) = latency([idle, busy])

    assert (row.n, row.n_delayed, row.n_true) == (2, 2, 0)
    assert (row.leader_local_min_ms, row.leader_local_max_ms) == (1.75, 4.5)
    assert (row.total_max_ms, row.remote_max_ms) == (502.0, 500.25)


def test_fetch_belongs_to_the_window_in_which_the_leader_finished_it():
    """Started in one window and ended in the next: the end counts."""
    rows = latency([request(10.2, total_ms=500.0)])

    assert [row.window_start.second for row in rows] == [10]


def test_lines_sent_again_change_nothing():
    requests, events = stream_of(15)
    again = [replaced(REQUESTS, row, offset=7) for row in requests]

    assert latency(requests + again, events * 2) == latency(requests, events)


def test_same_lines_give_the_same_rows_in_any_order():
    """Sums are of whole nanoseconds: doubles would add up differently in another order."""
    requests, events = joined(
        *[stream_of(20, leader=leader, total_ms=0.1 + leader / 7, rtt_ms=0.3) for leader in (1, 2, 3)]
    )

    assert latency(requests[::-1], events[::-1]) == latency(requests, events)


def test_histograms_hold_every_fetch_once():
    requests, events = joined(stream_of(40), [[request(9, correlation_id=900)], [event(9, "sent")]])

    rows = latency(requests, events)
    counts = [sum(row[name] for row in rows) for name in ("n", "n_true")]
    in_hists = [sum(sum((row[name] or {}).values()) for row in rows) for name in ("total_hist", "true_hist")]

    assert (counts, in_hists) == ([41, 40], [41, 40])
