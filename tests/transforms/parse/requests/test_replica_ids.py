"""Which fetches are a follower's or a controller's: a client can send a replica id too."""

import pytest

from tests.transforms.parse.records import COMPLETED, line, record
from transforms.parse.requests import parse
from transforms.parse.requests.identities import Identities

RAFT_ID = "AAAAAAAAAAAAAAAAAAAAAQ"


def request(value, *identities):
    (row,) = parse(record(value), *identities).rows["requests"]
    return row


def asks(topic):
    return [{**topic, "partitions": [{"partition": 0, "fetchOffset": 5}]}]


KINDS = {
    "v18 replica": (line(), "follower", 2),
    "v18 no replica": (line(**{"request.replicaState": ...}), "consumer", None),
    "v18 raft": (line(**{"request.topics": asks({"topicId": RAFT_ID})}), "raft", 2),
    "v12 raft, by name": (
        line(**{"requestHeader.requestApiVersion": 12, "request.replicaState": ..., "request.replicaId": 3,
                "request.topics": asks({"topic": "__cluster_metadata"})}), "raft", 3,
    ),
    "v14 consumer": (
        line(**{"requestHeader.requestApiVersion": 14, "request.replicaState": ..., "request.replicaId": -1}),
        "consumer", None,
    ),
    "v14 follower": (
        line(**{"requestHeader.requestApiVersion": 14, "request.replicaState": ..., "request.replicaId": 0}),
        "follower", 0,
    ),
    "v6 without sessions": (
        line(**{"requestHeader.requestApiVersion": 6, "request.replicaState": ..., "request.replicaId": -1,
                "request.sessionId": ..., "request.sessionEpoch": ...}), "consumer", None,
    ),
    "a user reads the metadata topic": (
        line(**{"request.replicaState": ..., "request.topics": asks({"topicId": RAFT_ID})}), "consumer", None,
    ),
    "a consumer that calls itself a fetcher": (
        line(**{"request.replicaState": ..., "requestHeader.clientId": "broker-2-fetcher-0"}),
        "consumer",
        None,
    ),
    "a KRaft node that asks itself": (
        line(**{"request.replicaState.replicaId": 1, "request.topics": asks({"topicId": RAFT_ID})}),
        "raft", 1,
    ),
    "sessionless and empty": (line(**{"request.sessionEpoch": -1}), "follower", 2),
    "request not logged": (line(request=""), None, None),
    "request not logged, 4.4": (line(request=None), None, None),
    "another API": (line(**{"requestHeader.requestApiKeyName": "HEARTBEAT"}), "other", None),
}  # fmt: skip


@pytest.mark.parametrize("name", KINDS)
def test_replica_id_and_topic_decide_the_kind_of_a_fetch(name):
    value, kind, follower_id = KINDS[name]
    row = request(value)

    assert (row.kind, row.follower_id) == (kind, follower_id)


def fetch_of(*codes, session_id=9, topic="t", **changes):
    """Return a fetch with the id of a replica; `codes` are the errors of its partitions, None: unanswered."""
    asked = [{"partition": n, "fetchOffset": 5} for n in range(len(codes))]
    answered = [
        {"partitionIndex": n, "errorCode": code, "highWatermark": 7}
        for n, code in enumerate(codes)
        if code is not None
    ]
    return line(**{
        "request.topics": [{"topicId": topic, "partitions": asked}] if asked else [],
        "response.responses": [{"topicId": topic, "partitions": answered}] if answered else [],
        "response.sessionId": session_id,
    } | changes)  # fmt: skip


FOLLOWERS = {
    "a session without changes": fetch_of(),
    "no session, as the cache is full": fetch_of(0, session_id=0),
    "a leader that has moved": fetch_of(6),
    "a deleted topic and a partition that has not changed": fetch_of(100, None),
    "a response that was not logged": fetch_of(0, response=""),
}


@pytest.mark.parametrize("name", FOLLOWERS)
def test_a_follower_is_one_whatever_becomes_of_its_partitions(name):
    row = request(FOLLOWERS[name])

    assert (row.kind, row.follower_id) == ("follower", 2)


NOT_FOLLOWERS = {
    "refused for its partitions": (fetch_of(29, 29), Identities()),
    "refused for topics that do not exist": (fetch_of(29, 100), Identities()),
    "of no partition, without a session": (fetch_of(session_id=0), Identities()),
    "another listener": (COMPLETED, Identities(follower_listeners=("REPLICATION",))),
    "another principal": (COMPLETED, Identities(follower_principals=("User:broker",))),
    "another listener, with the metadata topic as a further one": (
        line(**{"request.topics": [*asks({"topicId": RAFT_ID}), *asks({"topicId": "t"})]}),
        Identities(follower_listeners=("REPLICATION",)),
    ),
}


@pytest.mark.parametrize("name", NOT_FOLLOWERS)
def test_a_fetch_with_a_replica_id_that_is_no_followers_is_another_request(name):
    value, identities = NOT_FOLLOWERS[name]
    row = request(value, identities)

    assert (row.kind, row.follower_id, row.replica_epoch) == ("other", None, None)


NO_RAFT = {
    "without the right to ClusterAction": (fetch_of(29, topic=RAFT_ID), Identities()),
    "of a broker, which does not know the id": (fetch_of(100, topic=RAFT_ID), Identities()),
    "of a broker, which does not know the name": (
        fetch_of(3, topic=None, **{
            "request.topics": asks({"topic": "__cluster_metadata"}),
            "response.responses": [
                {"topic": "__cluster_metadata", "partitions": [{"partitionIndex": 0, "errorCode": 3}]}
            ],
        }), Identities(),
    ),
    "over another listener": (
        fetch_of(0, topic=RAFT_ID), Identities(controller_listeners=("CONTROLLER",)),
    ),
    "of another principal": (
        fetch_of(0, topic=RAFT_ID), Identities(follower_principals=("User:broker",)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", NO_RAFT)
def test_a_fetch_of_the_metadata_topic_that_no_controller_served_is_another_request(name):
    value, identities = NO_RAFT[name]
    row = request(value, identities)

    assert (row.kind, row.follower_id, row.replica_epoch) == ("other", None, None)


@pytest.mark.parametrize("code", [0, 6, 74, None])
def test_a_fetch_that_a_controller_answered_is_raft_whatever_the_listeners_of_the_brokers_are(code):
    """`controller.listener.names` has no listener of the brokers."""
    value = fetch_of(code, topic=RAFT_ID, session_id=0, listener="CONTROLLER")
    brokers = Identities(follower_listeners=("REPLICATION",))
    named = Identities(controller_listeners=("CONTROLLER",), follower_principals=("User:ANONYMOUS",))

    rows = [request(value, each) for each in (brokers, named)]

    assert {(row.kind, row.follower_id) for row in rows} == {("raft", 2)}


def test_a_fetch_over_the_listener_and_of_the_principal_of_brokers_is_a_followers():
    named = Identities(follower_listeners=("PEER2",), follower_principals=("User:ANONYMOUS",))
    row = request(COMPLETED, named)

    assert (row.kind, row.follower_id) == ("follower", 2)
