"""Timestamp, message and logger of a line; time zones, clock changes and continuation lines."""

import re
import time
from datetime import UTC, datetime, timedelta

import pytest

from tests.transforms.parse import change_lines
from tests.transforms.parse.records import CLIENT_LINES, REQUEST_LINES, TEXTS, line, record
from transforms.parse.line import (
    LONGEST_CONTINUATION_BYTES,
    continues,
    no_message,
    read_line,
    skipped,
)
from transforms.parse.record import Quarantined, Skipped

BERLIN, LORD_HOWE = "Europe/Berlin", "Australia/Lord_Howe"
AT = datetime(2026, 11, 21, 7, 15, 38, 310870, tzinfo=UTC)
MILLIS = AT.replace(microsecond=310000)
WHOLE = AT.replace(microsecond=0)
YEAR_1, YEAR_9999 = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)

LAYOUTS = {
    "[2026-11-21 07:15:38,310] DEBUG x (a.b.C$)": (MILLIS, None, 1.0, "x", "a.b.C$"),
    "[2026-11-21 07:15:38,310] DEBUG  padded (a)": (MILLIS, None, 1.0, "padded", "a"),
    "[2026-11-21 07:15:38,310] DEBUG ": (MILLIS, None, 1.0, "", None),
    "[2026-11-21 07:15:38,310] DEBUG  (a)": (MILLIS, None, 1.0, "", "a"),
    "[2026-11-21 07:15:38,310] INFO x (a)": (MILLIS, None, 1.0, "x", "a"),
    "[2026-11-21 07:15:38,310870] INFO x (a)": (AT, None, 0.001, "x", "a"),
    "[2026-11-21T07:15:38.310870926Z] WARN x (a)": (AT, None, 1e-6, "x", "a"),
    "2026-11-21T07:15:38.310870999Z 607123518419 DEBUG x (a)": (AT, 607123518419, 1e-6, "x", "a"),
    "2026-11-21T07:15:38Z 9223372036854775808 DEBUG x (a)": (WHOLE, None, 1000.0, "x", "a"),
    "[2026-11-21T07:15:38,310Z] 12 TRACE x": (MILLIS, 12, 1.0, "x", None),
    "2026-11-21T09:15:38.310870+02:00 ERROR x (a)": (AT, None, 0.001, "x", "a"),
    "2026-11-21T09:15:38,310870+0200 DEBUG x (a)": (AT, None, 0.001, "x", "a"),
    "2026-11-21T02:15:38.3-05 DEBUG x (a)": (AT.replace(microsecond=300000), None, 100.0, "x", "a"),
    "2026-11-21T07:15:38Z FATAL x (a)": (WHOLE, None, 1000.0, "x", "a"),
    "2026-11-21T07:15:38. DEBUG x (a)": (WHOLE, None, 1000.0, "x", "a"),
    "2026-11-21T07:15:38 INFO  padded level (a)": (WHOLE, None, 1000.0, "padded level", "a"),
    "0001-01-01T00:00:00Z INFO x (a)": (YEAR_1, None, 1000.0, "x", "a"),
    "9999-12-31T23:59:59.999999999Z INFO x (a)": (YEAR_9999, None, 1e-6, "x", "a"),
    "[2026-11-21 07:15:38,310] DEBUG ends (in) brackets\r": (MILLIS, None, 1.0, "ends (in) brackets\r", None),
    "[2026-11-21 07:15:38,310] DEBUG Grüße ☃ (a)\r": (MILLIS, None, 1.0, "Grüße ☃", "a"),
    "[2026-11-21 07:15:38,310] DEBUG {} (a)}": (MILLIS, None, 1.0, "{} (a)}", None),
}  # fmt: skip

