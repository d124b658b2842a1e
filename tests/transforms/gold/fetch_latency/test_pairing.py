"""Follower and leader brought together."""

import random
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schemas.silver.client_events import CLIENT_EVENTS
from schemas.silver.requests import REQUESTS
from tests.transforms.gold.silver_rows import at, event, fetch, joined, replaced, request, selected, stream_of
from transforms.gold.fetch_latency.pairing import ANY_SKEW_S, fetches

HOUR = timedelta(hours=1)


def paired(requests, events=(), **tolerance):
    return sorted(selected(fetches(**tolerance), requests, events), key=lambda row: row.logged_us)


def elapsed_of(requests, events):
    rows = paired(requests, events)
    return [None if row.elapsed_ms is None else round(row.elapsed_ms, 3) for row in rows]


def test_elapsed_is_taken_from_monotonic_time_when_both_lines_have_it():
    """The wall clock was set forward by a second between the two lines; nanoseconds do not notice."""
    served, (sent, received) = fetch(10, rtt_ms=4, total_ms=500)
    stepped = replaced(CLIENT_EVENTS, received, logged_at=at(11))

    assert elapsed_of(served, [sent, stepped]) == [504.0]


@pytest.mark.parametrize("without", ["sent", "received"])
def test_wall_clock_serves_where_one_line_has_no_monotonic_time(without):
    served, events = fetch(10, rtt_ms=4)
    events = [
        replaced(CLIENT_EVENTS, row, logged_mono_ns=None, clock_resolution_ms=1.0) if without in row else row
        for row in events
    ]

    (row,) = paired(served, events)

    assert (round(row.elapsed_ms, 3), row.elapsed_resolution_ms) == (504.0, 1.0)


def test_lines_of_one_millisecond_pair_in_the_order_sent_then_received():
    coarse = {"logged_mono_ns": None, "clock_resolution_ms": 1.0}
    served = [request(10, total_ms=0.2, correlation_id=5)]
    events = [event(10, direction, correlation_id=5, **coarse) for direction in ("received", "sent")]

    assert elapsed_of(served, events) == [0.0]


def test_fetcher_that_is_started_again_never_meets_its_former_self():
    """Before the restart request 3 was sent and never answered; then 3 comes again, in a new session."""
    lost = event(9.0, "sent", correlation_id=3, session_id=77)
    served, events = fetch(12, rtt_ms=2, correlation_id=3, session_id=88)

    assert elapsed_of(served, [lost, *events]) == [502.0]


def test_answer_without_its_request_is_no_pair():
    """The answer to the new 3 is there, its request is not: the old 3 must not stand in for it."""
    old_served, old = fetch(8, correlation_id=3, session_id=77)
    served, (_, received) = fetch(12, correlation_id=3, session_id=88)

    assert elapsed_of(old_served + served, [*old, received]) == [501.0, None]


def test_same_correlation_id_before_and_after_a_restart_is_told_apart_by_the_session():
    before, after = (
        fetch(10, rtt_ms=1, correlation_id=3, session_id=77),
        fetch(12, rtt_ms=9, correlation_id=3, session_id=88),
    )

    assert elapsed_of(*joined(before, after)) == [501.0, 509.0]


def test_brokers_whose_clocks_are_an_hour_apart_pair_when_all_lines_are_at_hand():
    """No clock is compared: a stream looks `NEAR_S` around a window, a folder of files everywhere."""
    served, events = fetch(10, rtt_ms=4, total_ms=500)
    ahead = [
        replaced(CLIENT_EVENTS, row, logged_at=row[CLIENT_EVENTS.schema.names.index("logged_at")] + HOUR)
        for row in events
    ]

    assert [row.elapsed_ms for row in paired(served, ahead)] == [None]
    assert [row.elapsed_ms for row in paired(served, ahead, skew_s=ANY_SKEW_S)] == [504.0]


def test_without_a_session_nearness_in_time_decides():
    far = joined(
        fetch(10, rtt_ms=1, correlation_id=3, session_id=0),
        fetch(40, rtt_ms=9, correlation_id=3, session_id=0),
    )

    assert elapsed_of(*far) == [501.0, 509.0]


def test_key_that_fits_two_lines_is_dropped_and_never_guessed():
    near = joined(
        fetch(10, rtt_ms=1, correlation_id=3, session_id=0),
        fetch(12, rtt_ms=9, correlation_id=3, session_id=0),
        fetch(14, rtt_ms=2, correlation_id=4, session_id=0),
    )

    assert [(row.elapsed_ms is None, row.is_ambiguous) for row in paired(*near)] == [
        (True, True),
        (True, True),
        (False, False),
    ]


def test_line_sent_again_counts_once_on_either_side():
    served, events = fetch(10)
    again = [replaced(REQUESTS, row, offset=9) for row in served]

    rows = paired(served + again, events + events)

    assert [(round(row.elapsed_ms, 3), row.is_ambiguous) for row in rows] == [(501.0, False)]


def test_own_traffic_and_other_requests_are_left_out():
    rows = [
        request(1, correlation_id=1, is_own_traffic=True),
        request(2, correlation_id=2, api="METADATA", kind="other"),
        request(3, correlation_id=3, is_own_traffic=None),  # nobody said it is ours
        request(4, correlation_id=4, kind="consumer", follower_id=None, client_id=None),
        request(5, correlation_id=5, kind="raft", leader=2, follower=2),  # a node that fetches from itself
    ]

    assert [row.correlation_id for row in paired(rows)] == [3, 4]


def test_reboot_between_two_lines_gives_no_pair():
    """Monotonic time starts anew: minus a year is not an elapsed time, nor is what the wall clock says."""
    served, (sent, received) = fetch(10)
    rebooted = replaced(CLIENT_EVENTS, received, logged_mono_ns=5)

    assert elapsed_of(served, [sent, rebooted]) == [None]


def test_request_that_was_given_up_is_no_pair():
    served = [request(50, total_ms=30_500.0)]
    events = [event(19, "sent"), event(50, "received")]

    assert elapsed_of(served, events) == [None]


few = settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
restarts = st.lists(st.tuples(st.integers(1, 6), st.sampled_from([0.3, 2.0, 9.0])), min_size=1, max_size=4)


@few
@given(restarts, st.booleans(), st.randoms(use_true_random=False))
def test_pairing_loses_no_fetch_and_invents_none(runs, is_sent_again, order: random.Random):
    """However often a fetcher starts anew: every fetch is there once, with its own elapsed time."""
    parts, expected, first = [], [], 1.0
    for session_id, (n, rtt_ms) in enumerate(runs, start=100):
        parts.append(stream_of(n, first=first, rtt_ms=rtt_ms, total_ms=50.0, session_id=session_id))
        expected += [round(50.0 + rtt_ms, 3)] * n
        first += 1 + n * (50.0 + rtt_ms) / 1e3
    requests, events = joined(*parts)
    if is_sent_again:
        requests, events = requests * 2, events * 2
    order.shuffle(requests)
    order.shuffle(events)

    assert elapsed_of(requests, events) == expected


def test_no_lines_give_no_rows():
    assert paired([]) == []
