"""
Request lines that no broker should write: each is kept, flagged or quarantined.

The last of two equal keys counts. Kafka writes each key once, and a search for duplicates would cost a scan
of every line. A duplicate time is flagged, because the parts then do not add up.
"""

import json
import time
from random import Random

import pyarrow as pa
import pytest

from tests.transforms.parse.harms import HARMS, parts_add_up
from tests.transforms.parse.records import COMPLETED, HEAD, REQUEST_LINES, TAIL, TEXTS, line, record
from tests.transforms.parse.requests import admin_lines
from transforms.parse.record import Kept, Quarantined, Skipped
from transforms.parse.requests import parse

RAFT_ID = "AAAAAAAAAAAAAAAAAAAAAQ"
API = "requestHeader.requestApiKeyName"


def with_bytes(old, new):
    assert old in COMPLETED
    return COMPLETED.replace(old, new, 1)


def metadata(**changes):
    return line(**{API: "METADATA"}, **changes)


KEPT = {
    "fields of a newer Kafka": (
        line(newThing={"a": [1]}, **{"request.newField": 7, "requestHeader.newToo": None}),
        {"kind": "follower", "follower_id": 2, "quality_flags": []},
    ),
    "a newer version of an API": (
        line(**{"requestHeader.requestApiVersion": 99, "response.newField": [{"a": {"b": 1.5}}]}),
        {"api_version": 99, "follower_id": 2, "quality_flags": []},
    ),
    "an API of a newer Kafka": (
        line(**{API: "TELEPORT", "request": {"to": 1}, "response": [1]}),
        {"api": "TELEPORT", "kind": "other", "error_code": None, "quality_flags": []},
    ),
    "an error of another type in a newer API": (
        line(**{API: "TELEPORT", "response": {"errorCode": "x"}}), {"error_code": None, "quality_flags": []},
    ),
    "an error too large in a newer API": (
        line(**{API: "TELEPORT", "response": {"errorCode": 2**31}}), {"error_code": None},
    ),
    "a key twice: the last one counts": (
        with_bytes(b'"listener":', b'"listener":"a","listener":'), {"listener": "PEER2"},
    ),
    "a time twice: the parts do not add up": (
        with_bytes(b'"totalTimeMs":', b'"totalTimeMs":500.529,"totalTimeMs":1'),
        {"total_ms": 1500.529, "quality_flags": ["parts_do_not_add_up"]},
    ),
    "an API's name with an escape": (
        with_bytes(b'"FETCH"', b'"F\\u0045TCH"'), {"api": "FETCH", "follower_id": 2, "partitions": []},
    ),
    "an API in another case is another API": (
        with_bytes(b'"FETCH"', b'"Fetch"'), {"api": "Fetch", "kind": "other", "follower_id": None},
    ),
    "a key in another case next to the right one": (
        with_bytes(b'"totalTimeMs":', b'"totaltimems":1,"totalTimeMs":'), {"total_ms": 500.529},
    ),
    "half a surrogate pair in JSON with blanks": (
        with_bytes(b"PEER2", b"PE\\ud800R2").replace(b'KeyName":"', b'KeyName": "'),
        {"api": "FETCH", "kind": "follower", "listener": "PE?R2"},
    ),
    "half a surrogate pair": (with_bytes(b"PEER2", b"PE\\ud800R2"), {"listener": "PE?R2"}),
    "the other half": (with_bytes(b"PEER2", b"PE\\uDC00R2"), {"listener": "PE?R2"}),
    "a whole surrogate pair": (with_bytes(b"PEER2", b"PE\\ud83d\\ude00R2"), {"listener": "PE😀R2"}),
    "an escaped NUL": (with_bytes(b"PEER2", b"PE\\u0000R2"), {"listener": "PE\x00R2"}),
    "1e400 in a field that is not read": (line(x=1).replace(b'"x":1', b'"x":1e400'), {"follower_id": 2}),
    "500 deep": (
        with_bytes(b'"isForwarded":false', b'"x":' + b"[" * 500 + b"]" * 500),
        {"is_forwarded": None, "follower_id": 2},
    ),
    "1,000 digits in a field that is not read": (
        with_bytes(b'"isForwarded":false', b'"x":' + b"9" * 1_000), {"follower_id": 2},
    ),
    "2,000 digits of a fraction": (
        with_bytes(b":500.529,", b":500.529" + b"0" * 2_000 + b","), {"total_ms": 500.529},
    ),
    "blanks between keys": (
        HEAD + json.dumps(json.loads(COMPLETED[len(HEAD) : -len(TAIL)])).encode() + TAIL,
        {"api": "FETCH", "follower_id": 2},
    ),
    "a carriage return at the end": (COMPLETED + b"\r", {"follower_id": 2}),
    "4 MB": (line(principal="User:" + "x" * 4_000_000), {"follower_id": 2}),
}  # fmt: skip

