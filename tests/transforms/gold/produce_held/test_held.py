"""Which follower released a PRODUCE, and the parts of its wait, from lines whose every instant is known."""

import pytest

from tests.transforms.gold.held_rows import at, fetch, part, produce, replicated, requests

FAST, SLOW = replicated(2, 3.2), replicated(3, 11.2)
HELD = produce(0.0, 11.5)
"""Follower 3 releases it at 11.5 ms; the confirmation of follower 2 was handled until 3.6 ms."""
FAILED = HELD | {"partitions": [part(10, error_code=7)]}


def only(*lines, **named):
    (found,) = requests(list(lines), **named)
    return found


def test_the_follower_that_confirmed_last_is_named_with_the_parts_of_the_wait():
    found = only(*FAST, *SLOW, HELD)

    assert (found.outcome, found.follower_id, found.leader_id, found.topic) == ("released", 3, 1, "orders")
    assert found.ack == "fetch/3/11.2"
    assert found.held_ms == pytest.approx(7.9)
    parts = (found.busy_ms, found.serve_ms, found.network_ms, found.take_ms)
    assert parts == pytest.approx((0.0, 0.8, 10.0, 0.3))
    assert sum(parts) == pytest.approx(found.remote_ms)
    assert (found.own_append_ms, found.round_trip_ms) == (None, None)


def test_a_follower_that_was_away_is_busy():
    found = only(*FAST, *replicated(3, 11.2, waits_from=6.0, answered_ms=7.0), HELD)

    assert (found.busy_ms, found.serve_ms, found.network_ms) == pytest.approx((5.6, 1.0, 4.2))


def test_the_order_of_the_lines_and_a_line_sent_twice_do_not_matter():
    lines = [*FAST, *SLOW, HELD]

    assert requests([*reversed(lines), *lines]) == requests(lines)


OTHERS = {
    "nobody waits": ([*FAST, *SLOW, produce(0.0, 0.4)], "not_held", None),
    "both confirm at nearly the same time": ([*replicated(2, 10.4), *SLOW, HELD], "tie", 3),
    "the other confirmation was handled a millisecond before": (
        [*replicated(2, 10.0), *SLOW, HELD],
        "released",
        3,
    ),
    "the other one began as early, but was handled until nearly then": (
        [FAST[0], fetch(9.0, 509.0, 11, 2, 1, local_ms=1.9), *SLOW, HELD],
        "tie",
        3,
    ),
    "with a coarse clock the release may be 2 ms after the handling": (
        [*FAST, *replicated(3, 9.3), HELD | {"clock_resolution_ms": 1.0}],
        "released",
        3,
    ),
    "with a fine clock it may not": ([*FAST, *replicated(3, 9.3), HELD], "unmatched", None),
    "no fetch is near the release": ([*FAST, HELD], "unmatched", None),
    "a follower outside the ISR confirms after the release": (
        [*replicated(2, 80.0), *SLOW, *replicated(4, 3.0), HELD],
        "released",
        3,
    ),
    "there is one follower": ([*SLOW, HELD], "released", 3),
    "the request failed, and one follower is missing": (
        [*FAST, *replicated(3, 90.0), FAILED],
        "failed",
        3,
    ),
    "the request failed, and the missing follower had these offsets in an earlier topic": (
        [*FAST, *replicated(3, 90.0), fetch(-9_000, -8_990, 11, 3), FAILED],
        "failed",
        3,
    ),
    "the request failed, and two followers are missing": (
        [*replicated(2, 90.0), *replicated(3, 90.0), FAILED],
        "failed",
        None,
    ),
    "a fetch with an error confirms nothing": (
        [*FAST, SLOW[0], SLOW[1] | {"partitions": [part(11, error_code=6)]}, HELD],
        "unmatched",
        None,
    ),
    "a fetch without its session confirms nothing": (
        [*FAST, SLOW[0], SLOW[1] | {"error_code": 70}, HELD],
        "unmatched",
        None,
    ),
    "a fetch of another leader is no confirmation": (
        [*FAST, *(line | {"broker_id": 2} for line in SLOW), HELD],
        "unmatched",
        None,
    ),
    "an earlier topic of this name had these offsets": (
        [*FAST, *SLOW, fetch(-9_000, -8_990, 11, 3), HELD],
        "unmatched",
        None,
    ),
    "names in the PRODUCE, ids in the FETCH": (
        [*FAST, *SLOW, HELD | {"partitions": [part(10, topic_id=None, topic_name="orders")]}],
        "released",
        3,
    ),
}


