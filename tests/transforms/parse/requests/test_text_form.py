"""The text form of completed requests in Kafka 2.7 and older, before JSON."""

import time

import pytest

from tests.transforms.parse.records import HEAD, TAIL, TEXT, TEXT_27, TEXT_PRODUCE, record
from transforms.parse.requests import parse


def request(value):
    (row,) = parse(record(value)).rows["requests"]
    return row


@pytest.mark.parametrize("value", [TEXT, TEXT_27], ids=["2.6", "2.7"])
def test_the_text_form_of_a_fetch_has_header_times_session_and_kind(value):
    row = request(value)

    assert (row.api, row.api_version, row.client_id) == ("FETCH", 11, "broker-2-fetcher-0")
    assert (row.correlation_id, row.connection) == (17, "127.0.0.1:9094-127.0.0.1:61040-0")
    assert (row.kind, row.follower_id, row.session_id, row.session_epoch) == ("follower", 2, 99, 4)
    assert (row.total_ms, row.remote_ms, row.throttle_ms, row.send_ms) == (502.42, 500.0, 0.0, 0.118)
    assert (row.principal, row.listener, row.software_version) == ("User:CN=a,OU=b", "SASL_SSL", "2.7.0")
    assert (row.partitions, row.quality_flags, row.is_forwarded) == (None, ["text_form"], None)


def test_the_text_form_of_a_produce_has_no_client_and_no_software():
    row = request(TEXT_PRODUCE)

    assert (row.client_id, row.kind, row.throttle_ms, row.software_name) == (None, "other", None, None)
    assert (row.session_id, row.partitions, row.listener) == (None, None, "PLAINTEXT")


KINDS = {
    "a consumer": (TEXT.replace(b"replica_id=2", b"replica_id=-1"), ("consumer", None)),
    "a request that was not logged": (TEXT.replace(b"replica_id=2", b"x=2"), (None, None)),
}


@pytest.mark.parametrize("name", KINDS)
def test_the_replica_id_decides_the_kind(name):
    value, expected = KINDS[name]
    row = request(value)

    assert (row.kind, row.follower_id) == expected


WRONG = {
    "cut": (TEXT[:-120], "truncated_line"),
    "no times": (TEXT[:150] + TAIL, "bad_text_form"),
    "a name of software with a parenthesis": (TEXT.replace(b"2.7.0)", b"2.7.0) (x)"), "bad_text_form"),
    "a key after the listener that is none": (TEXT.replace(b"clientInfor", b"clientInfro"), "bad_text_form"),
    "joined": (TEXT + TEXT, "several_objects"),
    "bad number": (TEXT.replace(b"0.112", b"0.1.2"), "missing_field"),
    "a version too large": (TEXT.replace(b"apiVersion=11", b"apiVersion=99999999999"), "missing_field"),
    "infinite": (TEXT.replace(b"totalTime:502.42", b"totalTime:1e400"), "impossible_duration"),
    "a fetch from itself": (TEXT.replace(b"replica_id=2", b"replica_id=1"), "node_is_another_replica"),
}


@pytest.mark.parametrize("name", WRONG)
def test_cut_joined_or_damaged_text_is_quarantined(name):
    value, reason = WRONG[name]

    assert parse(record(value)).reason == reason


@pytest.mark.parametrize("number", [b"totalTime:502.42", b"correlationId=17", b"throttleTime:0.0"])
def test_the_detail_names_the_unreadable_number(number):
    name, mark, _ = number.partition(b"=" if b"=" in number else b":")
    spoiled = TEXT.replace(number, name + mark + b"99999999999999999999" + (b"e" if mark == b":" else b""))

    found = parse(record(spoiled))
    assert (found.reason, f"{name.decode()}" in found.detail) == ("missing_field", True)


PARTS = [b", correlationId=1", b",listener:", b",clientInformation:ClientInformation(softwareName=a"]
PARTS += [b", softwareVersion=", b")", b";totalTime:1", b" from connection ", b" "]


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("mark", [b"clientId=", b"principal:User:", b" from connection "])
def test_no_text_takes_longer_than_50_ms(mark, part):
    value = TEXT.replace(mark, mark + part * (1_000_000 // len(part)))
    began = time.process_time()

    parse(record(value))
    parse(record(value.replace(b"securityProtocol", b"x")))
    parse(record(HEAD + b"RequestHeader(" + value))

    assert time.process_time() - began < 0.15
