"""Request lines, real ones of running brokers first."""

from datetime import UTC, date, datetime

import pytest

from schemas.silver import QUARANTINE, REQUESTS, SKIPPED, TOPICS
from tests.transforms.parse.raw_rows import COMPLETED, DATA, line, outcomes, raw
from transforms.parse import PARSER_VERSION
from transforms.parse.request_log import kept, parse_request_log, quarantined, skipped, topics

FILES = sorted(DATA.joinpath("request-log").glob("*.txt"))


@pytest.fixture(scope="module")
def examples(spark):
    rows = [{"value": file.read_bytes().strip(), "position": file.stem} for file in FILES]
    parsed = parse_request_log(raw(spark, rows, kind="request-log")).cache()
    yield parsed
    parsed.unpersist()


@pytest.fixture(scope="module")
def requests(examples):
    return {row.position: row for row in kept(examples).collect()}


def test_every_completed_request_of_a_real_broker_is_kept_and_every_other_line_is_counted(examples):
    found = outcomes(examples)

    assert {name: outcome for name, (outcome, _) in found.items()} == {
        file.stem: "skipped" if file.stem.startswith("TRACE_") else "kept" for file in FILES
    }


def test_kept_rows_are_the_silver_table(examples):
    selected = [kept(examples), quarantined(examples), topics(examples), skipped(examples, batch_id=1)]

    tables = [REQUESTS, QUARANTINE, TOPICS, SKIPPED]
    assert [frame.schema.simpleString() for frame in selected] == [t.schema.simpleString() for t in tables]