ZONES = {  # line and time zone of the node -> instant, or the reason why it is unknown
    ("[2026-11-21 08:15:38,310] DEBUG x (a)", BERLIN): MILLIS,
    ("[2026-07-01 12:00:00,000] DEBUG x (a)", BERLIN): datetime(2026, 7, 1, 10, tzinfo=UTC),
    ("[2026-11-21 07:15:38,310] DEBUG x (a)", None): MILLIS,
    ("2026-11-21T07:15:38,310Z DEBUG x (a)", BERLIN): MILLIS,  # A zone in the line takes precedence.
    ("2026-10-25T02:30:00Z DEBUG x (a)", BERLIN): datetime(2026, 10, 25, 2, 30, tzinfo=UTC),
    ("[2026-10-25 02:30:00,000] DEBUG x (a)", BERLIN): "ambiguous_local_time",
    ("[2026-10-25 02:59:59,999] DEBUG x (a)", BERLIN): "ambiguous_local_time",
    ("[2026-10-25 03:00:00,000] DEBUG x (a)", BERLIN): datetime(2026, 10, 25, 2, tzinfo=UTC),
    ("[2026-10-25 01:59:59,999] DEBUG x (a)", BERLIN): datetime(2026, 10, 24, 23, 59, 59, 999000, tzinfo=UTC),
    ("[2026-04-05 01:45:00,000] DEBUG x (a)", LORD_HOWE): "ambiguous_local_time",  # back by 30 minutes
    ("[2026-03-29 02:30:00,000] DEBUG x (a)", BERLIN): "time_not_in_zone",
    ("[1969-07-20 20:17:40,000] DEBUG x (a)", "America/Chicago"): datetime(
        1969, 7, 21, 1, 17, 40, tzinfo=UTC
    ),
    ("[2026-11-21 07:15:38,310] DEBUG x (a)", "Europe/Nowhere"): "unknown_time_zone",
    ("[2026-11-21 07:15:38,310] DEBUG x (a)", "Europe"): "unknown_time_zone",  # a folder
    ("[2026-11-21 07:15:38,310] DEBUG x (a)", "../etc/passwd"): "unknown_time_zone",
    ("[2026-11-21 07:15:38,310] DEBUG x (a)", "right/Europe/Berlin"): "unknown_time_zone",
    ("[2026-11-21 07:15:38,310] DEBUG x (a)", ""): "unknown_time_zone",
    ("[2026-11-21 07:15:38,310] DEBUG x (a)", "Europe/Berlin "): "unknown_time_zone",
    ("[2026-11-21 08:15:38,310] DEBUG x (a)", "+01:00"): MILLIS,
    ("[2026-11-21 08:15:38,310] DEBUG x (a)", "UTC+1"): MILLIS,
    ("[2026-11-21 07:15:38,310] DEBUG x (a)", "+19:00"): "unknown_time_zone",
    ("[2026-13-21 07:15:38,310] DEBUG x (a)", "UTC"): "impossible_timestamp",
    ("[2026-11-21 24:15:38,310] DEBUG x (a)", BERLIN): "impossible_timestamp",
    ("2026-02-30T07:15:38Z DEBUG x (a)", "UTC"): "impossible_timestamp",
    ("0000-01-01T00:00:00Z DEBUG x (a)", "UTC"): "impossible_timestamp",
    ("0001-01-01T00:00:00+01:00 DEBUG x (a)", "UTC"): "impossible_timestamp",
    ("[9999-12-31 23:59:59,999] DEBUG x (a)", "America/Chicago"): "impossible_timestamp",
    ("[0001-01-01 00:00:00,000] DEBUG x (a)", "Asia/Tokyo"): "impossible_timestamp",
    ("2026-11-21T07:15:38+99:00 DEBUG x (a)", "UTC"): "impossible_timestamp",
    ("2026-11-21T07:15:38+01:60 DEBUG x (a)", "UTC"): "impossible_timestamp",
}


THREADS = ("[data-plane-kafka-network-thread-0-ListenerName(REPLICATION-9091)-SSL-2]", "[main] ")


@pytest.mark.parametrize("thread", THREADS)
def test_the_thread_may_follow_the_logger(thread):
    """Strimzi's default pattern is `%d{ISO8601} %p %m (%c) [%t]%n`."""
    found = read_line(record(f"2026-11-21 07:15:38,310 DEBUG said (x) [y] (a.b) {thread}"))

    assert (found.message, found.logger) == ("said (x) [y]", "a.b")


@pytest.mark.parametrize("end", ["(a.b) [torn-thr", "(a.b) [x] more", "(a.b) []", "(a.b)[x]"])
def test_anything_else_behind_the_logger_is_no_end_of_a_line(end):
    assert read_line(record(f"2026-11-21 07:15:38,310 DEBUG said {end}")).logger is None