WRONG = {
    "truncated": (COMPLETED[:-40], "truncated_line"),
    "truncated in the logger's name": (COMPLETED[:-3], "truncated_line"),
    "cut after the stamp": (HEAD, "unknown_form"),
    "two lines in one": (COMPLETED + COMPLETED, "several_objects"),
    "two objects": (COMPLETED.removesuffix(TAIL) + b",{}" + TAIL, "several_objects"),
    "two objects without comma": (COMPLETED.removesuffix(TAIL) + b" {}" + TAIL, "several_objects"),
    "garbage after the document": (COMPLETED.removesuffix(TAIL) + b" x}" + TAIL, "bad_json"),
    "broken quotes": (with_bytes(b'"listener":"PEER2"', b'"listener":"PEER2'), "bad_json"),
    "single quotes": (with_bytes(b'"listener"', b"'listener'"), "bad_json"),
    "raw NUL": (with_bytes(b"PEER2", b"PE\x00R2"), "bad_json"),
    "NaN": (with_bytes(b":500.529,", b":NaN,"), "bad_json"),
    "NaN in a body": (with_bytes(b'"sessionId":254946946', b'"sessionId":NaN'), "bad_json"),
    "Infinity": (with_bytes(b":500.529,", b":Infinity,"), "bad_json"),
    "-Infinity": (with_bytes(b":500.529,", b":-Infinity,"), "bad_json"),
    "NaN in quotes": (line(totalTimeMs="NaN"), "missing_field"),
    "1e400": (with_bytes(b":500.529,", b":1e400,"), "impossible_duration"),
    "-1e400": (with_bytes(b":500.529,", b":-1e400,"), "impossible_duration"),
    "1e400 of a throttle": (
        with_bytes(b'"throttleTimeMs":0,"resp', b'"throttleTimeMs":1e400,"resp'), "missing_field",
    ),
    "1e400 of partitions": (with_bytes(b'"sessionId":254946946', b'"sessionId":1e400'), "missing_field"),
    "negative": (line(sendTimeMs=-0.1), "impossible_duration"),
    "months": (line(sendTimeMs=1.1e10), "impossible_duration"),
    "time missing": (line(remoteTimeMs=...), "missing_field"),
    "time as text": (line(remoteTimeMs="1.0"), "missing_field"),
    "a time twice, the last one as text": (
        with_bytes(b'"totalTimeMs":500.529', b'"totalTimeMs":500.529,"totalTimeMs":"x"'), "missing_field",
    ),
    "wrong case": (with_bytes(b"totalTimeMs", b"totaltimems"), "missing_field"),
    "wrong case of the header": (with_bytes(b"requestHeader", b"requestheader"), "missing_field"),
    "an empty object": (HEAD + b"{}" + TAIL, "missing_field"),
    "a list": (HEAD + b"[{}]" + TAIL, "unknown_form"),
    "a text": (HEAD + b'"{}"' + TAIL, "unknown_form"),
    "a list inside": (HEAD + b"{[]}" + TAIL, "bad_json"),
    "header of a wrong type": (line(requestHeader="x"), "missing_field"),
    "connection of a wrong type": (line(connection=None), "missing_field"),
    "a flag of a wrong type": (line(isForwarded="no"), "missing_field"),
    "an error of a wrong type": (line(**{"response.errorCode": "x"}), "missing_field"),
    "an error too large": (line(**{"response.errorCode": 2**31}), "missing_field"),
    "correlation id too large": (line(**{"requestHeader.correlationId": 2**31}), "missing_field"),
    "correlation id no integer": (line(**{"requestHeader.correlationId": 1.5}), "missing_field"),
    "api twice: the bodies are of one of them": (
        with_bytes(b'"requestApiKeyName":', b'"requestApiKeyName":"PRODUCE","requestApiKeyName":'),
        "missing_field",
    ),
    "api missing": (line(**{API: ...}), "missing_field"),
    "request of a wrong type": (line(request=[1]), "missing_field"),
    "response of a wrong type": (line(response="x"), "missing_field"),
    "request missing": (line(request=...), "missing_field"),
    "topics of a wrong type": (line(**{"request.topics": ["a"]}), "missing_field"),
    "topics of a metadata missing": (metadata(request={}, response=""), "missing_field"),
    "topics of its answer missing": (metadata(request="", response={}), "missing_field"),
    "topics of a creation missing": (line(**{API: "CREATE_TOPICS", "response": {}}), "missing_field"),
    "partitions missing": (line(**{"request.topics": [{"topicId": RAFT_ID}]}), "missing_field"),
    "partition missing": (
        line(**{"response.responses": [{"topicId": RAFT_ID, "partitions": [{"errorCode": 0}]}]}),
        "missing_field",
    ),
    "an offset too large": (
        line(**{"request.topics": [{"partitions": [{"partition": 0, "fetchOffset": 2**63}]}]}),
        "missing_field",
    ),
    "replica id missing before v15": (
        line(**{"requestHeader.requestApiVersion": 14, "request.replicaState": ...}), "missing_field",
    ),
    "session id missing": (line(**{"request.sessionId": ...}), "missing_field"),
    "not at the start": (with_bytes(b"Completed", b"[thread-1] Completed"), "unknown_form"),
    "in another logger's line": (HEAD.replace(b"Completed", b"saw Completed") + b"x (a.b)", "unknown_form"),
    "no stamp": (COMPLETED[30:], "no_timestamp"),
    "impossible time": (with_bytes(b"T09:", b"T25:"), "impossible_timestamp"),
    "2,000 deep": (with_bytes(b'"isForwarded":false', b'"x":' + b"[" * 2_000 + b"]" * 2_000), "bad_json"),
    "2,000 objects deep": (
        with_bytes(b'"isForwarded":false', b'"x":' + b'{"a":' * 2_000 + b"1" + b"}" * 2_000), "bad_json",
    ),
    "2,000 deep in the body of a newer API": (
        line(**{API: "TELEPORT"}, response=7).replace(b":7,", b":" + b"[" * 2_000 + b"]" * 2_000 + b","),
        "bad_json",
    ),
    "2,000 opened and not closed": (with_bytes(b'"isForwarded":false', b'"x":' + b"[" * 2_000), "bad_json"),
    "2,000 digits of an id": (with_bytes(b":75354,", b":" + b"7" * 2_000 + b","), "missing_field"),
    "5,000 digits of an id": (with_bytes(b":75354,", b":" + b"7" * 5_000 + b","), "missing_field"),
    "2,000 digits of a nanosecond": (with_bytes(b"2929988848476", b"2" * 2_000), "no_timestamp"),
    "NUL before the stamp": (b"\x00" * 500 + COMPLETED, "no_timestamp"),
    "NUL after the line": (COMPLETED + b"\x00" * 500, "truncated_line"),
    "a mark of bytes before the stamp": (b"\xef\xbb\xbf" + COMPLETED, "no_timestamp"),
    "2,000 digits": (with_bytes(b":500.529,", b":" + b"9" * 2_000 + b","), "impossible_duration"),
    "surrogate bytes": (with_bytes(b"PEER2", b"\xed\xa0\x80"), "not_utf8"),
    "not UTF-8": (with_bytes(b"PEER2", b"PE\xffR2"), "not_utf8"),
    "no value": (None, "no_value"),
    "node without a number": ({"value": COMPLETED, "node": "controller"}, "node_without_number"),
    "node's number too large": ({"value": COMPLETED, "node": "b99999999999"}, "node_without_number"),
    "no node": ({"value": COMPLETED, "node": None}, "node_without_number"),
    "no cluster": ({"value": COMPLETED, "cluster": None}, "no_cluster"),
    "no zone": (
        {"value": b"[2026-11-21 07:15:38,310] DEBUG Completed request:{}", "time_zone": "X"},
        "unknown_time_zone",
    ),
    "a fetch from itself": ({"value": COMPLETED, "node": "broker-2"}, "node_is_another_replica"),
    "20 MB": (line(principal="User:" + "x" * 20_000_000), "oversized"),
    "20 MB of another logger": (HEAD[:50] + b"x" * 20_000_000 + b" (a.b)", "oversized"),
    "a part": ({"value": COMPLETED, "chunk": "1/?"}, "oversized"),
    "compressed": ({"value": b"\x1f\x8b", "content_encoding": "gzip"}, "compressed_line"),
}  # fmt: skip


