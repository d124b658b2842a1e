"""Clients that lose a partition's leader and find it again, from made request lines of both leaders."""

import pytest

from tests.transforms.gold.redirect_rows import CONSUMER, HINT, MOVE, began, built, fetch, lookup, request

CONSUMED = [
    request(0, 1, **CONSUMER), request(10, 1, 74, part=HINT, **CONSUMER), request(15, 2, **CONSUMER),
]  # fmt: skip
FOLLOWER = {"kind": "follower", "client_id": "broker-3-fetcher-0"}
MOVED = {"topic_name": "t", "partition": 0, "error_code": 0}
OF_TWO = {"partitions": [MOVED | {"partition": partition} for partition in (1, 2)]}
ASK = {"api": "ELECT_LEADERS", "principal": "User:ann", "partitions": [MOVED]}
OTHERS = ({"client_id": "d"}, {"part": {"partition": 1}}, {"cluster": "x"})
OFF_MS = (250.0, -250.0)

CASES = {  # name -> lines of both leaders, of the state-change log, fetches between brokers
    "hinted": (MOVE,),
    "not hinted": (
        [request(0, 1), *(request(ms, 1, 6) for ms in (10, 11, 60)), lookup(50), request(115, 2)],
    ),
    "not ready": (
        [*MOVE[:2], request(15, 2, 6), request(16, 2, 6), request(215, 2)],
        [began(-40_000, 2), began(200, 2), began(50, 2, topic_name="u"), began(60, 2, role="follower"),
         began(190, 3), began(300, 2)],
    ),
    "ready before": (MOVE, [began(5, 2)]),
    "waits for followers": ([*MOVE[:2], request(1_215, 2, took_ms=1_201, remote_ms=1_200.0)],),
    "waits for records": (
        [*CONSUMED[:2], request(515, 2, took_ms=501, remote_ms=500.0, **CONSUMER)],
    ),
    "late error": ([*MOVE[:2], request(15, 2), request(16, 1, 6, took_ms=12), request(20, 2)],),
    "line of the error is late": (
        [*MOVE[:1], request(100, 1, 6, took_ms=90, part=HINT), request(40, 2), request(60, 2)],
    ),
    "retried before the line of the error": (
        [*MOVE[:1], request(20, 1, 6, took_ms=10, part=HINT), request(39, 2, took_ms=20), request(60, 2)],
    ),
    "later by the client's count alone": (
        [*MOVE[:1], request(110, 1, 6, took_ms=98, correlation_id=7), request(990, 2, correlation_id=10),
         request(-20_000, 3, correlation_id=99), request(40, 2, took_ms=29, correlation_id=9)],
    ),
    "old leader is still at work": (
        [request(0, 1), request(10, 1, 6, part=HINT), request(11, 1, took_ms=9), request(15, 2)],
    ),
    "behind others": (
        [*MOVE[:2], request(12, 2, part={"partition": 1}, connection="c-2"),
         request(112, 2, took_ms=98, connection="c-2", **OF_TWO),
         request(116, 2, took_ms=3, connection="c-2"),
         request(114, 2, took_ms=90, connection="other", part={"partition": 1})],
    ),
    "and back": ([*MOVE, request(1_010, 2, 6), request(1_020, 1)],),
    "no end": ([*MOVE[:2], request(61_500, 2)],),
    "consumer": ([*CONSUMED, *(row | FOLLOWER for row in CONSUMED)],),
    "sent again": ([*MOVE, *MOVE],),
    "moved by": (
        [*MOVE, request(-20, 3, client_id="early", **ASK), request(-5, 3, client_id="tool", **ASK),
         request(30, 3, client_id="late", **ASK),
         request(-2, 3, client_id="other", **ASK | {"partitions": [MOVED | {"partition": 1}]}),
         request(-1, 3, client_id="refused", **ASK | {"partitions": [MOVED | {"error_code": 84}]})],
    ),
    "clocks agree": (MOVE, [], [fetch(1, (2, 1), offset_ms=0), fetch(2, (1, 2), offset_ms=0)]),
    "another pair": (MOVE, [], [fetch(1, (3, 1), offset_ms=0)]),
    **{f"other {nth}": ([*MOVE[:2], request(15, 2, **other)],) for nth, other in enumerate(OTHERS)},
    **{
        f"off by {ms:g}": (
            [*MOVE[:2], *(request(at + ms, 2) for at in (115, 120))],
            [began(100 + ms, 2)],
            [fetch(1, (2, 1), offset_ms=ms), fetch(-70_000, (2, 1), offset_ms=9_000)],
        )
        for ms in OFF_MS
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def found():
    """Give the events of each case; all are built at once, each in a cluster of its own: it takes long."""
    frames = ([], [], [])
    for name, case in CASES.items():
        for rows, told in zip(frames, case, strict=False):
            rows += [row | {"cluster": name if row["cluster"] == "lab" else f"{name}, x"} for row in told]
    events = {name: [] for name in CASES}
    for row in built(*frames):
        events[row.cluster].append(row)
    return events


def test_nothing_gives_nothing():
    assert built([]) == []


def test_a_hinted_client_goes_straight_to_the_new_leader(found):
    (row,) = found["hinted"]

    assert (row.topic, row.partition, row.client_id, row.software_version) == ("t", 0, "c", "3.9.1")
    assert row.kind == "redirect"
    assert (row.old_leader_id, row.new_leader_id, row.error_code) == (1, 2, 6)
    assert (row.hinted, row.leader_epoch) == (True, 7)
    assert (row.redirect_ms, row.client_part_ms, row.broker_part_ms) == (5.0, 4.0, 1.0)
    assert (row.errors_at_old_leader, row.errors_at_new_leader, row.metadata_requests) == (1, 0, 0)
    assert (row.not_ready_ms, row.moved_by, row.clock_bound_ms) == (None, None, None)


def test_an_old_client_asks_for_metadata_and_wastes_requests_meanwhile(found):
    (row,) = found["not hinted"]

    assert (row.hinted, row.redirect_ms) == (False, 105.0)
    assert (row.errors_at_old_leader, row.metadata_requests) == (3, 1)


def test_a_leader_that_is_not_ready_is_the_brokers_part_and_no_event_of_its_own(found):
    (row,) = found["not ready"]

    assert (row.redirect_ms, row.client_part_ms, row.broker_part_ms) == (205.0, 4.0, 201.0)
    assert (row.errors_at_old_leader, row.errors_at_new_leader) == (1, 2)
    assert row.not_ready_ms == 186.0


def test_leader_that_was_ready_before_the_try_has_no_part(found):
    (row,) = found["ready before"]

    assert (row.not_ready_ms, row.broker_part_ms) == (0.0, 1.0)


def test_acks_all_waits_for_replication_and_that_is_the_brokers_part(found):
    (row,) = found["waits for followers"]

    assert (row.redirect_ms, row.client_part_ms, row.broker_part_ms) == (1_205.0, 4.0, 1_201.0)


def test_a_consumer_is_served_though_it_waits_for_records(found):
    (row,) = found["waits for records"]

    assert (row.redirect_ms, row.client_part_ms, row.broker_part_ms) == (5.0, 4.0, 1.0)


def test_served_before_the_error_was_written_is_lost_no_time(found):
    (row,) = found["line of the error is late"]

    assert (row.redirect_ms, row.client_part_ms, row.broker_part_ms) == (0.0, 0.0, 0.0)


def test_a_retry_may_arrive_before_the_error_was_written(found):
    (row,) = found["retried before the line of the error"]

    assert (row.redirect_ms, row.client_part_ms, row.broker_part_ms) == (19.0, 0.0, 19.0)


def test_a_retry_that_seems_to_arrive_first_is_known_by_its_count(found):
    """The error's line was written so late that the arrival worked out from it is behind the retry's."""
    (row,) = found["later by the client's count alone"]

    assert (row.new_leader_id, row.redirect_ms) == (2, 0.0)


def test_what_an_old_leader_was_still_at_does_not_make_it_the_leader(found):
    (row,) = found["old leader is still at work"]

    assert (row.new_leader_id, row.redirect_ms) == (2, 5.0)


def test_requests_that_a_connection_still_waits_for_are_the_brokers_part(found):
    """The first try came 103 ms behind the error; for 1 and 98 of these the broker had earlier requests."""
    (row,) = found["behind others"]

    assert (row.redirect_ms, row.blocked_ms) == (106.0, 99.0)
    assert (row.client_part_ms, row.broker_part_ms) == (4.0, 102.0)


def test_a_late_error_of_the_old_leader_is_no_second_event(found):
    """It was on its way while the first was answered."""
    (row,) = found["late error"]

    assert row.redirect_ms == 5.0


def test_each_move_is_an_event_and_back_again_is_one_too(found):
    assert [(r.old_leader_id, r.new_leader_id) for r in found["and back"]] == [(1, 2), (2, 1)]


def test_without_a_success_in_reach_the_event_has_no_end(found):
    (row,) = found["no end"]

    assert (row.new_leader_id, row.succeeded_at, row.redirect_ms) == (None, None, None)


def test_a_consumer_is_fenced_and_a_follower_is_none(found):
    (row,) = found["consumer"]

    assert (row.api, row.error_code, row.hinted) == ("FETCH", 74, True)


def test_lines_sent_again_change_nothing(found):
    (row,), (once,) = found["sent again"], found["hinted"]

    assert vars(row) | {"cluster": None} == vars(once) | {"cluster": None}


@pytest.mark.parametrize("nth", range(len(OTHERS)))
def test_what_others_do_is_no_end(found, nth):
    (row,) = found[f"other {nth}"]

    assert row.succeeded_at is None


def test_who_asked_for_the_move_is_named(found):
    (row,) = found["moved by"]

    assert row.moved_by == "ELECT_LEADERS tool User:ann"


def test_clocks_that_agree_are_left_as_they_are(found):
    (row,) = found["clocks agree"]

    assert (row.redirect_ms, row.clock_bound_ms) == (5.0, pytest.approx(0.5))


@pytest.mark.parametrize("off_ms", OFF_MS)
def test_clock_of_the_new_leader_that_is_off_is_put_right(found, off_ms):
    """Broker 2's clock is off: its lines are, and the fetches between 1 and 2 tell by how much."""
    (row,) = found[f"off by {off_ms:g}"]

    assert row.redirect_ms == pytest.approx(105.0, abs=0.51)
    assert (row.clock_bound_ms, row.not_ready_ms) == (pytest.approx(1.0), 0.0)


def test_bound_is_not_known_without_a_fetch_between_the_two(found):
    (row,) = found["another pair"]

    assert (row.redirect_ms, row.clock_bound_ms) == (5.0, None)