def micros(instant):
    return (instant - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


@pytest.mark.parametrize("text", LAYOUTS)
def test_a_layout_is_read_as_instant_nanoseconds_resolution_message_and_logger(text):
    found = read_line(record(text))

    logged_at, mono, resolution, message, logger = LAYOUTS[text]
    assert (found.text, found.node_id) == (text, 1)
    assert (found.logged_at, found.logged_mono_ns) == (micros(logged_at), mono)
    assert found.clock_resolution_ms == resolution
    assert (found.message, found.logger) == (message, logger)


@pytest.mark.parametrize("case", ZONES, ids=str)
def test_local_time_is_in_the_node_s_zone_and_never_guessed(case):
    text, zone = case
    given = record(text, time_zone=zone)
    found = read_line(given)
    failure = found.fault

    expected = ZONES[case]
    if isinstance(expected, str):
        assert failure.reason == expected
    else:
        assert (failure, found.logged_at) == (None, micros(expected))


NO_LINES = {
    "garbage": (b"garbage", "no_timestamp"),
    "no level": (b"[2026-11-21 07:15:38,310] x", "no_timestamp"),
    "other digits": ("[2026-11-21 07:15:3\u0668,310] DEBUG x".encode(), "no_timestamp"),
    "other milliseconds": ("[2026-11-21 07:15:38,3\u06610] DEBUG x".encode(), "no_timestamp"),
    "96 blanks": (b" " * 96, "no_timestamp"),
    "a blank line of another script": ("\u2003".encode(), "no_timestamp"),
    "2,000 digits of a nanosecond": (b"2026-11-21T07:15:38Z " + b"2" * 2_000 + b" DEBUG x", "no_timestamp"),
    "bytes": (b"\xff\xfe\x00", "not_utf8"),
    "a surrogate": (b"2026-11-21T07:15:38Z INFO \xed\xa0\x80", "not_utf8"),
    "cut in a character": ("2026-11-21T07:15:38Z INFO ü".encode()[:-1], "not_utf8"),
    "nothing": (None, "no_value"),
    "a part": ({"value": b"2026-11-21T07:15:38Z INFO x", "chunk": "1/?"}, "oversized"),
    "compressed": ({"value": b"\x1f\x8b", "content_encoding": "gzip"}, "compressed_line"),
    "more than 4 MiB": (b"2026-11-21T07:15:38Z INFO " + b"x" * 4 * 1024 * 1024, "oversized"),
}


@pytest.mark.parametrize("name", NO_LINES)
def test_a_value_that_is_no_log_line_is_quarantined_with_a_reason(name):
    value, reason = NO_LINES[name]

    found = read_line(record(value))

    assert (type(found), found.reason) == (Quarantined, reason)
    assert found.detail


def test_a_line_of_white_space_is_blank():
    found = [read_line(record(text)) for text in (b"", b" \t\r", b" " * 95, b"2026-11-21T07:15:38Z INFO \t")]

    assert [no_message(one) for one in found] == ["blank", "blank", "blank", None]


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        ("broker-1", 1), ("b012", 12), ("b" + "0" * 30 + "7", 7), ("2147483647", 2147483647),
        ("b2147483648", None), ("b99999999999", None), ("b1" + "0" * 25, None),
        ("controller", None), ("b1x", None), ("", None), (None, None),
    ],
)  # fmt: skip
def test_the_number_of_a_node_is_at_the_end_of_its_name(node, expected):
    assert read_line(record(b"2026-11-21T07:15:38Z INFO x", node=node)).node_id == expected


INFO = b"2026-11-23T04:13:01.592574446Z 52038461034906 INFO "
DUMP_AND_TRACE = [
    b"\tacks = -1",
    b"\tbootstrap.servers = [127.0.0.1:9092]",
    b"\tclient.id = ",
    b"\tus-west->us-east.topics = .*",
    b" (org.apache.kafka.clients.producer.ProducerConfig)",
    b"\tat org.apache.kafka.clients.NetworkClientUtils.sendAndReceive(NetworkClientUtils.java:109)",
    b"\tat java.base/java.lang.Thread.run(Thread.java:840)",
    b"\tat kafka.server.Broker$$anon$1.<init>(Broker.scala) ~[kafka_2.13-4.3.1.jar:?]",
    b"\tat java.base/jdk.internal.Unsafe.park(Native Method)",
    b"\t... 12 more",
]


@pytest.mark.parametrize("value", DUMP_AND_TRACE)
def test_config_entries_and_stack_frames_are_continuations(value):
    logger = "org.apache.kafka.clients.producer.ProducerConfig" if b"ProducerConfig)" in value else None

    assert skipped(read_line(record(value)), "a", "x") == Skipped("continuation", logger)


