"""
Request lines that no broker should write: kept, flagged or quarantined, each by name.

A key that stands twice counts by its last value that can be read: to look for one costs a scan of every
line, and Kafka writes each key once. A time that stands twice is flagged, for the parts then do not add up.
"""

from datetime import date

import pytest

from tests.transforms.parse.raw_rows import COMPLETED, HEAD, TAIL, line, raw
from transforms.parse.request_log import kept, parse_request_log, quarantined

RAFT_ID = "AAAAAAAAAAAAAAAAAAAAAQ"

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
        line(**{"requestHeader.requestApiKeyName": "TELEPORT", "request": {"to": 1}, "response": [1]}),
        {"api": "TELEPORT", "kind": "other", "error_code": None, "quality_flags": []},
    ),
    "a key twice: the last one counts": (
        COMPLETED.replace(b'"listener":', b'"listener":"a","listener":'), {"listener": "PEER2"},
    ),
    "a time twice: the parts tell": (
        COMPLETED.replace(b'"totalTimeMs":', b'"totalTimeMs":500.529,"totalTimeMs":1'),
        {"total_ms": 1500.529, "quality_flags": ["parts_do_not_add_up"]},
    ),
    "a time twice, the last one as text: the last that can be read counts": (
        COMPLETED.replace(b'"totalTimeMs":500.529', b'"totalTimeMs":500.529,"totalTimeMs":"x"'),
        {"total_ms": 500.529, "quality_flags": []},
    ),
    "an API in another case is another API": (
        COMPLETED.replace(b'"FETCH"', b'"Fetch"'), {"api": "Fetch", "kind": "other", "follower_id": None},
    ),
    "a key of another case beside the right one": (
        COMPLETED.replace(b'"totalTimeMs":', b'"totaltimems":1,"totalTimeMs":'), {"total_ms": 500.529},
    ),
    "half a surrogate pair": (COMPLETED.replace(b"PEER2", b"PE\\ud800R2"), {"listener": "PE?R2"}),
    "a whole surrogate pair": (COMPLETED.replace(b"PEER2", b"PE\\ud83d\\ude00R2"), {"listener": "PE😀R2"}),
    "an escaped NUL": (COMPLETED.replace(b"PEER2", b"PE\\u0000R2"), {"listener": "PE\x00R2"}),
    "1e400 in a field that is not read": (line(x=1).replace(b'"x":1', b'"x":1e400'), {"follower_id": 2}),
    "999 deep": (
        COMPLETED.replace(b'"isForwarded":false', b'"x":' + b"[" * 990 + b"]" * 990),
        {"is_forwarded": None, "follower_id": 2},
    ),
    "1,000 digits in a field that is not read": (
        COMPLETED.replace(b'"isForwarded":false', b'"x":' + b"9" * 1_000), {"follower_id": 2},
    ),
    "a flag of a wrong type": (line(isForwarded="no"), {"is_forwarded": None, "follower_id": 2}),
    "an error of a wrong type": (line(**{"response.errorCode": "x"}), {"error_code": None, "follower_id": 2}),
    "a carriage return at the end": (COMPLETED + b"\r", {"follower_id": 2}),
    "4 MB": (line(principal="User:" + "x" * 4_000_000), {"follower_id": 2}),
}  # fmt: skip

