"""Request lines, mostly of running brokers."""

from datetime import UTC, datetime

import pytest

from tests.transforms.parse.records import COMPLETED, REQUEST_LINES, line, record
from transforms.parse.record import PARSER_VERSION, Kept, Skipped
from transforms.parse.requests import parse
from transforms.parse.requests.documents import OtherDocument, RequestDocument
from transforms.parse.requests.identities import Identities

OUTCOMES = {name: parse(record(value, position=name)) for name, value in REQUEST_LINES.items()}
REQUESTS = {name: one.rows["requests"][0] for name, one in OUTCOMES.items() if isinstance(one, Kept)}
TOPICS = [row for one in OUTCOMES.values() if isinstance(one, Kept) for row in one.rows.get("topics", ())]


def request(value, **fields):
    (row,) = parse(record(value, **fields)).rows["requests"]
    return row


def test_every_completed_request_of_a_real_broker_is_kept_and_every_other_line_is_skipped():
    expected = {name: Skipped if name.startswith("TRACE_") else Kept for name in REQUEST_LINES}

    assert {name: type(one) for name, one in OUTCOMES.items()} == expected
    assert {one for one in OUTCOMES.values() if isinstance(one, Skipped)} == {
        Skipped("other_logger", "kafka.network.RequestChannel$")
    }


def test_all_columns_of_a_follower_s_fetch_are_parsed():
    started_at = datetime(2026, 11, 21, 9, 19, 28, 487187, tzinfo=UTC)  # 500.529 ms before

    assert REQUESTS["FETCH_follower"]._asdict() == {
        "cluster": "lab",
        "broker_id": 1,
        "logged_at": 1_795_252_768_987_716,
        "logged_mono_ns": 2929988848476,
        "clock_resolution_ms": 1e-6,
        "logged_date": 20_778,
        "started_at": round(started_at.timestamp() * 1e6),
        "api": "FETCH",
        "api_version": 18,
        "client_id": "broker-2-fetcher-0",
        "correlation_id": 75354,
        "connection": "127.0.0.1:21012-127.0.0.1:36762-4-0",
        "session_id": 254946946,
        "session_epoch": 75354,
        "response_session_id": 254946946,
        "listener": "PEER2",
        "kind": "follower",
        "follower_id": 2,
        "replica_epoch": 16,
        "software_name": None,
        "software_version": None,
        "principal": "User:ANONYMOUS",
        "is_forwarded": False,
        "total_ms": 500.529,
        "request_queue_ms": 0.085,
        "local_ms": 0.529,
        "remote_ms": 499.738,
        "response_queue_ms": 0.09,
        "send_ms": 0.084,
        "throttle_ms": 0.0,
        "error_code": 0,
        "partitions": [],
        "topics_asked": None,
        "topics_answered": None,
        "response_bytes": None,
        "is_own_traffic": False,
        "quality_flags": [],
        "node": "broker-1",
        "source": "a.log",
        "position": "FETCH_follower",
        "topic": None,
        "partition": None,
        "offset": None,
        "parser_version": PARSER_VERSION,
    }


def test_a_row_has_the_topic_partition_and_offset_of_its_record():
    row = request(COMPLETED, topic="t", partition=3, offset=7)

    assert (row.topic, row.partition, row.offset) == ("t", 3, 7)


def test_the_topic_and_not_the_client_id_marks_a_raft_fetch():
    row = REQUESTS["FETCH_consumer"]  # The file name is wrong: this is a controller's fetch.

    assert (row.kind, row.follower_id, row.session_epoch) == ("raft", 3, -1)
    assert [(p.partition, p.bytes, p.offset, p.hinted_leader_id) for p in row.partitions] == [
        (0, 72, 7271, 1)
    ]


def test_a_consumer_s_fetch_has_bytes_errors_and_leader_hints_by_partition():
    hinted, unhinted = REQUESTS["FETCH_error_74_cons-4.3.1"], REQUESTS["FETCH_error_74_cons-3.6.0"]

    assert (hinted.kind, hinted.follower_id, hinted.replica_epoch) == ("consumer", None, None)
    assert (hinted.software_name, hinted.software_version) == ("apache-kafka-java", "4.3.1")
    topic = "lbkW2mcMTU2a3rA6VuNANA"
    found = [(p.topic_id, *p[2:8]) for row in (hinted, unhinted) for p in row.partitions]
    assert found == [
        (topic, 3, 0, 74, 251, 2, 1),
        (topic, 3, 0, 0, 0, None, None),
        (topic, 0, 0, 74, 0, None, None),
    ]