STAY = {
    "an exception itself, in the first column": b"java.io.IOException: Connection to 2 was disconnected",
    "only a parsed logger: the tail of a torn line": b" (kafka.request.logger)",
    "any logger but that of a config": b" (kafka.network.RequestChannel$)",
    "that of state changes": b" (state.change.logger)",
    "that of the clients": b" (org.apache.kafka.clients.NetworkClient)",
    "a blank and no such form": b" O=x,listener:CLIENT",
    "an entry after a blank instead of a tab": b" acks = -1",
    "a tab and no entry": b"\tacks",
    "a form that holds a request": b"\tacks = Completed request:{}",
    "a form that ends as a request does": b"\tb = c,listener:CLIENT (kafka.request.logger)",
    "longer than any entry": b"\tacks = " + b"x" * LONGEST_CONTINUATION_BYTES,
    "longer in bytes": b"\tacks = " + "ü".encode() * (LONGEST_CONTINUATION_BYTES // 2),
}


@pytest.mark.parametrize("name", STAY)
def test_other_lines_without_a_timestamp_stay_in_quarantine(name):
    assert read_line(record(STAY[name])).reason == "no_timestamp"


def test_a_line_with_a_timestamp_is_no_continuation():
    assert no_message(read_line(record(INFO + b"\tacks = -1 (kafka.request.logger)"))) is None


def test_a_skipped_line_has_other_logger_or_the_parser_s_reason():
    lines = [read_line(record(INFO + text)) for text in (b"x (a.b)", b"x (ours)", b"x")]

    assert [skipped(one, "ours", "not_a_request") for one in lines] == [
        Skipped("other_logger", "a.b"),
        Skipped("not_a_request", "ours"),
        Skipped("not_a_request", None),
    ]


ODD = b"a\tb = c\tat a.B.c(D.java:1) (kafka.KafkaConfig)"
"""A client id that contains all forms of lines."""

OF_OURS = [
    *(one for one in REQUEST_LINES.values() if len(one) < 2_500),
    *TEXTS,
    *(one.replace(b"clientId=", b"clientId=" + ODD) for one in (*TEXTS, *CLIENT_LINES)),
    line(**{"requestHeader.clientId": ODD.decode(), "principal": f"User:CN={ODD.decode()}, O=x"}),
    *(one.replace(b"principal:User:ANONYMOUS", b"principal:User:" + ODD) for one in TEXTS),
    *CLIENT_LINES,
    *change_lines.LINES,
]


def test_no_tail_of_a_torn_line_is_skipped():
    """A parsed line is cut everywhere, even in a client id that looks like a config dump."""
    tails = {one[at:].decode() for one in OF_OURS for at in range(1, len(one)) if one[at : at + 1] in b" \t"}

    assert [tail for tail in tails if continues(tail)] == []
    assert len(tails) > 300


SLOW = [b"\tat " + b"a." * 8_000, b"\t" + b"a" * 16_000 + b" =", b" " * 16_000 + b"(", b"(" * 4_000_000]
SLOW += [b"[2026-11-21 07:15:38,310] DEBUG " + b" (" * 2_000_000, b" " * 4_000_000, b"9" * 4_000_000]


@pytest.mark.parametrize("value", SLOW, ids=range(len(SLOW)))
def test_no_line_takes_longer_than_50_ms(value):
    began = time.process_time()

    read_line(record(value))

    assert time.process_time() - began < 0.05


def test_each_second_of_a_clock_change_follows_the_zone_database():
    """On 1972-01-07 in Monrovia, clocks went forward by 44 minutes and 30 seconds, within a minute."""
    texts = [
        "[1972-01-06 23:59:59,999] DEBUG x",
        "[1972-01-07 00:44:29,999] DEBUG x",
        "[1972-01-07 00:44:30,000] DEBUG x",
    ]
    given = [record(text, time_zone="Africa/Monrovia") for text in texts]
    lines = [read_line(one) for one in given]

    failures = [one.fault for one in lines]
    assert [failure and failure.reason for failure in failures] == [None, "time_not_in_zone", None]
    assert lines[2].logged_at - lines[0].logged_at == 1_000


def test_the_detail_of_a_line_without_a_timestamp_has_its_start():
    assert re.fullmatch("starts with: x{120}", read_line(record(b"x" * 500)).detail)