@pytest.mark.parametrize("name", KEPT)
def test_an_unusual_line_is_kept_with_its_values(name):
    value, expected = KEPT[name]
    (row,) = parse(record(value)).rows["requests"]

    assert {key: getattr(row, key) for key in expected} == expected


@pytest.mark.parametrize("name", WRONG)
def test_an_unreadable_line_is_quarantined_with_a_reason_and_a_detail(name):
    value, reason = WRONG[name]
    found = parse(record(value))

    assert (type(found), found.reason) == (Quarantined, reason)
    assert found.detail
    assert len(found.detail) < 500


DETAILS = {
    "time missing": "remoteTimeMs",
    "session id missing": "request.sessionId",
    "replica id missing before v15": "request.replicaId",
    "topics of a metadata missing": "request.topics",
    "topics of its answer missing": "response.topics",
    "partition missing": "response.responses[0].partitions[0].partitionIndex",
    "partitions missing": "request.topics[0].partitions",
    "time as text": "remoteTimeMs: Expected `float`, got `str` - at `$.remoteTimeMs`",
    "1e400": "totalTimeMs",
    "a fetch from itself": "a fetch of replica 2 on broker-2",
}


@pytest.mark.parametrize("name", DETAILS)
def test_the_detail_names_the_field(name):
    assert parse(record(WRONG[name][0])).detail == DETAILS[name]


