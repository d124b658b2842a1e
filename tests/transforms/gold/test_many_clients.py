"""A client that makes a new client id, or a new topic, for each request fills no table of gold."""

from collections import Counter

import pytest

from schemas.gold.fetch_latency import FETCH_LATENCY
from schemas.gold.leader_redirect import DISCONNECT
from schemas.silver.client_events import CLIENT_EVENTS
from schemas.silver.requests import REQUESTS
from tests.transforms.gold import held_rows, lookup_rows, redirect_rows, skew_rows
from tests.transforms.gold.silver_rows import built, objects, request
from transforms.gold import clients, unanswered
from transforms.gold.clients import OTHERS
from transforms.gold.fetch_latency.build import BUILD as FETCHES
from transforms.gold.metadata_lookup import table as metadata_table
from transforms.hashes import xxhash64

MOST = 5
FORGED = 40


@pytest.fixture(autouse=True)
def _few(monkeypatch):
    """Limit a window to few clients; the rule is the same for a thousand."""
    monkeypatch.setattr(clients, "MOST_CLIENTS", MOST)
    monkeypatch.setattr(unanswered, "MOST_UNANSWERED", MOST)


def consumers():
    """Return three fetches of each of `MOST` consumers, and one of each of the forged ids."""
    names = [f"app-{n}" for n in range(MOST)] * 3 + [f"forged-{n}" for n in range(FORGED)]
    return [
        request(1 + n / 100, correlation_id=n, kind="consumer", follower=None, client_id=name, total_ms=2.0)
        for n, name in enumerate(names)
    ]


def fetch_gold(requests):
    return built(FETCHES, {REQUESTS: requests, CLIENT_EVENTS: []})[FETCH_LATENCY]


def test_fetches_of_the_clients_beyond_the_most_frequent_are_those_of_others():
    counted = {row.client_id: row.n for row in fetch_gold(consumers())}

    assert counted == {**{f"app-{n}": 3 for n in range(MOST)}, OTHERS: FORGED}


def test_replica_ids_of_fetches_of_the_metadata_topic_are_limited_too():
    """One client id can send a replica id of its own with each request."""
    ids = [*sorted([1, 2, 3] * 3), *range(100, 100 + FORGED)]
    fetches = [
        request(1 + n / 100, correlation_id=n, kind="raft", follower=id_, leader=9, client_id="raft-client")
        for n, id_ in enumerate(ids)
    ]

    counted = {(row.client_id, row.follower_id): row.n for row in fetch_gold(fetches)}

    assert [counted.get(("raft-client", id_)) for id_ in (1, 2, 3)] == [3, 3, 3]
    assert (len(counted), counted[OTHERS, None]) == (MOST + 1, FORGED - (MOST - 3))


def test_followers_keep_their_names():
    ids = range(2, 2 + 2 * MOST)
    followers = [request(1 + n / 10, follower=n, correlation_id=n) for n in ids]

    rows = fetch_gold([*followers, *consumers()])

    assert {row.client_id for row in rows if row.kind == "follower"} == {f"broker-{n}-fetcher-0" for n in ids}


def test_lookups_of_forged_ids_and_of_forged_versions_are_those_of_others():
    lookups = [lookup_rows.lookup(n / 100, ["t"], client=f"app-{n % 2}") for n in range(10)]
    lookups += [lookup_rows.lookup(1 + n / 100, ["t"], client=f"forged-{n}") for n in range(FORGED)]
    lookups += [
        lookup_rows.lookup(2 + n / 100, ["t"], client="app-0", software_version=f"v{n}")
        for n in range(FORGED)
    ]

    rows = objects(lookup_rows.gold(lookup_rows.silver(lookups)))

    counted = Counter({(row.client_id, row.software_version): row.lookups for row in rows})
    assert (counted["app-0", "3.9.1"], counted["app-1", "3.9.1"]) == (5, 5)
    assert len(counted) == MOST + 1
    assert counted[OTHERS, None] == 2 * FORGED - (MOST - 2)


def test_topics_of_a_lookup_and_of_a_client_are_limited_and_all_are_counted(monkeypatch):
    monkeypatch.setattr(metadata_table, "MOST_TOPICS", 7)
    names = [lookup_rows.names(*range(first, first + 50)) for first in (0, 50)]
    lookups = [lookup_rows.lookup(n, topics) for n, topics in enumerate(names)]
    one, both = (objects(lookup_rows.gold(lookup_rows.silver(rows))) for rows in (lookups[:1], lookups))

    assert (one[0].topics_asked, set(one[0].topics)) == (50, {xxhash64(name) for name in names[0][:7]})
    assert (both[0].topics_asked, len(both[0].topics)) == (100, 7)


def test_batches_of_forged_ids_are_those_of_others():
    ids = ["app-0"] * 2 + [f"forged-{n}" for n in range(FORGED)]
    rows = skew_rows.skew(
        [skew_rows.produce(n / 100, 0, n, 100, client_id=name) for n, name in enumerate(ids)]
    )

    assert {row.client_id for row in rows} > {"app-0", OTHERS}
    assert (len(rows), sum(row.batches for row in rows)) == (MOST + 1, 2 + FORGED)