def test_a_followers_fetch_is_read_whole(requests):
    row = requests["FETCH_follower"].asDict(recursive=True)

    assert row == {
        "cluster": "lab",
        "broker_id": 1,
        "logged_at": datetime(2026, 11, 21, 9, 19, 28, 987716),
        "logged_mono_ns": 2929988848476,
        "clock_resolution_ms": pytest.approx(1e-6),
        "logged_date": date(2026, 11, 21),
        "started_at": datetime(2026, 11, 21, 9, 19, 28, 487187),  # 500.529 ms before
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


def test_a_raft_fetch_is_told_by_its_topic_and_not_by_its_client(requests):
    row = requests["FETCH_consumer"]  # so named by whoever collected it; it is a controller's

    assert (row.kind, row.follower_id, row.session_epoch) == ("raft", 3, -1)
    assert [(p.partition, p.bytes, p.offset, p.hinted_leader_id) for p in row.partitions] == [
        (0, 72, 7271, 1)
    ]


def test_a_consumers_fetch_has_bytes_errors_and_hints_by_partition(requests):
    hinted, unhinted = requests["FETCH_error_74_cons-4.3.1"], requests["FETCH_error_74_cons-3.6.0"]

    assert (hinted.kind, hinted.follower_id, hinted.replica_epoch) == ("consumer", None, None)
    assert (hinted.software_name, hinted.software_version) == ("apache-kafka-java", "4.3.1")
    told = (
        "topic_id",
        "partition",
        "bytes",
        "error_code",
        "offset",
        "hinted_leader_id",
        "hinted_leader_epoch",
    )
    named = [tuple(p[name] for name in told) for row in (hinted, unhinted) for p in row.partitions]
    topic = "lbkW2mcMTU2a3rA6VuNANA"
    assert named == [
        (topic, 3, 0, 74, 251, 2, 1),
        (topic, 3, 0, 0, 0, None, None),
        (topic, 0, 0, 74, 0, None, None),
    ]


def test_a_produce_brings_bytes_sent_and_offsets_answered_together_in_whatever_order(requests):
    row = requests["example-error6-perf-4.3.1"]  # asked 12, 15, 21, 0; answered 21, 0, 12, 15

    found = [(p.partition, p.bytes, p.error_code, p.offset, p.hinted_leader_id) for p in row.partitions]
    assert found == [
        (21, 170, 0, 379, None),
        (0, 170, 6, -1, 2),
        (12, 170, 0, 381, None),
        (15, 170, 0, 350, None),
    ]
    assert {p.topic_id for p in row.partitions} == {"6mIsoWMRTfmFUJoSO1Ga2g"}
    assert {p.topic_name for p in row.partitions} == {None}


def test_a_produce_of_an_old_client_names_its_topic(requests):
    names = {(p.topic_id, p.topic_name) for p in requests["example-error6-perf-3.6.0"].partitions}

    assert names == {(None, "redir-1795251332")}


def test_metadata_tells_the_topics_it_asked_for_and_the_ids_it_was_told(requests, examples):
    asked = requests["example-METADATA-many-2.4.1"].topics_asked
    told = {
        (row.position, row.topic_name, row.topic_id, row.is_internal) for row in topics(examples).collect()
    }

    assert asked == [f"mt1795251864-2.4.1-{n}" for n in range(4)]
    assert requests["METADATA"].topics_asked == []
    assert told == {
        ("CREATE_TOPICS", "__consumer_offsets", "dkEKIEtGR1ufoxtRW1_gtw", None),
        ("example-METADATA-many-3.9.1", "mt1795251864-3.9.1-13", "_ZdhSvbURhW7ZmIoFIVpAw", False),
        ("example-METADATA-many-4.3.1", "mt1795251864-4.3.1-8", "M9XisE5gS06pWLQu2TPMqw", False),
    }


def test_a_body_with_other_types_than_ours_does_not_spoil_a_line(requests):
    found = {name: requests[name].error_code for name in ("API_VERSIONS", "DESCRIBE_CONFIGS", "JOIN_GROUP")}

    assert found == {"API_VERSIONS": 0, "DESCRIBE_CONFIGS": None, "JOIN_GROUP": 79}
    assert {requests[name].kind for name in found} == {"other"}


def test_lines_of_other_loggers_are_counted_by_logger(examples):
    rows = skipped(examples, batch_id=7).collect()

    assert [(r.batch_id, r.kind, r.logger, r.reason, r.lines) for r in rows] == [
        (7, "request-log", "kafka.network.RequestChannel$", "other_logger", 19)
    ]


RAFT_ID = "AAAAAAAAAAAAAAAAAAAAAQ"
REPLICA = {"replicaId": 3, "replicaEpoch": -1}


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
    "produce": (line(**{"requestHeader.requestApiKeyName": "HEARTBEAT"}), "other", None),
}  # fmt: skip

FLAGS = {
    "none": (line(), []),
    "no bodies, 4.3": (line(request="", response=""), ["no_request_body", "no_response_body"]),
    "no bodies, 4.4": (line(request=None, response=None), ["no_request_body", "no_response_body"]),
    "parts within rounding": (line(totalTimeMs=500.531, localTimeMs=0.529), []),
    "parts too small": (line(totalTimeMs=500.533), ["parts_do_not_add_up"]),
    "parts too large": (line(totalTimeMs=500.066), ["parts_do_not_add_up"]),
}


@pytest.fixture(scope="module")
def made_rows(spark):
    cases = {**KINDS, **FLAGS}
    rows = [{"value": value, "position": name} for name, (value, *_) in cases.items()]
    return {row.position: row for row in kept(parse_request_log(raw(spark, rows))).collect()}


@pytest.mark.parametrize("name", KINDS)
def test_a_fetchs_kind_is_told_by_replica_id_and_topic(made_rows, name):
    row = made_rows[name]

    assert (row.kind, row.follower_id) == KINDS[name][1:]


@pytest.mark.parametrize("name", FLAGS)
def test_a_doubtful_line_is_kept_with_a_flag(made_rows, name):
    assert made_rows[name].quality_flags == FLAGS[name][1]


