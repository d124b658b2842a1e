"""A client that fetches with the id of a replica is no follower in gold."""

from collections import Counter

import pytest

from schemas.gold.broker_rtt import BROKER_RTT
from schemas.gold.fetch_latency import FETCH_LATENCY
from schemas.gold.leader_redirect import DISCONNECT
from schemas.silver.client_events import CLIENT_EVENTS
from schemas.silver.listeners import CLIENT, FOLLOWER, LISTENERS
from schemas.silver.requests import REQUESTS
from tests.transforms.gold import held_rows, redirect_rows
from tests.transforms.gold.silver_rows import at, built, objects, replaced, request, stream_of, whole
from transforms.gold.fetch_latency.build import BUILD
from transforms.gold.produce_held.held import load_held
from transforms.sql import connect

PEER, PUBLIC = "PEER", "CLIENT"


def listeners(*roles, day=None):
    """Return rows of `listeners`; each role is (listener, role)."""
    day = day or at(0).date()
    return [{"cluster": "lab", "listener": name, "role": role, "logged_date": day} for name, role in roles]


BOTH = listeners((PEER, FOLLOWER), (PUBLIC, CLIENT), (PUBLIC, FOLLOWER))
"""Brokers replicate over PEER; over CLIENT, clients send requests, and one has sent a replica id."""


def stream(**changes):
    """Return fetches of follower 2 from leader 1."""
    rows, _ = stream_of(18)
    return [replaced(REQUESTS, row, **changes) for row in rows]


REAL = stream(listener=PEER)
HOSTILE = stream(listener=PUBLIC, connection="mallory", client_id="mallory", total_ms=400.0)


def fetch_gold(requests, roles):
    return built(BUILD, {REQUESTS: requests, CLIENT_EVENTS: [], LISTENERS: roles})


def test_over_the_listener_of_clients_it_appears_in_no_round_trip_and_no_latency():
    with_it, without = (fetch_gold(rows, BOTH) for rows in ([*REAL, *HOSTILE], REAL))

    assert with_it[BROKER_RTT] == without[BROKER_RTT] != []
    assert with_it[FETCH_LATENCY] == without[FETCH_LATENCY] != []


ONE_LISTENER = listeners((PUBLIC, FOLLOWER), (PUBLIC, CLIENT))
YESTERDAY = listeners((PEER, FOLLOWER), (PUBLIC, CLIENT), (PUBLIC, FOLLOWER), day=at(-86_400).date())


@pytest.mark.parametrize("roles", [[], ONE_LISTENER, YESTERDAY, listeners((PUBLIC, FOLLOWER))])
def test_where_no_other_listener_serves_followers_alone_that_day_all_count(roles):
    """One listener for all, or a cluster that moves to another one: the followers must not get lost."""
    assert sum(row.n for row in fetch_gold(HOSTILE, roles)[FETCH_LATENCY]) == len(HOSTILE)


def test_a_line_without_a_listener_counts():
    assert sum(row.n for row in fetch_gold(stream(listener=None), BOTH)[FETCH_LATENCY]) == 18


def test_a_fetch_that_the_leader_refused_does_not_count_and_one_without_a_code_does():
    followers = [request(n, correlation_id=n, error_code=code) for n, code in ((1, 0), (2, 71), (3, None))]
    consumer = request(1, kind="consumer", error_code=71)

    assert sum(row.n for row in fetch_gold(followers, [])[FETCH_LATENCY]) == 2
    assert sum(row.n for row in fetch_gold([consumer], [])[FETCH_LATENCY]) == 1


def raft(listener, *, ids=range(100, 103), **changes):
    """Return fetches of the metadata topic, each with another replica id."""
    return [
        request(1 + n / 100, kind="raft", follower=n, correlation_id=n, listener=listener, **changes)
        for n in ids
    ]


CONTROLLERS = "CONTROLLER"


def test_a_fetch_of_the_metadata_topic_counts_over_a_listener_without_clients_alone():
    rows = [*REAL, *raft(CONTROLLERS), *raft(PUBLIC, ids=range(200, 203), client_id="mallory")]

    kinds = Counter(row.kind for row in fetch_gold(rows, BOTH)[FETCH_LATENCY])

    assert kinds["raft"] == len(raft(CONTROLLERS))
    assert Counter(row.kind for row in fetch_gold(rows, YESTERDAY)[FETCH_LATENCY])["raft"] == 6


@pytest.mark.parametrize(("code", "counted"), [(0, 3), (None, 3), (31, 0), (104, 0)])
def test_a_fetch_of_the_metadata_topic_that_the_controller_refused_does_not_count(code, counted):
    rows = fetch_gold(raft(CONTROLLERS, error_code=code), BOTH)[FETCH_LATENCY]

    assert sum(row.n for row in rows) == counted


@pytest.mark.parametrize(("code", "kinds"), [(70, [DISCONNECT]), (0, [])])
def test_a_fetch_that_was_refused_is_no_sign_of_life(code, kinds):
    """A client that sends the id of a dead broker with an unknown session gets error 70."""
    lines = [redirect_rows.request(ms, 1) for ms in range(0, 3_001, 500)]
    lines.append(redirect_rows.request(12_101, 2))
    fetch = {"api": "FETCH", "kind": "follower", "follower_id": 1, "client_id": "mallory", "error_code": code}
    lines += [redirect_rows.request(ms, 2, partitions=None, **fetch) for ms in range(10_500, 13_500, 500)]

    rows = redirect_rows.built(lines, [redirect_rows.began(12_000, 2, previous_leader_id=1)])

    assert [row.kind for row in rows] == kinds


def held(lines, isr=()):
    silver = held_rows.silver(lines, isr=isr)
    day = held_rows.AT.date()
    roles = listeners((PEER, FOLLOWER), (PUBLIC, CLIENT), (PUBLIC, FOLLOWER), day=day)
    with connect({}) as db:
        load_held(db, whole({**silver, LISTENERS: roles}))
        return objects(db.sql("FROM held ORDER BY logged_us").to_arrow_table())


def test_it_holds_no_produce_request_back():
    fast, slow = (held_rows.replicated(id_, ms) for id_, ms in ((2, 3.2), (3, 11.2)))
    day = {"logged_date": held_rows.AT.date()}
    real = [row | day | {"listener": PEER} for row in (*fast, slow[0])]
    forged = [row | day | {"listener": PUBLIC} for row in slow[1:]]
    produce = held_rows.produce(0.0, 11.5)

    (found,) = held([*real, *forged, produce])

    assert (found.outcome, found.follower_id) == ("unmatched", None)


def test_an_isr_change_that_the_controller_refused_explains_no_wait():
    change = {"cluster": "lab", "leader_id": 1, "topic_id": held_rows.TOPIC_ID, "partition_index": 0}
    change |= {"logged_at": held_rows.at(11.5)}
    outcomes = [
        held([held_rows.produce(0.0, 11.5)], isr=[change | {"error_code": code}])[0].outcome
        for code in (0, 31)
    ]

    assert outcomes == ["isr_change", "unmatched"]
