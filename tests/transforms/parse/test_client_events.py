"""NetworkClient lines, mostly of a broker's replica fetchers."""

import re
from datetime import UTC, datetime

import pytest

from schemas.silver.client_events import CLIENT_EVENTS
from tests.transforms.parse.any_bytes import check, took_s, with_any_bytes
from tests.transforms.parse.records import CLIENT_LINES, record
from transforms.parse import client_events
from transforms.parse.client_events import ClientEvent, parse
from transforms.parse.line import OUR_LOGGERS
from transforms.parse.record import DAY_US, PARSER_VERSION, Kept, Quarantined, Skipped

RECEIVED, SENT = CLIENT_LINES[:2]
LOGGER = b" (org.apache.kafka.clients.NetworkClient)"


def message(text, stamp=b"2026-11-21T08:40:46.122384288Z 607123518419 DEBUG "):
    return stamp + text + LOGGER


def header(api=b"FETCH", client=b"perf", correlation=b"7"):
    return (b"RequestHeader(apiKey=" + api + b", apiVersion=12, clientId=" + client + b", correlationId="
            + correlation + b", headerVersion=2)")  # fmt: skip


def event(value, **fields):
    """Return the row of a kept line."""
    (row,) = parse(record(value, **fields)).rows["client_events"]
    return row


def test_a_row_has_the_columns_of_the_table_in_order():
    assert ClientEvent._fields == tuple(CLIENT_EVENTS.schema.names)


def test_all_columns_of_a_replica_fetcher_s_request_are_parsed():
    at_us = int(datetime(2026, 11, 21, 8, 40, 46, tzinfo=UTC).timestamp()) * 1_000_000 + 122749

    assert event(SENT, position="p/1")._asdict() == {
        "cluster": "lab",
        "node_id": 1,
        "logged_at": at_us,
        "logged_mono_ns": 607123881395,
        "clock_resolution_ms": pytest.approx(1e-6),
        "logged_date": at_us // DAY_US,
        "direction": "sent",
        "component": "ReplicaFetcher",
        "follower_id": 1,
        "fetcher_id": 0,
        "destination_id": 3,
        "api": "FETCH",
        "api_version": 18,
        "client_id": "broker-1-fetcher-0",
        "correlation_id": 182,
        "session_id": 468386446,
        "session_epoch": 182,
        "node": "broker-1",
        "source": "a.log",
        "position": "p/1",
        "topic": None,
        "partition": None,
        "offset": None,
        "parser_version": PARSER_VERSION,
    }


def test_a_response_has_its_node_and_its_session():
    rows = [event(value) for value in CLIENT_LINES]

    found = [(r.direction, r.destination_id, r.correlation_id, r.session_id, r.session_epoch) for r in rows]
    assert found == [
        ("received", 3, 181, 468386446, None),
        ("sent", 3, 182, 468386446, 182),
        ("received", 2, 175, 26269674, None),
        ("sent", 2, 176, 26269674, 176),
    ]


CLIENTS = {  # message -> component, follower, destination, api, client id, session id
    b"[RaftManager id=1] Sending FETCH request with header " + header(client=b"raft-client-1")
    + b" and timeout 2000 to node 3: FetchRequestData(sessionId=0, sessionEpoch=-1, topics=[])":
        ("RaftManager", None, 3, "FETCH", "raft-client-1", 0),
    b"[NodeToControllerChannelManager id=1 name=heartbeat] Sending BROKER_HEARTBEAT request with header "
    + header(b"BROKER_HEARTBEAT", b"1")
    + b" and timeout 4500 to node 2: BrokerHeartbeatRequestData(brokerId=1)":
        ("NodeToControllerChannelManager", None, 2, "BROKER_HEARTBEAT", "1", None),
    b"[Persister broker=3]Sending WRITE_SHARE_GROUP_STATE request with header "
    + header(b"WRITE_SHARE_GROUP_STATE", b"Persister-client-3")
    + b" and timeout 30000 to node 1: WriteShareGroupStateRequestData(groupId='sg', topics=[])":
        ("Persister", None, 1, "WRITE_SHARE_GROUP_STATE", "Persister-client-3", None),
    b"[Persister broker=3]Received WRITE_SHARE_GROUP_STATE response from node 1 for request with header "
    + header(b"WRITE_SHARE_GROUP_STATE", b"Persister-client-3")
    + b": WriteShareGroupStateResponseData(results=[])":
        ("Persister", None, 1, "WRITE_SHARE_GROUP_STATE", "Persister-client-3", None),
    b"[AddPartitionsToTxnManager broker=1]Sending ADD_PARTITIONS_TO_TXN request with header "
    + header(b"ADD_PARTITIONS_TO_TXN", b"AddPartitionsToTxnManager-1")
    + b" and timeout 30000 to node 2: AddPartitionsToTxnRequestData(transactions=[])":
        ("AddPartitionsToTxnManager", None, 2, "ADD_PARTITIONS_TO_TXN", "AddPartitionsToTxnManager-1", None),
    b"[Producer clientId=a [x], y] Received PRODUCE response from node -1 for request with header "
    + header(b"PRODUCE", b"a [x], y") + b": ProduceResponseData(responses=[])":
        ("Producer", None, -1, "PRODUCE", "a [x], y", None),
    b"Received METADATA response from node 2147483646 for request with header "
    + header(b"METADATA", b"null") + b": MetadataResponseData(x)":
        (None, None, 2147483646, "METADATA", None, None),
}  # fmt: skip


