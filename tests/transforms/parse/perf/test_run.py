"""The run document: its fields, and impossible values."""

import pytest

from schemas.silver.perf_test import RUN_DOCUMENT, RUN_HEADERS, RUNS
from tests.transforms.parse.perf.lines import AT, HEADERS, RUN, WINDOW, parsed, row
from transforms.parse.perf import run as runs
from transforms.parse.perf.run import RunRow, instant


def test_the_names_are_those_of_the_schema():
    assert RunRow._fields == tuple(RUNS.schema.names)
    assert runs.RUN_DOCUMENT == RUN_DOCUMENT
    assert list(runs.HEADERS) == list(RUN_HEADERS.values())
    assert runs.PerfRun.__struct_fields__ == (*RUN_HEADERS, *RUNS.schema.names[6:16])


def test_all_fields_of_a_run_document_are_parsed():
    found = row("runs", RUN)

    assert (found.run, found.arm, found.scenario, found.client_version) == ("r1", "sticky", "skew", "3.9.1")
    assert (found.asked_records_per_s, found.record_size_bytes, found.exit_code) == (2048.0, 512, 0)
    assert (found.asked_records, found.warm_up_s, found.client_id) == (100, None, None)
    assert found.configuration == ["--topic", "t"]
    assert found.ended_at - found.started_at == 40_000_000
    assert (found.logged_at, found.quality_flags) == (None, [])


def test_an_empty_name_in_the_document_is_none():
    found = row("runs", RUN.replace(b'"r1"', b'""').replace(b'"skew"', b'""'))

    assert (found.run, found.scenario) == ("r1", None)


def test_a_document_without_a_run_name_does_not_name_the_run():
    assert parsed(RUN.replace(b'"r1"', b'""'), headers=None).reason == "no_run"
    assert row("runs", RUN, headers=None).run == "r1"


def test_headers_name_the_run_and_the_first_of_several_counts():
    headers = [("run", b"r9"), *HEADERS, ("scenario", None), ("client-version", b"3\xff")]
    found = row("perf_windows", AT + WINDOW, headers=headers)

    assert (found.run, found.arm, found.scenario, found.client_version) == ("r9", "sticky", None, "3\ufffd")


def test_a_lone_surrogate_becomes_a_question_mark():
    assert row("runs", RUN.replace(b"skew", b"s\\ud800w")).scenario == "s?w"


WRONG_TYPES = {  # document -> reason and path of the field
    RUN.replace(b'"skew"', b"7"): ("missing_field", "scenario"),
    RUN.replace(b'["--topic","t"]', b'"--topic"'): ("missing_field", "configuration"),
    RUN.replace(b'"--topic"', b"7"): ("missing_field", "configuration[0]"),
    RUN.replace(b'"2026-11-21T09:20:00.5Z"', b"{}"): ("impossible_timestamp", "ended_at"),
    RUN.replace(b":512", b':"512"'): ("bad_number", "record_size_bytes"),
    RUN.replace(b":512", b":2147483648"): ("bad_number", "record_size_bytes"),
    RUN.replace(b":512", b":5e2"): ("bad_number", "record_size_bytes"),
    RUN.replace(b":100", b":9223372036854775808"): ("bad_number", "asked_records"),
    RUN.replace(b":100", b":" + b"9" * 5_000): ("bad_number", "asked_records"),
    RUN.replace(b"2048.0", b"-2048.0").replace(b":512", b":-512"): (
        "bad_number", "asked_records_per_s, record_size_bytes",
    ),
    RUN.replace(b"2048.0", b"9" * 400): ("bad_number", "asked_records_per_s"),
    RUN.replace(b'"exit_code":0', b'"exit_code":true'): ("bad_number", "exit_code"),
    RUN.replace(b"09:19:20.5Z", b"24:00:00Z"): ("impossible_timestamp", "started_at"),
}  # fmt: skip


@pytest.mark.parametrize("line", WRONG_TYPES, ids=range(len(WRONG_TYPES)))
def test_a_field_with_a_wrong_type_or_range_is_quarantined_with_its_path(line):
    assert parsed(line) == WRONG_TYPES[line]
    assert parsed(line, headers=None) == WRONG_TYPES[line]


def test_unknown_fields_and_nulls_are_ignored():
    line = RUN.replace(b'"exit_code":0', b'"exit_code":null,"newer":{"a":[1e400]}')

    assert row("runs", line).exit_code is None


NO_INSTANTS = [
    "2026", "2026-11-21T09:19:20.5", "2026-11-21T09:19:20.1234567Z", "\u06622026-11-21T09:19:20Z",
    "0000-01-01T00:00:00Z", "2026-11-21T09:19:60Z", "", "2026-11-21T09:19:20Z\n",
]  # fmt: skip


@pytest.mark.parametrize("text", NO_INSTANTS)
def test_an_instant_has_the_collector_s_format_or_is_none(text):
    assert instant(text) is None