WRONG = {
    "truncated": (COMPLETED[:-40], "truncated_line"),
    "truncated in the logger's name": (COMPLETED[:-3], "truncated_line"),
    "cut after the stamp": (HEAD, "unknown_form"),
    "two lines in one": (COMPLETED + COMPLETED, "bad_json"),
    "two objects": (COMPLETED.removesuffix(TAIL) + b",{}" + TAIL, "several_objects"),
    "two objects without comma": (COMPLETED.removesuffix(TAIL) + b" {}" + TAIL, "bad_json"),
    "garbage behind": (COMPLETED.removesuffix(TAIL) + b" x}" + TAIL, "bad_json"),
    "broken quotes": (COMPLETED.replace(b'"listener":"PEER2"', b'"listener":"PEER2'), "bad_json"),
    "single quotes": (COMPLETED.replace(b'"listener"', b"'listener'"), "bad_json"),
    "raw NUL": (COMPLETED.replace(b"PEER2", b"PE\x00R2"), "bad_json"),
    "NaN": (COMPLETED.replace(b":500.529,", b":NaN,"), "bad_json"),
    "NaN in a body": (COMPLETED.replace(b'"sessionId":254946946', b'"sessionId":NaN'), "bad_json"),
    "Infinity": (COMPLETED.replace(b":500.529,", b":Infinity,"), "bad_json"),
    "-Infinity": (COMPLETED.replace(b":500.529,", b":-Infinity,"), "bad_json"),
    "NaN in quotes": (line(totalTimeMs="NaN"), "missing_field"),
    "1e400": (COMPLETED.replace(b":500.529,", b":1e400,"), "impossible_duration"),
    "-1e400": (COMPLETED.replace(b":500.529,", b":-1e400,"), "impossible_duration"),
    "1e400 of partitions": (
        COMPLETED.replace(b'"sessionId":254946946', b'"sessionId":1e400'),
        "missing_field",
    ),
    "negative": (line(sendTimeMs=-0.1), "impossible_duration"),
    "time missing": (line(remoteTimeMs=...), "missing_field"),
    "time as text": (line(remoteTimeMs="1.0"), "missing_field"),
    "wrong case": (COMPLETED.replace(b"totalTimeMs", b"totaltimems"), "missing_field"),
    "wrong case of the header": (COMPLETED.replace(b"requestHeader", b"requestheader"), "missing_field"),
    "an empty object": (HEAD + b"{}" + TAIL, "missing_field"),
    "a list": (HEAD + b"[{}]" + TAIL, "unknown_form"),
    "a text": (HEAD + b'"{}"' + TAIL, "unknown_form"),
    "a list inside": (HEAD + b"{[]}" + TAIL, "bad_json"),
    "header of a wrong type": (line(requestHeader="x"), "missing_field"),
    "connection of a wrong type": (line(connection=None), "missing_field"),
    "correlation id too large": (line(**{"requestHeader.correlationId": 2**31}), "missing_field"),
    "correlation id no integer": (line(**{"requestHeader.correlationId": 1.5}), "missing_field"),
    "api missing": (line(**{"requestHeader.requestApiKeyName": ...}), "missing_field"),
    "request of a wrong type": (line(request=[1]), "missing_field"),
    "response of a wrong type": (line(response="x"), "missing_field"),
    "topics of a wrong type": (line(**{"request.topics": ["a"]}), "missing_field"),
    "partitions missing": (line(**{"request.topics": [{"topicId": RAFT_ID}]}), "missing_field"),
    "partition missing": (
        line(**{"response.responses": [{"topicId": RAFT_ID, "partitions": [{"errorCode": 0}]}]}),
        "missing_field",
    ),
    "replica id missing before v15": (
        line(**{"requestHeader.requestApiVersion": 14, "request.replicaState": ...}), "missing_field",
    ),
    "session id missing": (line(**{"request.sessionId": ...}), "missing_field"),
    "not at the start": (COMPLETED.replace(b"Completed", b"[thread-1] Completed"), "unknown_form"),
    "in another logger's line": (HEAD.replace(b"Completed", b"saw Completed") + b"x (a.b)", "unknown_form"),
    "no stamp": (COMPLETED[30:], "no_timestamp"),
    "impossible time": (COMPLETED.replace(b"T09:", b"T25:", 1), "impossible_timestamp"),
    "2,000 deep": (
        COMPLETED.replace(b'"isForwarded":false', b'"x":' + b"[" * 2_000 + b"]" * 2_000), "bad_json",
    ),
    "2,000 objects deep": (
        COMPLETED.replace(b'"isForwarded":false', b'"x":' + b'{"a":' * 2_000 + b"1" + b"}" * 2_000),
        "bad_json",
    ),
    "2,000 opened and not closed": (
        COMPLETED.replace(b'"isForwarded":false', b'"x":' + b"[" * 2_000), "bad_json",
    ),
    "2,000 digits of a fraction": (
        COMPLETED.replace(b":500.529,", b":500." + b"1" * 2_000 + b","), "bad_json"
    ),
    "2,000 digits of an id": (COMPLETED.replace(b":75354,", b":" + b"7" * 2_000 + b","), "bad_json"),
    "2,000 digits of a nanosecond": (COMPLETED.replace(b"2929988848476", b"2" * 2_000), "no_timestamp"),
    "NUL before the stamp": (b"\x00" * 500 + COMPLETED, "no_timestamp"),
    "NUL behind the line": (COMPLETED + b"\x00" * 500, "truncated_line"),
    "a mark of bytes before the stamp": (b"\xef\xbb\xbf" + COMPLETED, "no_timestamp"),
    "2,000 digits": (COMPLETED.replace(b":500.529,", b":" + b"9" * 2_000 + b","), "bad_json"),
    "surrogate bytes": (COMPLETED.replace(b"PEER2", b"\xed\xa0\x80"), "not_utf8"),
    "not UTF-8": (COMPLETED.replace(b"PEER2", b"PE\xffR2"), "not_utf8"),
    "no value": (None, "no_value"),
    "node without a number": ({"value": COMPLETED, "node": "controller"}, "node_without_number"),
    "node's number too large": ({"value": COMPLETED, "node": "b99999999999"}, "node_without_number"),
    "no node": ({"value": COMPLETED, "node": None}, "node_without_number"),
    "no cluster": ({"value": COMPLETED, "cluster": None}, "no_cluster"),
    "a fetch from itself": ({"value": COMPLETED, "node": "broker-2"}, "node_is_another_replica"),
    "20 MB": (line(principal="User:" + "x" * 20_000_000), "oversized"),
    "20 MB of another logger": (HEAD[:50] + b"x" * 20_000_000 + b" (a.b)", "oversized"),
    "a part": ({"value": COMPLETED, "chunk": "1/?"}, "oversized"),
    "compressed": ({"value": b"\x1f\x8b", "content_encoding": "gzip"}, "compressed_line"),
}  # fmt: skip