SLOW = {
    "quotes": with_bytes(b"PEER2", b'\\"' * 2_000_000),
    "halves of surrogate pairs": with_bytes(b"PEER2", b"\\ud800" * 650_000),
    "backslashes": with_bytes(b"PEER2", b"\\\\" * 2_000_000),
    "lists": with_bytes(b'"isForwarded":false', b'"x":[' + b"[]," * 1_300_000 + b"[]]"),
    "objects not closed": HEAD + b'{"a":' * 800_000 + b"}" + TAIL,
    "a list of replicas": admin_lines.alter_configs(
        (admin_lines.TOPIC, "t", [(admin_lines.LEADER_LIST, 0, " " * 2_000_000 + "1")])
    ),
    "commas of replicas": admin_lines.alter_configs(
        (admin_lines.TOPIC, "t", [(admin_lines.LEADER_LIST, 0, "," * 200_000)])
    ),
}


@pytest.mark.parametrize("name", SLOW)
def test_the_time_of_a_line_is_proportional_to_its_bytes(name):
    """The limit is 0.4 s for 4 MiB, on a shared machine; a typical line takes 20 microseconds."""
    given = record(SLOW[name])
    began = time.process_time()

    parse(given)

    assert time.process_time() - began < 0.4


LINES = [value for value in REQUEST_LINES.values() if len(value) < 2_500] + TEXTS
LINES += [
    admin_lines.alter_configs((admin_lines.BROKER, "1", [(admin_lines.LEADER_RATE, 0, "5")])),
    admin_lines.alter_configs((admin_lines.TOPIC, "1", [(admin_lines.LEADER_LIST, 0, "0:1,1:2")])),
    admin_lines.reassign("t", {0: [3, 2], 1: None}, errors={1: 39}),
    admin_lines.list_moves("t", {4: ([3, 1], [3], [1])}),
    admin_lines.alter_isr(0, [2, 1, 3]),
]


def test_a_mutated_line_has_one_outcome_and_its_rows_fit_their_tables():
    """A line with `Completed request:` is never skipped; a whole one is never quarantined."""
    schemas = pytest.importorskip("schemas.silver")
    from pyspark.sql.pandas.types import to_arrow_schema  # noqa: PLC0415 (types only, without a session)

    tables = {table.name: to_arrow_schema(table.schema, timezone="UTC") for table in schemas.SILVER}
    dice, rows = Random(20_261_124), {}
    for _ in range(20_000):
        value, other = dice.choice(LINES), dice.choice(LINES)
        spoiled = dice.choice(HARMS)(value, other, dice)
        found = parse(record(spoiled))
        assert type(found) in (Kept, Quarantined, Skipped)
        assert type(found) is not Skipped or b"Completed request:" not in spoiled
        assert type(found) is not Quarantined or spoiled not in LINES
        for table, given in found.rows.items() if type(found) is Kept else ():
            rows.setdefault(table, []).extend(given)
    assert set(rows) == {"requests", "topics", "brokers", "throttle_changes", "reassignments", "isr_changes"}
    assert all(parts_add_up(row._asdict(), row.quality_flags) for row in rows["requests"])
    for table, given in rows.items():
        assert given[0]._fields == tuple(tables[table].names)
        for name, column in zip(given[0]._fields, zip(*given, strict=True), strict=True):
            kind = tables[table].field(name).type
            pa.array([arrow_value(cell, kind) for cell in column], kind)


def arrow_value(cell, kind):
    """Return a cell for an Arrow array, with structs as mappings."""
    if pa.types.is_list(kind) and pa.types.is_struct(kind.value_type) and cell is not None:
        return [dict(zip((one.name for one in kind.value_type), row, strict=True)) for row in cell]
    return cell