def test_redirects_of_forged_ids_are_a_few_of_others():
    """Each id is refused once by the old leader; the client with two tries is known by its name."""
    refused = [redirect_rows.request(100 + n, 1, 6, client_id=f"forged-{n}") for n in range(FORGED)]
    rows = redirect_rows.built([*redirect_rows.MOVE, *refused])

    counted = Counter(row.client_id for row in rows)
    assert counted["c"] == 1
    assert len(counted) == MOST + 1
    assert sum(counted.values()) <= 2 * MOST


def test_disconnects_of_forged_ids_are_a_few_of_others():
    """Each id sends two lines to a leader that then dies; the client with most lines is known by its name."""
    lines = [redirect_rows.request(ms, 1) for ms in range(0, 3_001, 500)]
    names = [f"forged-{n}" for n in range(FORGED)]
    lines += [redirect_rows.request(ms, 1, client_id=name) for ms in (2_500, 3_000) for name in names]
    lines += [redirect_rows.request(12_101, 2, client_id=name) for name in ("c", *names)]
    lines = [line | {"position": f"{line['position']}/{line['client_id']}"} for line in lines]

    rows = redirect_rows.built(lines, [redirect_rows.began(12_000, 2, previous_leader_id=1)])

    counted = Counter(row.client_id for row in rows)
    assert {row.kind for row in rows} == {DISCONNECT}
    assert counted["c"] == 1
    assert OTHERS in counted
    assert len(counted) == MOST + 1
    assert sum(counted.values()) <= 2 * MOST


UNANSWERED = {"error_code": None, "offset": None}
"""A partition of a request with acks=0: the broker's log is the same if it refused it."""


def invented(n, **fields):
    return {"topic_id": None, "topic_name": f"invented-{n}"} | UNANSWERED | fields


def test_batches_to_invented_topics_are_those_of_others():
    """One request with acks=0 names them all; the topics that are produced to most keep their names."""
    parts = [invented(n, partition=n, bytes=70) for n in range(FORGED)]
    hostile = skew_rows.produce(1, 0, 0, 70, client_id="mallory", partitions=parts)
    sent = [skew_rows.produce(2 + n / 10, n % 2, 0, 100, part=UNANSWERED) for n in range(4)]
    answered = [skew_rows.produce(3, 5, 0, 100)]

    rows = skew_rows.skew([hostile, *sent, *answered])

    counted = {(row.client_id, row.topic, row.partition): row.batches for row in rows}
    assert [counted["c", "orders", partition] for partition in (0, 1, 5)] == [2, 2, 1]
    assert counted["mallory", OTHERS, None] == FORGED - (MOST - 2)
    assert len(rows) == MOST + 2
    assert sum(row.bytes for row in rows) == 70 * FORGED + 500


def test_a_request_that_the_broker_refused_names_no_topic():
    """Error 29 says nothing about the topic; error 19 says that it exists."""
    refused = [
        held_rows.produce(n, n + 0.5, parts=[held_rows.part(-1) | invented(n, error_code=29)], remote_ms=0.0)
        for n in range(FORGED)
    ]
    real = held_rows.produce(90.0, 90.5, parts=[held_rows.part(-1, error_code=19)])
    mixed = [held_rows.part(10), held_rows.part(-1) | invented("a", error_code=3)]

    rows = objects(
        held_rows.gold([*refused, real, held_rows.produce(95.0, 95.5, parts=mixed, remote_ms=0.0)])
    )

    assert {(row.topic, row.n, row.n_failed) for row in rows} == {(OTHERS, FORGED, 0), ("orders", 2, 1)}


def test_requests_without_a_response_name_a_few_topics_and_all_are_counted():
    names = [0, 0, *range(FORGED)]
    lines = [
        held_rows.produce(at, at + 0.5, parts=[held_rows.part(-1) | invented(n)], remote_ms=0.0)
        for at, n in enumerate(names)
    ]

    counted = {row.topic: row.n for row in objects(held_rows.gold(lines))}

    assert (counted["invented-0"], counted[OTHERS]) == (3, FORGED - MOST)
    assert (len(counted), sum(counted.values())) == (MOST + 1, len(names))


def all_gold():
    """Return the rows of each table with clients, of as many clients as are named."""
    names = [f"app-{n}" for n in range(MOST)]
    lookups = [lookup_rows.lookup(n, ["t"], client=name) for n, name in enumerate(names)]
    sent = [skew_rows.produce(n, 0, n, 100, client_id=name) for n, name in enumerate(names)]
    moved = [row | {"client_id": name} for name in names for row in redirect_rows.MOVE]
    moved = [row | {"position": f"{row['position']}/{row['client_id']}"} for row in moved]
    fetched = [row for n, row in enumerate(consumers()) if n < 3 * MOST]
    return (
        fetch_gold(fetched),
        objects(lookup_rows.gold(lookup_rows.silver(lookups))),
        skew_rows.skew(sent),
        redirect_rows.built(moved),
        skew_rows.skew([skew_rows.produce(n, n, n, 100, part=UNANSWERED) for n in range(MOST)]),
    )


def test_up_to_the_limit_gold_is_the_same_row_for_row(monkeypatch):
    limited = all_gold()
    monkeypatch.setattr(clients, "MOST_CLIENTS", 10**9)
    monkeypatch.setattr(unanswered, "MOST_UNANSWERED", 10**9)

    assert limited == all_gold()
    assert all(limited)