def test_own_traffic_is_told_by_the_prefix_it_was_given(spark):
    mine = line(**{"requestHeader.clientId": "watch-1"})
    nobody = line(**{"requestHeader.clientId": None})
    rows = kept(
        parse_request_log(raw(spark, [mine, COMPLETED, nobody]), own_client_prefix="watch-")
    ).collect()

    assert [(r.is_own_traffic, r.client_id) for r in sorted(rows, key=lambda r: r.position)] == [
        (True, "watch-1"),
        (False, "broker-2-fetcher-0"),
        (None, None),
    ]


def test_a_broker_in_another_zone_logs_the_same_instant(spark):
    local = COMPLETED.replace(b"2026-11-21T09:19:28.987716710Z 2929988848476", b"[2026-11-21 10:19:28,987]")
    row = kept(parse_request_log(raw(spark, [local], time_zone="Europe/Berlin"))).first()

    assert row.logged_at.replace(tzinfo=UTC) == datetime(2026, 11, 21, 9, 19, 28, 987000, tzinfo=UTC)
    assert (row.logged_mono_ns, row.clock_resolution_ms) == (None, 1.0)


def test_a_partition_asked_for_and_not_answered_stays_visible(spark):
    asked = [{"topicId": "t", "partitions": [{"partition": n, "fetchOffset": 10 + n} for n in range(3)]}]
    answered = [
        {
            "topicId": "t",
            "partitions": [{"partitionIndex": n, "errorCode": 0, "recordsSizeInBytes": 9} for n in (7, 1)],
        }
    ]
    values = [
        line(**{"request.topics": asked, "response.responses": answered}),
        line(**{"request.topics": asked, "response": ""}),
    ]
    rows = sorted(kept(parse_request_log(raw(spark, values))).collect(), key=lambda row: row.position)

    found = [[(p.partition, p.bytes, p.error_code, p.offset) for p in row.partitions] for row in rows]
    assert found == [
        [(7, 9, 0, None), (1, 9, 0, 11), (0, None, None, 10), (2, None, None, 12)],
        [(0, None, None, 10), (1, None, None, 11), (2, None, None, 12)],
    ]


def test_as_many_partitions_as_a_line_can_name_are_joined_before_anyone_waits(spark):
    """40,000 asked for and answered, a thousand of them not the same: each with each takes a minute."""
    many = 40_000
    asked = [{"partition": n, "fetchOffset": n} for n in range(many)]
    answered = [
        {"partitionIndex": n, "errorCode": 0, "recordsSizeInBytes": 9} for n in range(many + 999, 999, -1)
    ]
    value = line(
        **{
            "request.topics": [{"topicId": "t", "partitions": asked}],
            "response.responses": [{"topicId": "t", "partitions": answered}],
        }
    )
    (row,) = kept(parse_request_log(raw(spark, [value]))).select("partitions").collect()

    found = [(p.partition, p.bytes, p.offset) for p in row.partitions]
    assert found == [
        *((n, 9, n if n < many else None) for n in range(many + 999, 999, -1)),
        *((n, None, n) for n in range(1_000)),
    ]


def test_lines_that_hold_no_request_are_skipped_with_a_reason(spark):
    rows = {
        "ours": b"[2026-11-21 07:15:38,310] INFO rolled (kafka.request.logger)",
        "no logger": b"[2026-11-21 07:15:38,310] INFO rolled",
        "other": b"[2026-11-21 07:15:38,310] INFO x (kafka.server.KafkaApis)",
        "blank": b" ",
    }
    parsed = parse_request_log(raw(spark, [{"value": v, "position": name} for name, v in rows.items()]))

    assert outcomes(parsed) == {
        "ours": ("skipped", "not_a_request"),
        "no logger": ("skipped", "not_a_request"),
        "other": ("skipped", "other_logger"),
        "blank": ("skipped", "blank"),
    }


def test_no_rows_give_no_rows(spark):
    parsed = parse_request_log(raw(spark, [COMPLETED]).limit(0))

    assert [frame.count() for frame in (kept(parsed), quarantined(parsed), topics(parsed))] == [0, 0, 0]
