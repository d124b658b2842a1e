"""Lines of ProducerPerformance of every version, whole, cut, mixed and in other locales."""

from datetime import UTC, datetime

import pytest

from schemas.perf_test import CLIENT_METRICS, PERF_SUMMARIES, PERF_TEST, PERF_WINDOWS, RUNS
from schemas.silver import QUARANTINE
from tests.transforms.parse.raw_rows import outcomes, raw
from transforms.parse.perf_test import parse_perf_test, quarantined, rows_of, skipped

HEADERS = [{"key": "run", "value": b"r1"}, {"key": "arm", "value": b"sticky"}]
AT = b"2026-11-21T09:19:28.987716Z "
WINDOW = b"249963 records sent, 49992.6 records/sec (47.68 MB/sec), 3.2 ms avg latency, 412.0 ms max latency."
SUMMARY = (
    b"1000000 records sent, 49987.503124 records/sec (47.67 MB/sec), 2.91 ms avg latency, 412.00 ms max"
    b" latency, 2 ms 50th, 6 ms 95th, 19 ms 99th, 103 ms 99.9th."
)
STEADY = SUMMARY.replace(b" records sent", b" steady state records sent")
METRIC = b"producer-node-metrics:outgoing-byte-total:{client-id=perf-client, node-id=node-1}    : 1234567.000"
RUN = (
    b'{"plumbline_run":{"run":"r1","arm":"sticky","scenario":"skew","client_version":"3.9.1",'
    b'"started_at":"2026-11-21T09:19:20.5Z","ended_at":"2026-11-21T09:20:00.5Z","exit_code":0,"topic_name":"t",'
    b'"asked_records":100,"asked_records_per_s":2048.0,"record_size_bytes":512,"configuration":["--topic","t"]}}'
)


def parsed_of(spark, lines, **fields):
    told = {"headers": HEADERS, "kind": "perf-test", "node": "host"} | fields
    return parse_perf_test(raw(spark, lines, **told))


def rows(parsed, table):
    return sorted(rows_of(parsed, table).collect(), key=lambda row: row.position)


@pytest.fixture(scope="module")
def real(spark):
    parsed = parsed_of(spark, [AT + WINDOW, AT + SUMMARY, AT + STEADY, AT + METRIC, RUN]).cache()
    yield parsed
    parsed.unpersist()


@pytest.mark.parametrize("table", PERF_TEST, ids=lambda table: table.name)
def test_kept_rows_are_the_silver_tables(real, table):
    assert rows_of(real, table).schema.simpleString() == table.schema.simpleString()
    assert rows_of(real, table).count() == (2 if table == PERF_SUMMARIES else 1)


def test_a_window_is_read_whole(real):
    row = rows(real, PERF_WINDOWS)[0].asDict()

    figures = {
        "records": 249963,
        "records_per_s": 49992.6,
        "mib_per_s": 47.68,
        "avg_ms": 3.2,
        "max_ms": 412.0,
    }
    assert {name: row[name] for name in figures} == figures
    assert (row["run"], row["arm"], row["scenario"]) == ("r1", "sticky", None)
    assert row["logged_at"] == datetime(2026, 11, 21, 9, 19, 28, 987716, tzinfo=UTC).replace(tzinfo=None)
    assert (row["is_steady_state"], row["quality_flags"]) == (False, [])


def test_a_summary_has_percentiles_and_says_whether_the_warm_up_is_in_it(real):
    whole, steady = rows(real, PERF_SUMMARIES)

    assert (whole.p50_ms, whole.p95_ms, whole.p99_ms, whole.p999_ms) == (2, 6, 19, 103)
    assert (whole.is_steady_state, steady.is_steady_state) == (False, True)


def test_a_metric_has_its_tags_as_a_map(real):
    row = rows(real, CLIENT_METRICS)[0]

    assert (row.metric_group, row.metric, row.value) == (
        "producer-node-metrics",
        "outgoing-byte-total",
        1234567.0,
    )
    assert row.tags == {"client-id": "perf-client", "node-id": "node-1"}


VALUES = {  # as it is written -> as a number
    b"1234567,000": 1234567.0,
    b"-0.125": -0.125,
    b"NaN": None,
    b"1.234.567": None,
    b"1e400": None,
    b"true": None,
}
WORDS = {  # of the client itself: not all are figures
    b"1795382427293": 1795382427293.0,
    b"3.9.1": None,
    b"12345678123456e1": None,  # a commit that Spark would cast to a number
    b"123456781234567d": None,
    b"9" * 400: None,
}


def test_the_value_of_a_metric_is_a_number_of_the_tool_or_null(spark):
    words = [METRIC.replace(b"producer-node-metrics:outgoing-byte-total", b"app-info:x")] * len(WORDS)
    lines = [*[METRIC] * len(VALUES), *words]
    written = VALUES | WORDS
    told = [line.replace(b"1234567.000", text) for line, text in zip(lines, written, strict=True)]
    found = parsed_of(spark, told)

    values = {row.text.encode(): row.value for row in rows_of(found, CLIENT_METRICS).collect()}
    assert values == written


def test_an_empty_name_in_the_document_is_none(spark):
    row = rows(parsed_of(spark, [RUN.replace(b'"r1"', b'""').replace(b'"skew"', b'""')]), RUNS)[0]

    assert (row.run, row.scenario) == ("r1", None)


def test_what_was_run_is_told_by_its_own_line(real):
    row = rows(real, RUNS)[0]

    assert (row.run, row.arm, row.scenario, row.client_version) == ("r1", "sticky", "skew", "3.9.1")
    assert (row.asked_records_per_s, row.record_size_bytes, row.exit_code) == (2048.0, 512, 0)
    assert row.configuration == ["--topic", "t"]