def test_a_share_fetch_is_of_kind_share_and_its_wait_is_its_remote_time():
    """A SHARE_FETCH has no wait time of its own, no session id and no sizes in its response."""
    names = ("SHARE_FETCH_wait", "SHARE_FETCH_acknowledges", "4.4.0-SHARE_FETCH")
    rows = [REQUESTS[name] for name in names]

    assert {(row.api, row.kind, row.follower_id, row.client_id) for row in rows} == {
        ("SHARE_FETCH", "share", None, "share-app")
    }
    assert [(row.total_ms, row.remote_ms) for row in rows] == [
        (501.982, 500.249),
        (10.528, 6.13),
        (48.651, 47.105),
    ]
    assert {(row.partitions, row.session_id, row.error_code) for row in rows} == {(None, None, 0)}


def test_only_fetches_have_a_kind_of_their_own():
    kinds = {row.kind for row in REQUESTS.values() if row.api not in ("FETCH", "SHARE_FETCH")}

    assert kinds == {"other"}


def test_lines_of_kafka_4_4_are_parsed_as_those_of_4_3():
    rows = [REQUESTS[name] for name in ("4.4.0-FETCH_follower", "4.4.0-API_VERSIONS")]

    assert [(row.kind, row.api_version) for row in rows] == [("follower", 18), ("other", 5)]
    assert len(rows[0].partitions) > 0


def test_a_produce_joins_request_and_response_partitions_in_any_order():
    row = REQUESTS["example-error6-perf-4.3.1"]  # The request has 12, 15, 21, 0; the response 21, 0, 12, 15.

    found = [(p.partition, p.bytes, p.error_code, p.offset, p.hinted_leader_id) for p in row.partitions]
    assert found == [
        (21, 170, 0, 379, None),
        (0, 170, 6, -1, 2),
        (12, 170, 0, 381, None),
        (15, 170, 0, 350, None),
    ]
    assert {p.topic_id for p in row.partitions} == {"6mIsoWMRTfmFUJoSO1Ga2g"}
    assert {p.topic_name for p in row.partitions} == {None}


def test_a_produce_of_an_old_client_has_a_topic_name():
    names = {(p.topic_id, p.topic_name) for p in REQUESTS["example-error6-perf-3.6.0"].partitions}

    assert names == {(None, "redir-1795251332")}


def test_metadata_has_the_requested_topics_and_the_topic_ids_of_the_response():
    assert REQUESTS["example-METADATA-many-2.4.1"].topics_asked == [
        f"mt1795251864-2.4.1-{n}" for n in range(4)
    ]
    assert REQUESTS["METADATA"].topics_asked == []
    found = {(row.position, row.topic_name, row.topic_id, row.is_internal) for row in TOPICS}
    assert found == {
        ("CREATE_TOPICS", "__consumer_offsets", "dkEKIEtGR1ufoxtRW1_gtw", None),
        ("example-METADATA-many-3.9.1", "mt1795251864-3.9.1-13", "_ZdhSvbURhW7ZmIoFIVpAw", False),
        ("example-METADATA-many-4.3.1", "mt1795251864-4.3.1-8", "M9XisE5gS06pWLQu2TPMqw", False),
    }


def test_a_topic_has_cluster_instant_and_version():
    row = next(row for row in TOPICS if row.position == "CREATE_TOPICS")

    assert (row.cluster, row.seen_at) == ("lab", REQUESTS["CREATE_TOPICS"].logged_at)
    assert row.parser_version == PARSER_VERSION


ASKED_TOPICS = {
    "all topics": (None, 12, None),
    "all topics of version 0": ([], 0, None),
    "no topics since version 1": ([], 1, []),
    "by name, or else by id": (
        [{"name": "a"}, {"name": None, "topicId": "lbkW2mcMTU2a3rA6VuNANA"}, {"topicId": "A" * 22}],
        12,
        ["a", "lbkW2mcMTU2a3rA6VuNANA", None],
    ),
}