def labelled(cases):
    for name, (row, *_) in cases.items():
        yield {**(row if isinstance(row, dict) else {"value": row}), "position": name}


@pytest.fixture(scope="module")
def made(spark):
    parsed = parse_request_log(raw(spark, [*labelled(KEPT), *labelled(WRONG)])).cache()
    yield parsed
    parsed.unpersist()


@pytest.fixture(scope="module")
def made_rows(made):
    return {row.position: row.asDict(recursive=True) for row in kept(made).collect()}


@pytest.mark.parametrize("name", KEPT)
def test_an_odd_line_is_kept_with_what_it_says(made_rows, name):
    _, *told = KEPT[name]

    assert {key: made_rows[name][key] for key in told[0]} == told[0]


@pytest.fixture(scope="module")
def quarantined_rows(made):
    return {row.position: row for row in quarantined(made).collect()}


@pytest.mark.parametrize("name", WRONG)
def test_a_line_that_cannot_be_read_is_quarantined_with_reason_place_and_bytes(quarantined_rows, name):
    given, reason = WRONG[name]
    value = given["value"] if isinstance(given, dict) else given
    row = quarantined_rows[name]

    assert (row.reason, None if value is None else bytes(row.value)) == (reason, value)
    assert (row.source, row.quarantined_date) == ("a.log", date(2026, 11, 21))
    assert row.detail


def test_detail_names_the_field(quarantined_rows):
    row = quarantined_rows["time missing"]

    assert (row.detail, row.node) == ("remoteTimeMs", "broker-1")
