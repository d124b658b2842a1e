"""Timestamp layouts, zones and clock changes."""

from datetime import UTC, datetime

import pytest
from pyspark.sql import functions as F

from tests.transforms.parse.raw_rows import raw
from transforms.parse.stamp import is_blank, text, unreadable, untimed, with_stamp

BERLIN, LORD_HOWE = "Europe/Berlin", "Australia/Lord_Howe"
AT = datetime(2026, 11, 21, 7, 15, 38, 310870, tzinfo=UTC)
MILLIS = AT.replace(microsecond=310000)
WHOLE = AT.replace(microsecond=0)

LAYOUTS = {
    "[2026-11-21 07:15:38,310] DEBUG x (a.b.C$)": (MILLIS, None, 1.0, "DEBUG", "x", "a.b.C$"),
    "[2026-11-21 07:15:38,310870] INFO x (a)": (AT, None, 0.001, "INFO", "x", "a"),
    "[2026-11-21T07:15:38.310870926Z] WARN x (a)": (AT, None, 1e-6, "WARN", "x", "a"),
    "2026-11-21T07:15:38.310870999Z 607123518419 DEBUG x (a)": (AT, 607123518419, 1e-6, "DEBUG", "x", "a"),
    "[2026-11-21T07:15:38,310Z] 12 TRACE x": (MILLIS, 12, 1.0, "TRACE", "x", None),
    "2026-11-21T09:15:38.310870+02:00 ERROR x (a)": (AT, None, 0.001, "ERROR", "x", "a"),
    "2026-11-21T09:15:38,310870+0200 DEBUG x (a)": (AT, None, 0.001, "DEBUG", "x", "a"),
    "2026-11-21T02:15:38.3-05 DEBUG x (a)": (AT.replace(microsecond=300000), None, 100.0, "DEBUG", "x", "a"),
    "2026-11-21T07:15:38Z FATAL x (a)": (WHOLE, None, 1000.0, "FATAL", "x", "a"),
    "2026-11-21T07:15:38 INFO  padded level (a)": (WHOLE, None, 1000.0, "INFO", "padded level", "a"),
    "[2026-11-21 07:15:38,310] DEBUG ends (in) brackets\r": (
        MILLIS, None, 1.0, "DEBUG", "ends (in) brackets\r", None
    ),
    "[2026-11-21 07:15:38,310] DEBUG Grüße ☃ (a)\r": (MILLIS, None, 1.0, "DEBUG", "Grüße ☃", "a"),
}  # fmt: skip

ZONES = {  # line and zone of the node -> instant, or the reason why it is not known
    ("[2026-11-21 08:15:38,310] DEBUG x (a)", BERLIN): MILLIS,
    ("[2026-07-01 12:00:00,000] DEBUG x (a)", BERLIN): datetime(2026, 7, 1, 10, tzinfo=UTC),
    ("[2026-11-21 07:15:38,310] DEBUG x (a)", None): MILLIS,
    ("2026-11-21T07:15:38,310Z DEBUG x (a)", BERLIN): MILLIS,  # a zone in the line wins
    ("2026-10-25T02:30:00Z DEBUG x (a)", BERLIN): datetime(2026, 10, 25, 2, 30, tzinfo=UTC),
    ("[2026-10-25 02:30:00,000] DEBUG x (a)", BERLIN): "ambiguous_local_time",
    ("[2026-10-25 02:59:59,999] DEBUG x (a)", BERLIN): "ambiguous_local_time",
    ("[2026-10-25 03:00:00,000] DEBUG x (a)", BERLIN): datetime(2026, 10, 25, 2, tzinfo=UTC),
    ("[2026-10-25 01:59:59,999] DEBUG x (a)", BERLIN): datetime(2026, 10, 24, 23, 59, 59, 999000, tzinfo=UTC),
    ("[2026-04-05 01:45:00,000] DEBUG x (a)", LORD_HOWE): "ambiguous_local_time",  # half an hour back
    ("[2026-03-29 02:30:00,000] DEBUG x (a)", BERLIN): "time_not_in_zone",
    ("[2026-11-21 07:15:38,310] DEBUG x (a)", "Europe/Nowhere"): "unknown_time_zone",
    ("[2026-11-21 07:15:38,310] DEBUG x (a)", ""): "unknown_time_zone",
    ("[2026-11-21 07:15:38,310] DEBUG x (a)", "Europe/Berlin "): "unknown_time_zone",
    ("[2026-11-21 08:15:38,310] DEBUG x (a)", "+01:00"): MILLIS,
    ("[2026-13-21 07:15:38,310] DEBUG x (a)", "UTC"): "impossible_timestamp",
    ("[2026-11-21 24:15:38,310] DEBUG x (a)", BERLIN): "impossible_timestamp",
    ("2026-02-30T07:15:38Z DEBUG x (a)", "UTC"): "impossible_timestamp",
    ("2026-11-21T07:15:38+99:00 DEBUG x (a)", "UTC"): "impossible_timestamp",
}