@pytest.mark.parametrize("name", ASKED_TOPICS)
def test_the_requested_topics_of_metadata(name):
    topics, version, expected = ASKED_TOPICS[name]
    header = {"requestHeader.requestApiKeyName": "METADATA", "requestHeader.requestApiVersion": version}

    assert request(line(**header, request={"topics": topics}, response=None)).topics_asked == expected


def test_an_election_has_the_partitions_of_its_response_and_a_reassignment_those_of_both_bodies():
    election = {
        "replicaElectionResults": [{"topic": "t", "partitionResult": [{"partitionId": 3, "errorCode": 84}]}]
    }
    moves = {
        "topics": [{"name": "t", "partitions": [{"partitionIndex": n, "replicas": None} for n in (1, 2)]}]
    }
    moved = {"responses": [{"name": "t", "partitions": [{"partitionIndex": 2, "errorCode": 0}]}]}
    api = "requestHeader.requestApiKeyName"
    rows = [
        request(line(**{api: "ELECT_LEADERS"}, request={"topicPartitions": None}, response=election)),
        request(line(**{api: "ELECT_LEADERS"}, request={"topicPartitions": None}, response="")),
        request(line(**{api: "ALTER_PARTITION_REASSIGNMENTS"}, request=moves, response=moved)),
    ]

    found = [
        row.partitions and [(p.topic_name, p.partition, p.error_code) for p in row.partitions] for row in rows
    ]
    assert found == [[("t", 3, 84)], None, [("t", 2, 0), ("t", 1, None)]]


def test_a_line_is_kept_although_unused_body_fields_have_other_types():
    found = {name: REQUESTS[name].error_code for name in ("API_VERSIONS", "DESCRIBE_CONFIGS", "JOIN_GROUP")}

    assert found == {"API_VERSIONS": 0, "DESCRIBE_CONFIGS": None, "JOIN_GROUP": 79}
    assert {REQUESTS[name].kind for name in found} == {"other"}


FLAGS = {
    "none": (line(), []),
    "no bodies, 4.3": (line(request="", response=""), ["no_request_body", "no_response_body"]),
    "no bodies, 4.4": (line(request=None, response=None), ["no_request_body", "no_response_body"]),
    "no bodies of another API": (
        line(**{"requestHeader.requestApiKeyName": "HEARTBEAT"}, request="", response=None),
        ["no_request_body", "no_response_body"],
    ),
    "no such keys of another API": (
        line(**{"requestHeader.requestApiKeyName": "HEARTBEAT"}, request=..., response=...), [],
    ),
    "empty bodies of another API": (
        line(**{"requestHeader.requestApiKeyName": "HEARTBEAT"}, request={}, response=[]), [],
    ),
    "parts within rounding": (line(totalTimeMs=500.531, localTimeMs=0.529), []),
    "parts too small": (line(totalTimeMs=500.533), ["parts_do_not_add_up"]),
    "parts too large": (line(totalTimeMs=500.066), ["parts_do_not_add_up"]),
}  # fmt: skip


@pytest.mark.parametrize("name", FLAGS)
def test_a_doubtful_line_is_kept_with_a_flag(name):
    value, flags = FLAGS[name]

    assert request(value).quality_flags == flags


def test_prefix_and_principal_mark_own_traffic():
    """The client id alone does not: any client can choose it."""
    watch = {"requestHeader.clientId": "watch-1", "principal": "User:plumbline"}
    values = (line(**watch), line(**watch | {"principal": "User:mallory"}), COMPLETED,
              line(**watch | {"requestHeader.clientId": None}))  # fmt: skip
    identities = Identities(own_client_prefix="watch-", own_principals=("User:plumbline",))
    rows = [parse(record(value), identities).rows["requests"][0] for value in values]

    assert [(row.is_own_traffic, row.client_id) for row in rows] == [
        (True, "watch-1"),
        (False, "watch-1"),
        (False, "broker-2-fetcher-0"),
        (None, None),
    ]


def test_without_a_setting_only_an_anonymous_client_is_taken_for_ours():
    names = {"requestHeader.clientId": "plumbline-1"}
    rows = [request(line(**names)), request(line(**names, principal="User:mallory"))]

    assert [row.is_own_traffic for row in rows] == [True, False]


