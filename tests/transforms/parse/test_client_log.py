"""NetworkClient lines, real ones of a broker's replica fetchers first."""

from datetime import date, datetime

import pytest

from schemas.silver import CLIENT_EVENTS, QUARANTINE
from tests.transforms.parse.raw_rows import CLIENT_LINES, outcomes, raw
from transforms.parse import PARSER_VERSION
from transforms.parse.client_log import kept, parse_client_log, quarantined, skipped

RECEIVED, SENT = CLIENT_LINES[:2]
LOGGER = b" (org.apache.kafka.clients.NetworkClient)"


def message(text, stamp=b"2026-11-21T08:40:46.122384288Z 607123518419 DEBUG "):
    return stamp + text + LOGGER


def header(api=b"FETCH", client=b"perf", correlation=b"7"):
    return (b"RequestHeader(apiKey=" + api + b", apiVersion=12, clientId=" + client + b", correlationId="
            + correlation + b", headerVersion=2)")  # fmt: skip


@pytest.fixture(scope="module")
def real(spark):
    parsed = parse_client_log(raw(spark, CLIENT_LINES, kind="client-log")).cache()
    yield parsed
    parsed.unpersist()


def test_kept_rows_are_the_silver_table(real):
    assert kept(real).schema.simpleString() == CLIENT_EVENTS.schema.simpleString()
    assert quarantined(real).schema.simpleString() == QUARANTINE.schema.simpleString()


def test_a_replica_fetchers_request_is_read_whole(real):
    row = kept(real).where("position = 'p/1'").first().asDict()

    assert row == {
        "cluster": "lab",
        "node_id": 1,
        "logged_at": datetime(2026, 11, 21, 8, 40, 46, 122749),
        "logged_mono_ns": 607123881395,
        "clock_resolution_ms": pytest.approx(1e-6),
        "logged_date": date(2026, 11, 21),
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


def test_an_answer_names_the_node_it_came_from_and_the_session_it_gives(real):
    rows = sorted(kept(real).collect(), key=lambda row: row.position)

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
    b"[Producer clientId=a [x], y] Received PRODUCE response from node -1 for request with header "
    + header(b"PRODUCE", b"a [x], y") + b": ProduceResponseData(responses=[])":
        ("Producer", None, -1, "PRODUCE", "a [x], y", None),
    b"Received METADATA response from node 2147483646 for request with header "
    + header(b"METADATA", b"null") + b": MetadataResponseData(x)":
        (None, None, 2147483646, "METADATA", None, None),
}  # fmt: skip


def test_every_client_of_a_broker_is_read(spark):
    rows = kept(parse_client_log(raw(spark, [message(text) for text in CLIENTS]))).collect()

    found = [(r.component, r.follower_id, r.destination_id, r.api, r.client_id, r.session_id)
             for r in sorted(rows, key=lambda row: row.position)]  # fmt: skip
    assert found == list(CLIENTS.values())


def test_a_client_that_is_no_broker_has_no_node_id(spark):
    row = kept(parse_client_log(raw(spark, [message(next(iter(CLIENTS)))], node="orders-app"))).first()

    assert (row.node_id, row.node) == (None, "orders-app")


ODD = {  # lines that are read, and what of them
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


def test_an_odd_line_is_kept_with_what_it_says(spark):
    rows = [{"value": value, "position": name} for name, (value, _) in ODD.items()]
    found = {row.position: row.asDict() for row in kept(parse_client_log(raw(spark, rows))).collect()}

    assert {name: {key: found[name][key] for key in told} for name, (_, told) in ODD.items()} == {
        name: told for name, (_, told) in ODD.items()
    }


OTHERS = {
    "truncated": (RECEIVED[:-20], "quarantined", "truncated_line"),
    "truncated in the header": (RECEIVED[:200], "quarantined", "truncated_line"),
    "two lines in one": (RECEIVED + SENT, "quarantined", "several_objects"),
    "sent to nobody": (SENT.replace(b" and timeout 30000 to node 3", b""), "quarantined", "missing_field"),
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
    "NUL behind the line": (SENT + b"\x00" * 500, "quarantined", "truncated_line"),
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


def test_other_lines_are_quarantined_or_skipped_with_a_reason(spark):
    rows = [
        {**(row if isinstance(row, dict) else {"value": row}), "position": name}
        for name, (row, *_) in OTHERS.items()
    ]
    parsed = parse_client_log(raw(spark, rows, kind="client-log")).cache()

    assert outcomes(parsed) == {name: tuple(wanted) for name, (_, *wanted) in OTHERS.items()}
    bad = {row.position: bytes(row.value) for row in quarantined(parsed).collect()}
    given = {row["position"]: row["value"] for row in rows}
    assert bad == {name: given[name] for name, (_, outcome, _) in OTHERS.items() if outcome == "quarantined"}
    assert sorted((r.logger or "", r.reason, r.lines) for r in skipped(parsed, batch_id=0).collect()) == [
        ("", "blank", 1),
        ("a.b", "other_logger", 1),
        ("org.apache.kafka.clients.NetworkClient", "not_a_request", 1),
    ]
    parsed.unpersist()
