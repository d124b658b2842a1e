"""Clients whose leader died, from made lines of brokers that live and that do not."""

import pytest

from schemas.gold.leader_redirect import DISCONNECT
from tests.transforms.gold.redirect_rows import (
    AT,
    CONSUMER,
    MS,
    began,
    built,
    fetch,
    lookup,
    request,
)

KNOWN = [{"cluster": "by id", "topic_id": "Abc", "topic_name": "t", "seen_at": AT}]


def served(since, until, broker=1, *, every=500, **fields):
    return [request(ms, broker, **fields) for ms in range(since, until + 1, every)]


def alive(ms, broker=1):
    """Make a line of a client of another topic."""
    return request(ms, broker, client_id="x", part={"topic_name": "u"})


def follows(ms, follower=1, leader=2):
    """Make the line of a replica's fetch that was read 1 ms before and waited for half a second."""
    row = request(ms + 499, leader, took_ms=500, api="FETCH", kind="follower", client_id="f")
    return row | {"follower_id": follower}


def took_over(ms, broker=2, before=1, **fields):
    return began(ms, broker, previous_leader_id=before, **fields)


# Broker 1 serves until 3 s, lives until 3.4 s, loses its session at 12 s; the client is served by 2 at once.
WORK, END, FOUND = served(0, 3_000), alive(3_400), request(12_101, 2)
DEAD = [*WORK, END, FOUND]
TAKEN = [took_over(12_000)]
BACK = [alive(ms) for ms in range(32_000, 36_001, 500)]
REFUSED = request(32_500, 1, 6)
MANY = ({"client_id": "d"}, {"part": {"partition": 1}}, {"part": {"partition": 1}, "client_id": "d"})
BY_ID = {"part": {"topic_name": None, "topic_id": "Abc"}}
AGAIN = [
    *DEAD, *served(12_500, 19_900, 2), *served(20_100, 22_100), alive(22_500), request(32_101, 2),
]  # fmt: skip
AHEAD_MS = 1_000

CASES = {  # name -> lines of all brokers, of the state-change log, fetches between brokers
    "dead": (DEAD, TAKEN),
    "not ready": (
        [*WORK, END, request(12_011, 2, 6), FOUND, *(lookup(ms, broker_id=3) for ms in (4_000, 11_000))],
        [took_over(12_050)],
    ),
    "consumer": ([row | CONSUMER for row in DEAD], TAKEN),
    "by id": (
        [END, *served(0, 3_000, **BY_ID), request(12_101, 2, **BY_ID)],
        [took_over(12_000, topic_id="Abc")],
    ),
    "sent again": ([*DEAD, *DEAD], [*TAKEN, *TAKEN]),
    "many": (
        [*DEAD, *(row for n, other in enumerate(MANY) for row in served(100 + n, 3_000, **other)),
         *(request(12_150 + n, 2, **other) for n, other in enumerate(MANY))],
        [*TAKEN, took_over(12_010, partition_index=1)],
    ),
    "chain": ([*WORK, END, request(24_101, 3)], [*TAKEN, took_over(24_000, 3, 2)]),
    "back after": ([*DEAD, *BACK], TAKEN),
    "back before": ([*WORK, END, request(33_001, 2), *BACK], TAKEN),
    "dies twice": (AGAIN, [*TAKEN, took_over(20_000, 1, 2), took_over(32_000)]),
    "clock ahead": (
        [*WORK, END, request(12_101 + AHEAD_MS, 2)], [took_over(12_000 + AHEAD_MS)],
        [fetch(1, (2, 1), offset_ms=AHEAD_MS)],
    ),
}  # fmt: skip

