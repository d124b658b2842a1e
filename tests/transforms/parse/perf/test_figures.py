"""Windows and summaries of ProducerPerformance, in English and in other locales."""

from datetime import UTC, datetime

import pytest

from schemas.silver.perf_test import PERF_SUMMARIES, PERF_WINDOWS
from tests.transforms.parse.perf.lines import AT, STEADY, SUMMARY, WINDOW, parsed, row
from transforms.parse.perf.figures import PerfSummary, PerfWindow
from transforms.parse.record import PARSER_VERSION

AT_US = int(datetime(2026, 11, 21, 9, 19, 28, tzinfo=UTC).timestamp()) * 1_000_000 + 987716


def test_rows_have_the_columns_of_their_tables_in_order():
    assert PerfWindow._fields == tuple(PERF_WINDOWS.schema.names)
    assert PerfSummary._fields == tuple(PERF_SUMMARIES.schema.names)


def test_all_columns_of_a_window_are_parsed():
    assert row("perf_windows", AT + WINDOW)._asdict() == {
        "cluster": "lab",
        "run": "r1",
        "arm": "sticky",
        "scenario": None,
        "client_version": None,
        "logged_at": AT_US,
        "records": 249963,
        "records_per_s": 49992.6,
        "mib_per_s": 47.68,
        "avg_ms": 3.2,
        "max_ms": 412.0,
        "is_steady_state": False,
        "quality_flags": [],
        "node": "host",
        "source": "a.log",
        "position": "p/0",
        "topic": None,
        "partition": None,
        "offset": None,
        "parser_version": PARSER_VERSION,
    }


def test_a_summary_has_percentiles_and_shows_whether_it_includes_the_warm_up():
    whole, steady = (row("perf_summaries", AT + line) for line in (SUMMARY, STEADY))

    assert (whole.p50_ms, whole.p95_ms, whole.p99_ms, whole.p999_ms) == (2, 6, 19, 103)
    assert (whole.is_steady_state, steady.is_steady_state) == (False, True)


READ = {  # line -> records per second, average, flags
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


@pytest.mark.parametrize("name", READ)
def test_unusual_lines_are_parsed_and_flagged(name):
    line, *expected = READ[name]
    found = row("perf_windows", AT + line)

    assert [found.records_per_s, found.avg_ms, found.quality_flags] == expected


def test_a_line_without_an_instant_is_kept_and_flagged():
    found = row("perf_summaries", SUMMARY)

    assert (found.logged_at, found.quality_flags) == (None, ["no_instant"])


def test_flags_have_a_fixed_order():
    line = WINDOW.replace(b".", b",").replace(b"3,2", b"NaN").removesuffix(b",")

    assert row("perf_windows", line).quality_flags == ["decimal_comma", "not_a_number", "no_instant"]


def test_the_detail_names_each_figure_that_is_no_number():
    line = SUMMARY.replace(b"19 ms 99th", b"x ms 99th").replace(b"47.67", b"47,67").replace(b"2.91", b"-2.91")

    assert parsed(line) == ("bad_number", "p99_ms, avg_ms, decimal point and comma")