@pytest.mark.parametrize("text", CLIENTS)
def test_the_lines_of_all_clients_of_a_broker_are_parsed(text):
    row = event(message(text))

    found = (row.component, row.follower_id, row.destination_id, row.api, row.client_id, row.session_id)
    assert found == CLIENTS[text]


def test_a_client_outside_a_broker_has_no_node_id():
    row = event(message(next(iter(CLIENTS))), node="orders-app")

    assert (row.node_id, row.node) == (None, "orders-app")


ODD = {  # line -> columns
    "fields of a newer Kafka": (
        SENT.replace(b"rackId=", b"newField=[a=1], rackId="), {"session_id": 468386446},
    ),
    "an API of a newer Kafka": (SENT.replace(b"FETCH", b"TELEPORT"), {"api": "TELEPORT", "session_id": None}),
    "a newer version": (SENT.replace(b"apiVersion=18", b"apiVersion=99"), {"api_version": 99}),
    "a key twice in the body: the first one counts": (
        SENT.replace(b"sessionId=", b"sessionId=7, sessionId="), {"session_id": 7},
    ),
    "NUL in a name": (SENT.replace(b"broker-1-f", b"broker\x00f"), {"client_id": "broker\x00fetcher-0"}),
    "an empty name": (SENT.replace(b"clientId=broker-1-fetcher-0", b"clientId="), {"client_id": None}),
    "another epoch": (SENT.replace(b"sessionEpoch=182", b"sessionEpoch=1e400"), {"session_epoch": 1}),
    "2,000 digits of an epoch": (
        SENT.replace(b"sessionEpoch=182", b"sessionEpoch=" + b"9" * 2_000), {"session_epoch": None},
    ),
    "2,000 deep": (SENT.replace(b"topics=[", b"topics=[" + b"[" * 2_000), {"session_id": 468386446}),
    "4 MB": (SENT.replace(b"topics=[", b"topics=[" + b"x" * 4_000_000), {"session_id": 468386446}),
}  # fmt: skip


@pytest.mark.parametrize("name", ODD)
def test_an_unusual_line_is_kept_with_its_values(name):
    value, expected = ODD[name]
    row = event(value)._asdict()

    assert {key: row[key] for key in expected} == expected


OTHERS = {
    "truncated": (RECEIVED[:-20], "quarantined", "truncated_line"),
    "truncated in the header": (RECEIVED[:200], "quarantined", "truncated_line"),
    "two lines in one": (RECEIVED + SENT, "quarantined", "several_objects"),
    "no destination": (SENT.replace(b" and timeout 30000 to node 3", b""), "quarantined", "missing_field"),
    "no session": (SENT.replace(b"sessionId=", b"session="), "quarantined", "missing_field"),
    "unknown verb": (SENT.replace(b"Sending", b"Resending"), "quarantined", "unknown_form"),
    "a session that is no number": (
        SENT.replace(b"sessionId=468386446", b"sessionId=NaN"), "quarantined",
        "missing_field",
    ),
    "wrong case": (SENT.replace(b"correlationId", b"correlationid"), "quarantined", "unknown_form"),
    "wrong type": (SENT.replace(b"apiVersion=18", b"apiVersion=eighteen"), "quarantined", "unknown_form"),
    "a key twice in the header": (
        SENT.replace(b"apiVersion=18", b"apiVersion=18, apiVersion=17"), "quarantined", "unknown_form",
    ),
    "another field in the header": (
        SENT.replace(b", headerVersion=2", b", headerVersion=2, x=1"), "quarantined", "unknown_form",
    ),
    "20 MB": (SENT.replace(b"topics=[", b"topics=[" + b"x" * 20_000_000), "quarantined", "oversized"),
    "2,000 digits": (SENT.replace(b"Id=182", b"Id=" + b"9" * 2_000), "quarantined", "missing_field"),
    "NUL before the stamp": (b"\x00" * 500 + SENT, "quarantined", "no_timestamp"),
    "NUL after the line": (SENT + b"\x00" * 500, "quarantined", "truncated_line"),
    "surrogate bytes": (SENT.replace(b"broker-1-f", b"\xed\xa0\x80f"), "quarantined", "not_utf8"),
    "large number": (SENT.replace(b"Id=182", b"Id=99999999999"), "quarantined", "missing_field"),
    "separator in a name": (SENT.replace(b"broker-1-f", b"broker\x01f"), "quarantined", "unknown_form"),
    "another node's": ({"value": SENT, "node": "broker-2"}, "quarantined", "node_is_another_replica"),
    "no cluster": ({"value": SENT, "cluster": None}, "quarantined", "no_cluster"),
    "a request": (message(b"Completed request:{}"), "quarantined", "request_in_client_log"),
    "bytes": (b"\xff\xfe", "quarantined", "not_utf8"),
    "no stamp": (SENT[40:], "quarantined", "no_timestamp"),
    "a part": ({"value": SENT, "chunk": "2/3"}, "quarantined", "oversized"),
    "connecting": (message(b"[Producer clientId=p] Initiating connection to a"), "skipped", "not_a_request"),
    "another logger": (b"2026-11-21T08:40:46Z DEBUG x (a.b)", "skipped", "other_logger"),
    "blank": (b"", "skipped", "blank"),
}  # fmt: skip