@pytest.fixture(scope="module")
def stamped(spark):
    rows = with_stamp(raw(spark, [line.encode() for line in LAYOUTS])).collect()
    return {bytes(row.value).decode(): row for row in rows}


@pytest.mark.parametrize("line", LAYOUTS)
def test_a_layout_is_read_as_instant_nanoseconds_resolution_level_message_and_logger(stamped, line):
    row = stamped[line]

    logged_at, mono, resolution, level, message, logger = LAYOUTS[line]
    assert row.stamp.logged_at.replace(tzinfo=UTC) == logged_at
    assert (row.stamp.logged_mono_ns, row.stamp.level) == (mono, level)
    assert row.stamp.clock_resolution_ms == pytest.approx(resolution, rel=1e-9)
    assert (row.message, row.logger) == (message, logger)


@pytest.fixture(scope="module")
def timed(spark):
    rows = [{"value": line.encode(), "time_zone": zone} for line, zone in ZONES]
    judged = with_stamp(raw(spark, rows)).select(
        text().alias("text"),
        "time_zone",
        F.col("stamp.logged_at").alias("logged_at"),
        untimed()["reason"].alias("reason"),
    )
    return {(row.text, row.time_zone): row for row in judged.collect()}


@pytest.mark.parametrize("case", ZONES, ids=str)
def test_local_time_is_read_in_the_nodes_zone_and_never_guessed(timed, case):
    row = timed[case]

    known = row.logged_at.replace(tzinfo=UTC) if row.reason is None else row.reason
    assert known == ZONES[case]


def test_what_is_no_line_of_a_log_gets_a_reason(spark):
    rows = {
        "garbage": (b"garbage", "no_timestamp"),
        "no level": (b"[2026-11-21 07:15:38,310] x", "no_timestamp"),
        "bytes": (b"\xff\xfe\x00", "not_utf8"),
        "cut in a character": ("2026-11-21T07:15:38Z INFO ü".encode()[:-1], "not_utf8"),
        "nothing": (None, "no_value"),
        "empty": (b"", None),
        "blank": (b" \t\r", None),
    }
    frame = with_stamp(raw(spark, [{"value": v, "position": name} for name, (v, _) in rows.items()]))
    judged = frame.select("position", unreadable()["reason"].alias("reason"), is_blank().alias("is_blank"))

    found = {row.position: row for row in judged.collect()}
    assert {name: found[name].reason for name in rows} == {name: reason for name, (_, reason) in rows.items()}
    assert [name for name in rows if found[name].is_blank] == ["empty", "blank"]


def test_a_part_or_a_compressed_value_is_not_read_as_text(spark):
    line = b"[2026-11-21 07:15:38,310] DEBUG x (a)"
    rows = [{"value": line, "chunk": "1/?"}, {"value": line, "content_encoding": "gzip"}]

    judged = with_stamp(raw(spark, rows)).orderBy("position").select(unreadable()["reason"]).collect()

    assert [row[0] for row in judged] == ["oversized", "compressed_line"]
