"""Lines of ProducerPerformance of every version, whole, cut, mixed and in other locales."""

from datetime import UTC, datetime, timedelta

import pytest

from schemas.silver.perf_test import PERF_TEST
from tests.transforms.parse import perf_lines
from tests.transforms.parse.any_bytes import check, took_s, with_any_bytes
from tests.transforms.parse.perf.lines import (
    AT,
    HEADERS,
    METRIC,
    RUN,
    STEADY,
    SUMMARY,
    WINDOW,
    average,
    parsed,
    rate,
)
from transforms.parse.perf import parse
from transforms.parse.record import Kept, Skipped

TABLES = {table.name: table for table in PERF_TEST}

BAD = {  # line -> quarantine reason
    b"249963 records sent, 49992.6 reco": "truncated_line",
    b"249963 rec": "unknown_form",
    b" (47.68 MB/sec), 3.2 ms avg latency, 412.0 ms max latency.": "unknown_form",
    b"2499 records sent, 49.2 rec" + WINDOW: "several_objects",
    WINDOW + WINDOW: "several_objects",
    WINDOW[:40] + b"[2026-11-21 07:15:38,310] WARN slow (o.a.kafka.X)" + WINDOW[40:]: "truncated_line",
    b"1 records sent, 1.234,5 records/sec (4 MB/sec), 3.2 ms avg latency, 4.0 ms max latency.": "bad_number",
    average(b"-3.2"): "bad_number",  # The client's clock was set back.
    average(b"1e400"): "bad_number",
    average(b""): "truncated_line",
    average("٣".encode()): "bad_number",
    rate(b"49,992"): "bad_number",  # A thousands separator; the tool's rate has one decimal.
    rate(b"49,992.6"): "bad_number",
    rate(b"49992,6"): "bad_number",  # A decimal comma, and decimal points in the same line.
    rate(b"49992.606"): "bad_number",
    b"NaN" + WINDOW[6:]: "bad_number",
    SUMMARY.replace(b"103 ms", b"-1 ms"): "bad_number",
    SUMMARY[: SUMMARY.index(b", 2 ms 50th")]: "truncated_line",  # It looks like a window with all records.
    STEADY[: STEADY.index(b", 2 ms 50th")]: "truncated_line",
    b"9" * 400 + WINDOW[6:]: "bad_number",
    WINDOW.replace(b"412.0", b"9" * 400): "bad_number",
    METRIC[:40]: "truncated_line",
    METRIC[:70]: "truncated_line",
    METRIC.replace(b"node-id", b"client-id"): "duplicate_key",
    METRIC.replace(b"client-id=", b"client-id"): "truncated_line",
    METRIC[:-6]: "truncated_line",  # It is cut inside the number.
    METRIC[:-2]: "truncated_line",
    METRIC + WINDOW: "several_objects",
    METRIC.replace(b"perf-client", WINDOW): "several_objects",
    METRIC.replace(b"perf-client", METRIC[:60]): "several_objects",
    METRIC[METRIC.index(b"node-1") :]: "unknown_form",
    RUN + WINDOW: "several_objects",
    RUN + RUN: "several_objects",
    RUN.replace(b"skew", WINDOW): "several_objects",
    RUN + b"x": "bad_json",
    RUN + b"]": "bad_json",
    RUN + b",{}": "bad_json",
    RUN.replace(b'"skew"', b"'skew'"): "bad_json",
    RUN.replace(b"2048.0", b"NaN"): "bad_json",
    RUN.replace(b"2048.0", b"1e400"): "bad_number",
    RUN.replace(b"512", b"-512"): "bad_number",
    RUN.replace(b'"2026-11-21T09:19:20.5Z"', b"7"): "impossible_timestamp",
    RUN.replace(b"2026-11-21T09:19:20.5Z", b"2026"): "impossible_timestamp",
    RUN.replace(b"2026-11-21T09:19:20.5Z", b"2026-02-30T09:19:20.5Z"): "impossible_timestamp",
    b"x" + RUN: "unknown_form",
    RUN[1:]: "unknown_form",
    b'{"plumbline_run":{"run":"r1"': "bad_json",
    b'{"plumbline_run":7}': "bad_json",
    WINDOW + b"\xff": "not_utf8",
    WINDOW + b" " * 70_000: "oversized",
}