@pytest.mark.parametrize("name", OTHERS)
def test_other_lines_are_quarantined_or_skipped_with_a_reason(name):
    value, outcome, reason = OTHERS[name]
    found = parse(record(value))

    assert (type(found).__name__.lower(), found.reason) == (outcome, reason)
    assert not isinstance(found, Quarantined) or found.detail


def test_the_detail_names_what_is_missing():
    assert parse(record(SENT.replace(b" and timeout 30000 to node 3", b""))).detail == "destination_id"
    assert parse(record(SENT.replace(b"sessionId=", b"session="))).detail == "sessionId"
    assert parse(record(SENT, node="broker-2")).detail == "written by replica 1 on broker-2"


def test_a_skipped_line_names_its_logger():
    given = [OTHERS[name][0] for name in ("connecting", "another logger", "blank")]

    assert [parse(record(value)) for value in given] == [
        Skipped("not_a_request", "org.apache.kafka.clients.NetworkClient"),
        Skipped("other_logger", "a.b"),
        Skipped("blank", None),
    ]


def test_lines_of_dumps_and_stack_traces_are_skipped_and_the_tail_of_a_parsed_line_is_not():
    found = [parse(record(value)) for value in (b"\tacks = -1", b"\t... 12 more", LOGGER)]

    assert found[:2] == [Skipped("continuation", None)] * 2
    assert found[2].reason == "no_timestamp"
    assert f"({client_events.LOGGER})" in OUR_LOGGERS


NAMES = [
    b"a",
    b"a, b",
    b"a]",
    b"] Sending",
    b", correlationId=1",
    b"\xc2\x85",
    "☃, ☃".encode(),
    b"",
    b"a\x01",
]


@pytest.mark.parametrize("client", NAMES)
def test_the_fast_patterns_give_the_same_result_as_the_general_one(client, monkeypatch):
    values = [
        SENT.replace(b"broker-1-fetcher-0", client),
        SENT.replace(b", fetcherId", client + b", fetcherId"),
        SENT.replace(b"sessionId=", b"sessionEpoch=7, " + client + b"sessionId="),
        SENT.replace(b"sessionEpoch=", client + b", sessionEpoch="),
        SENT.replace(b"sessionId=468386446", b"sessionId=4683864461"),
    ]
    quick = [parse(record(value)) for value in values]
    nothing = re.compile("(?!)")
    for name in ("PLAIN_END", "SESSION"):
        monkeypatch.setattr(client_events, name, nothing)

    assert [parse(record(value)) for value in values] == quick


SLOW = {
    "4 MiB of one name": SENT.replace(b"broker-1-f", b"x" * 4_190_000),
    "4 MiB of brackets": SENT.replace(b"[Replica", b"[" + b"] " * 2_090_000 + b"Replica"),
    "4 MiB of sessions": SENT.replace(b"sessionId=", b"sessionId=x " * 340_000),
    "a head of beginnings": message(b"[" + b"] Sending A request with header RequestHeader(apiKey=A, "
                                           b"apiVersion=1, clientId=" * 60 + b")"),
    "4 MiB that is not ASCII": SENT.replace(b"topics=[", b"topics=[" + "☃".encode() * 1_390_000),
}  # fmt: skip


@pytest.mark.parametrize("name", SLOW)
def test_no_line_takes_longer_than_50_ms(name):
    assert min(took_s(parse, SLOW[name]) for _ in range(3)) < 0.05


@with_any_bytes(CLIENT_LINES)
def test_no_bytes_make_the_parser_raise(value):
    """Each line has one outcome, and the correlation id of a row is in its line."""
    mark = re.compile(re.escape(client_events.MARK.encode()))
    outcome = check(parse, value, mark, {"client_events": CLIENT_EVENTS})

    if isinstance(outcome, Kept):
        written = map(int, re.findall(rb"correlationId=(-?[0-9]{1,15})", value))
        assert outcome.rows["client_events"][0].correlation_id in written
    assert value not in CLIENT_LINES or isinstance(outcome, Kept)


def test_a_produce_request_is_logged_in_braces():
    sent = b"[Producer clientId=p] Sending PRODUCE request with header " + header(b"PRODUCE")
    shown = sent + b" and timeout 30000 to node 2: {acks=1,timeout=30000,partitionSizes=[t-0=582,t-3=582]}"

    row = event(message(shown))

    assert (row.direction, row.api, row.destination_id, row.correlation_id) == ("sent", "PRODUCE", 2, 7)
    assert parse(record(message(shown[:-9]))).reason == "truncated_line"