def test_a_broker_in_another_zone_logs_the_same_instant():
    local = COMPLETED.replace(b"2026-11-21T09:19:28.987716710Z 2929988848476", b"[2026-11-21 10:19:28,987]")
    row = request(local, time_zone="Europe/Berlin")

    assert row.logged_at == 1_795_252_768_987_000
    assert (row.logged_mono_ns, row.clock_resolution_ms) == (None, 1.0)


def test_an_unanswered_partition_stays_visible():
    requested = [{"topicId": "t", "partitions": [{"partition": n, "fetchOffset": 10 + n} for n in range(3)]}]
    answered = [
        {
            "topicId": "t",
            "partitions": [{"partitionIndex": n, "errorCode": 0, "recordsSizeInBytes": 9} for n in (7, 1)],
        }
    ]
    rows = [
        request(line(**{"request.topics": requested, "response.responses": answered})),
        request(line(**{"request.topics": requested, "response": ""})),
    ]

    found = [[(p.partition, p.bytes, p.error_code, p.offset) for p in row.partitions] for row in rows]
    assert found == [
        [(7, 9, 0, None), (1, 9, 0, 11), (0, None, None, 10), (2, None, None, 12)],
        [(0, None, None, 10), (1, None, None, 11), (2, None, None, 12)],
    ]
    assert {p.topic_id for row in rows for p in row.partitions} == {"t"}


def test_the_most_partitions_of_a_line_are_joined_quickly():
    """The request and the response have 40,000 partitions each, and a thousand of them differ."""
    many = 40_000
    requested = [{"partition": n, "fetchOffset": n} for n in range(many)]
    answered = [
        {"partitionIndex": n, "errorCode": 0, "recordsSizeInBytes": 9} for n in range(many + 999, 999, -1)
    ]
    value = line(
        **{
            "request.topics": [{"topicId": "t", "partitions": requested}],
            "response.responses": [{"topicId": "t", "partitions": answered}],
        }
    )

    found = [(p.partition, p.bytes, p.offset) for p in request(value).partitions]
    assert found == [
        *((n, 9, n if n < many else None) for n in range(many + 999, 999, -1)),
        *((n, None, n) for n in range(1_000)),
    ]


def test_a_fetch_has_the_high_watermark_of_its_response_and_an_error_has_none():
    def watermark(**more):
        part = {"partitionIndex": 0, "errorCode": 0, "recordsSizeInBytes": 10, "highWatermark": 99} | more
        row = request(line(**{"response.responses": [{"topicId": "t", "partitions": [part]}]}))
        return row.partitions[0].high_watermark

    assert [watermark(), watermark(errorCode=6, highWatermark=-1)] == [99, None]


def test_a_fetch_of_kafka_2_8_is_parsed_with_its_own_field_names():
    requested = [{"topic": "orders", "partitions": [{"partition": 4, "fetchOffset": 7}]}]
    part = {"partition": 4, "errorCode": 0, "highWatermark": 9, "recordSetSizeInBytes": 170}
    answered = [{"topic": "orders", "partitionResponses": [part]}]
    version = {"requestHeader.requestApiVersion": 12, "request.replicaState": ..., "request.replicaId": -1}
    row = request(line(**version, **{"request.topics": requested, "response.responses": answered}))

    assert row.partitions == [(None, "orders", 4, 170, 0, 7, None, None, None)]


SKIPPED = {
    b"[2026-11-21 07:15:38,310] INFO rolled (kafka.request.logger)": "not_a_request",
    b"[2026-11-21 07:15:38,310] INFO rolled": "not_a_request",
    b"[2026-11-21 07:15:38,310] INFO x (kafka.server.KafkaApis)": "other_logger",
    b" ": "blank",
    b"\tacks = all": "continuation",
}


@pytest.mark.parametrize("value", SKIPPED)
def test_a_line_without_a_request_is_skipped_with_a_reason(value):
    assert parse(record(value)).reason == SKIPPED[value]


def test_the_documents_of_all_apis_have_their_fields_in_the_same_order():
    """The parser unpacks all fields at once, by position."""
    assert OtherDocument.__struct_fields__ == RequestDocument.__struct_fields__