NONE = {  # the same, of what is no disconnect
    "old leader lives": (
        [*served(0, 10_500, every=1_500), *(alive(ms) for ms in range(0, 20_000, 500)), request(15_001, 2)],
        TAKEN,
    ),
    # The client learns of the move from METADATA and never asks the old leader again.
    "planned": ([*served(0, 11_900), alive(11_990), lookup(12_020), FOUND, alive(12_400)], TAKEN),
    "its log ends early": ([*DEAD, *(follows(ms) for ms in range(3_500, 20_000, 500))], TAKEN),
    "lived shortly before": ([*served(0, 10_200), alive(10_500), request(15_001, 2)], TAKEN),
    "lived just behind": ([*DEAD, alive(12_500)], TAKEN),
    "idle before it died": ([*WORK, alive(8_000), request(17_101, 2)], [took_over(17_000)]),
    "seldom sends": ([*served(0, 5_000, every=5_000), alive(5_400), request(14_001, 2)], [took_over(13_500)]),
    "sent once": ([request(3_000, 1), END, FOUND], TAKEN),
    "refused": ([*WORK, request(3_200, 1, 6), END, FOUND], TAKEN),
    "back and refuses": ([*WORK, END, *BACK, REFUSED, request(33_001, 2)], TAKEN),
    "back and leads": ([*WORK, END, *served(33_001, 35_001)], [*TAKEN, took_over(33_000, 1, 2)]),
    "nobody took over": (DEAD, [began(12_000, 2), took_over(12_000, 2, 2)]),
    "before the takeover": ([*DEAD, request(11_001, 3)], TAKEN),
    "too late": ([*WORK, END, request(63_101, 2)], TAKEN),
    "another partition": (DEAD, [took_over(12_000, partition_index=1)]),
    "another leader": (DEAD, [took_over(12_000, 2, 3)]),
}  # fmt: skip


def in_clusters(cases):
    """Put each case into a cluster of its own; all are built at once, since a build takes long."""
    frames = ([], [], [])
    for name, case in cases.items():
        for rows, told in zip(frames, case, strict=False):
            rows += [row | {"cluster": name} for row in told]
    return frames


@pytest.fixture(scope="module")
def found():
    cases = CASES | NONE
    events = {name: [] for name in cases}
    for row in built(*in_clusters(cases), topics=KNOWN):
        if row.kind == DISCONNECT:
            events[row.cluster].append(row)
    return events


def test_a_client_at_work_loses_a_leader_that_dies(found):
    (row,) = found["dead"]

    assert (row.kind, row.topic, row.partition, row.client_id, row.api) == (
        "disconnect",
        "t",
        0,
        "c",
        "PRODUCE",
    )
    assert (row.old_leader_id, row.new_leader_id, row.connection) == (1, 2, None)
    assert (row.errored_at - row.window_start) / MS == 3_000.0
    assert (row.redirect_ms, row.client_part_ms, row.broker_part_ms) == (9_101.0, 9_100.0, 1.0)
    assert (row.error_code, row.hinted, row.leader_epoch, row.moved_by) == (None,) * 4
    assert (row.errors_at_old_leader, row.errors_at_new_leader, row.metadata_requests) == (0, 0, 0)
    assert (row.leads_from - row.errored_at) / MS == 9_000.0


def test_successor_that_is_not_ready_is_the_brokers_part(found):
    (row,) = found["not ready"]

    assert (row.client_part_ms, row.broker_part_ms, row.not_ready_ms) == (9_010.0, 91.0, 40.0)
    assert (row.errors_at_new_leader, row.metadata_requests) == (1, 2)


@pytest.mark.parametrize("name", ["consumer", "by id", "sent again", "back after"])
def test_consumers_ids_lines_sent_again_and_a_later_return_change_nothing(found, name):
    (row,), (once,) = found[name], found["dead"]
    told = {"cluster": None, "api": None}

    assert vars(row) | told == vars(once) | told


def test_each_client_and_partition_is_an_event(found):
    events = [(row.client_id, row.partition, row.redirect_ms) for row in found["many"]]

    assert sorted(events) == [("c", 0, 9_101.0), ("c", 1, 9_550.0), ("d", 0, 9_550.0), ("d", 1, 9_550.0)]


def test_whoever_serves_first_ends_it(found):
    """The successor died too, before this client had found it."""
    (row,) = found["chain"]

    assert (row.old_leader_id, row.new_leader_id, row.redirect_ms) == (1, 3, 21_101.0)


def test_old_leader_may_be_back_before_its_client_knows(found):
    """A host that restarts resets the connection that its client still waits on."""
    (row,) = found["back before"]

    assert row.redirect_ms == 30_001.0


def test_leader_that_dies_twice_is_lost_twice(found):
    assert [row.redirect_ms for row in found["dies twice"]] == [9_101.0, 10_001.0]


def test_clock_of_the_successor_is_put_right(found):
    (row,) = found["clock ahead"]

    assert (row.redirect_ms, row.clock_bound_ms) == (pytest.approx(9_101.0, abs=0.51), pytest.approx(1.0))


@pytest.mark.parametrize("name", NONE)
def test_what_is_no_disconnect_gives_no_row(found, name):
    assert found[name] == []