@pytest.mark.parametrize("line", BAD, ids=range(len(BAD)))
def test_a_cut_or_mixed_line_is_quarantined_with_its_reason(line):
    found = parsed(line)

    assert found.reason == BAD[line]
    assert found.detail


def test_an_impossible_timestamp_is_quarantined_in_every_line():
    for line in (WINDOW, b"In steady state.", RUN):
        assert parsed(b"2026-13-21T09:19:28.987716Z " + line).reason == "impossible_timestamp"


@pytest.mark.parametrize(("field", "reason"), [("cluster", "no_cluster"), ("headers", "no_run")])
def test_a_record_without_cluster_or_run_is_quarantined(field, reason):
    assert parsed(WINDOW, **{field: None}).reason == reason


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"value": None}, "no_value"),
        ({"chunk": "1/?"}, "oversized"),
        ({"content_encoding": "gzip"}, "compressed_line"),
    ],
)
def test_a_record_that_is_not_a_whole_line_is_quarantined(fields, reason):
    assert parsed({"value": WINDOW} | fields).reason == reason


OTHERS = [
    b"", b"  \r", b"Metric Name                                  Value", b"In steady state.",
    b"Warmup first 1000 records. Steady state results will print after the complete test summary.",
    b"[2026-11-21 07:15:38,310] WARN [Producer clientId=a] Bootstrap broker (org.apache.kafka.clients.X)",
    b"Option --producer-props has been deprecated and will be removed in a future version.",
    b"\tat org.apache.kafka.tools.ProducerPerformance.main(ProducerPerformance.java:51)",
]  # fmt: skip


@pytest.mark.parametrize("line", [*OTHERS, AT + OTHERS[3]])
def test_other_output_of_the_tool_is_skipped(line):
    assert parsed(line) == Skipped("not_a_figure" if line.strip() else "blank", None)


SLOW = {
    "4 MiB": b"x" * 4_000_000,
    "digits": b"9" * 65_000,
    "ends of metrics": b"} : " * 16_000,
    "braces": b"}" * 65_000,
    "names of metrics": b":a" * 32_000,
    "tags": METRIC.replace(b"client-id=", b"a=" + b", a=" * 15_000),
    "tags without end": METRIC[:60] + b", a=" * 16_000,
    "blanks": b" " * 65_000 + b"x",
    "a group": b"a-metrics" * 7_000,
    "a value": METRIC[:-7] + b"7" * 64_000 + b".000",
    "a document": RUN[:18] + b'{"a":' * 12_000,
}


@pytest.mark.parametrize("name", SLOW)
def test_no_line_takes_longer_than_50_ms(name):
    assert min(took_s(parse, SLOW[name], headers=HEADERS) for _ in range(3)) < 0.05


def as_spark_writes(at_us):
    """Return an instant as text in the format of `perf_lines`."""
    if at_us is None:
        return None
    at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=at_us)
    return f"{at:%Y-%m-%d %H:%M:%S.%f}".rstrip("0").rstrip(".")


@with_any_bytes(perf_lines.LINES)
def test_no_bytes_make_the_parser_raise(value):
    """Each line has one outcome, and a row equals the result of the independent parser."""
    outcome = check(parse, value, perf_lines.MARK, TABLES, headers=HEADERS)

    if isinstance(outcome, Kept):
        ((table, (row,)),) = outcome.rows.items()
        cells = row._asdict()
        cells |= {name: as_spark_writes(cells[name]) for name in cells if name.endswith("ed_at")}
        expected, columns = perf_lines.says(value)
        assert (table, {name: cells[name] for name in columns}) == (expected, columns)
    if value in perf_lines.LINES:
        assert isinstance(outcome, Kept if perf_lines.MARK.search(value) else Skipped)