@pytest.mark.parametrize(("lines", "outcome", "follower"), OTHERS.values(), ids=OTHERS)
def test_what_is_said_instead_of_a_wrong_name(lines, outcome, follower):
    found = only(*lines)

    assert (found.outcome, found.follower_id) == (outcome, follower)
    assert (found.held_ms is None) == (outcome not in {"released", "tie"})


def test_with_one_follower_the_request_would_have_been_complete_at_its_append():
    assert only(*SLOW, HELD).held_ms == pytest.approx(11.5 - 0.4)


@pytest.mark.parametrize(("seconds", "outcome"), [(0.9, "isr_change"), (1.2, "unmatched")])
def test_a_change_of_the_isr_explains_a_release_without_a_fetch(seconds, outcome):
    change = {"cluster": "lab", "logged_at": at(11.5 + seconds * 1e3), "leader_id": 1, "topic_name": "orders"}

    assert only(*FAST, HELD, isr=[change | {"partition_index": 0}]).outcome == outcome
    assert only(*FAST, HELD, isr=[change | {"partition_index": 1}]).outcome == "unmatched"
    of_another = change | {"partition_index": 0, "leader_id": 2}
    assert only(*FAST, HELD, isr=[of_another]).outcome == "unmatched"


def test_of_several_partitions_the_last_confirmation_counts():
    both = HELD | {"partitions": [part(10), part(70, 1)]}
    early = [line | {"partitions": [part(line["partitions"][0]["offset"])]} for line in FAST]
    second = [fetch(5.2, 9.0, 71, 2, 2, parts=[part(71, 1)])]
    slow = [SLOW[0], SLOW[1] | {"partitions": [part(11), part(71, 1)]}]

    found = only(*early, *second, *slow, both)

    assert (found.follower_id, found.held_ms) == (3, pytest.approx(11.5 - 5.6))


def test_a_replica_that_has_not_confirmed_every_partition_has_not_confirmed_the_request():
    both = HELD | {"partitions": [part(10), part(70, 1)]}
    half = [*SLOW, fetch(-50.0, -40.0, 70, 3, 9, connection="other", parts=[part(70, 1)])]

    assert only(*FAST, *half, both).outcome == "unmatched"


def test_without_the_adjacent_fetch_the_hold_stands_and_the_parts_are_unknown():
    found = only(*FAST, SLOW[0], SLOW[1] | {"correlation_id": 2}, HELD)

    assert (found.outcome, found.held_ms) == ("released", pytest.approx(7.9))
    assert {found.busy_ms, found.serve_ms, found.network_ms, found.take_ms} == {None}


def followers_log(received_ms, sent_ms):
    line = {"cluster": "lab", "node_id": 3, "destination_id": 1, "client_id": "broker-3-fetcher-0"}
    line |= {"api": "FETCH", "follower_id": 3}
    return [
        line | {"correlation_id": 0, "direction": "received", "logged_at": at(received_ms), "position": "a"},
        line | {"correlation_id": 1, "direction": "sent", "logged_at": at(sent_ms), "position": "b"},
    ]


def test_the_followers_log_splits_the_network_from_its_own_append():
    found = only(*FAST, *SLOW, HELD, events=followers_log(1_003.0, 1_009.0))

    # the clock of the follower is a second ahead
    assert (found.own_append_ms, found.round_trip_ms) == pytest.approx((6.0, 4.0))


@pytest.mark.parametrize(("received_ms", "sent_ms"), [(3_000.0, 5_300.0), (-4_500.0, 1_009.0), (9.0, 8.0)])
def test_lines_of_a_follower_far_from_the_fetch_or_in_the_wrong_order_are_no_append(received_ms, sent_ms):
    found = only(*FAST, *SLOW, HELD, events=followers_log(received_ms, sent_ms))

    assert (found.network_ms, found.own_append_ms, found.round_trip_ms) == (pytest.approx(10.0), None, None)


def test_a_long_handling_still_contains_the_release():
    long = SLOW[1] | {"local_ms": 30.0}
    found = only(*FAST, SLOW[0], long, produce(0.0, 30.0))

    assert (found.follower_id, found.held_ms) == (3, pytest.approx(30.0 - 3.6))