READ = {  # a line that is read -> records per second, average, flags
    "leading blanks": (b"  \t" + WINDOW, 49992.6, 3.2, []),
    "no final dot": (WINDOW[:-1], 49992.6, 3.2, []),
    "a carriage return": (WINDOW + b"\r", 49992.6, 3.2, []),
    "a decimal comma": (
        b"249963 records sent, 49992,6 records/sec (47,68 MB/sec), 3,2 ms avg latency, 412,0 ms max latency.",
        49992.6, 3.2, ["decimal_comma"],
    ),
    "no record in the window": (
        b"0 records sent, 0.0 records/sec (0.00 MB/sec), NaN ms avg latency, 0.0 ms max latency.",
        0.0, None, ["not_a_number"],
    ),
}  # fmt: skip


def test_odd_lines_are_read_and_flagged(spark):
    found = rows(parsed_of(spark, [AT + line for line, *_ in READ.values()]), PERF_WINDOWS)

    assert [(r.records_per_s, r.avg_ms, r.quality_flags) for r in found] == [
        tuple(told) for _, *told in READ.values()
    ]


def test_a_line_without_an_instant_is_kept_and_flagged(spark):
    row = rows(parsed_of(spark, [SUMMARY]), PERF_SUMMARIES)[0]

    assert (row.logged_at, row.quality_flags) == (None, ["no_instant"])


def average(text):
    return WINDOW.replace(b"3.2", text)


def rate(text):
    return WINDOW.replace(b"49992.6", text)


BAD = {  # a line that is not read -> why
    b"249963 records sent, 49992.6 reco": "truncated_line",
    b"249963 rec": "unknown_form",
    b" (47.68 MB/sec), 3.2 ms avg latency, 412.0 ms max latency.": "unknown_form",
    b"2499 records sent, 49.2 rec" + WINDOW: "several_objects",
    WINDOW + WINDOW: "several_objects",
    WINDOW[:40] + b"[2026-11-21 07:15:38,310] WARN slow (o.a.kafka.X)" + WINDOW[40:]: "truncated_line",
    b"1 records sent, 1.234,5 records/sec (4 MB/sec), 3.2 ms avg latency, 4.0 ms max latency.": "bad_number",
    average(b"-3.2"): "bad_number",  # the client's clock was set back
    average(b"1e400"): "bad_number",
    average(b""): "truncated_line",
    average("٣".encode()): "bad_number",
    rate(b"49,992"): "bad_number",  # thousands: the tool's rate has one decimal
    rate(b"49,992.6"): "bad_number",
    rate(b"49992,6"): "bad_number",  # a decimal comma, and points in the same line
    rate(b"49992.606"): "bad_number",
    b"NaN" + WINDOW[6:]: "bad_number",
    SUMMARY.replace(b"103 ms", b"-1 ms"): "bad_number",
    SUMMARY[: SUMMARY.index(b", 2 ms 50th")]: "truncated_line",  # looks like a window of all records
    STEADY[: STEADY.index(b", 2 ms 50th")]: "truncated_line",
    b"9" * 400 + WINDOW[6:]: "bad_number",
    WINDOW.replace(b"412.0", b"9" * 400): "bad_number",
    METRIC[:40]: "truncated_line",
    METRIC[:70]: "truncated_line",
    METRIC.replace(b"node-id", b"client-id"): "duplicate_key",
    METRIC.replace(b"client-id=", b"client-id"): "truncated_line",
    METRIC[:-6]: "truncated_line",  # cut inside the number
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


def test_a_line_that_was_cut_or_mixed_goes_to_quarantine_with_reason_place_and_bytes(spark):
    parsed = parsed_of(spark, list(BAD))

    assert {row.position: (bytes(row.value), row.reason) for row in quarantined(parsed).collect()} == {
        f"p/{n}": (line, reason) for n, (line, reason) in enumerate(BAD.items())
    }
    assert quarantined(parsed).schema.simpleString() == QUARANTINE.schema.simpleString()


def test_a_stamp_that_cannot_be_is_told(spark):
    parsed = parsed_of(spark, [b"2026-13-21T09:19:28.987716Z " + WINDOW])

    assert outcomes(parsed) == {"p/0": ("quarantined", "impossible_timestamp")}


@pytest.mark.parametrize(("field", "reason"), [("cluster", "no_cluster"), ("headers", "no_run")])
def test_a_record_that_does_not_say_where_it_is_from_is_quarantined(spark, field, reason):
    assert outcomes(parsed_of(spark, [WINDOW], **{field: None})) == {"p/0": ("quarantined", reason)}


def test_a_document_whose_run_has_no_name_does_not_tell_the_run(spark):
    parsed = parsed_of(spark, [RUN.replace(b'"r1"', b'""')], headers=None)

    assert outcomes(parsed) == {"p/0": ("quarantined", "no_run")}


OTHERS = [
    b"", b"  \r", b"Metric Name                                  Value", b"In steady state.",
    b"Warmup first 1000 records. Steady state results will print after the complete test summary.",
    b"[2026-11-21 07:15:38,310] WARN [Producer clientId=a] Bootstrap broker (org.apache.kafka.clients.X)",
    b"Option --producer-props has been deprecated and will be removed in a future version.",
    b"\tat org.apache.kafka.tools.ProducerPerformance.main(ProducerPerformance.java:51)",
]  # fmt: skip


def test_what_else_the_tool_prints_is_skipped_and_counted(spark):
    parsed = parsed_of(spark, [*OTHERS, AT + OTHERS[3]])

    counts = {row.reason: row.lines for row in skipped(parsed, batch_id=3).collect()}
    assert counts == {"blank": 2, "not_a_figure": len(OTHERS) - 1}
