"""The kinds of lines that are parsed: whole ones, their parser, and what a kept row must agree with."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import DataFrame

from schemas.perf_test import PERF_TEST
from tests.transforms.parse import change_lines, perf_lines
from tests.transforms.parse.harms import parts_add_up
from tests.transforms.parse.raw_rows import CLIENT_LINES, REQUEST_LINES
from tests.transforms.parse.test_text_form import TEXTS
from transforms.parse import client_log, perf_test, request_log, state_change


@dataclass(frozen=True, kw_only=True)
class Source:
    """Whole lines with their parser; `tables` gives the kept rows, `agrees` holds one against its line."""

    name: str
    lines: Sequence[bytes]
    mark: re.Pattern[bytes]  # a line that has it is never skipped
    parse: Callable[[DataFrame], DataFrame]
    tables: Callable[[DataFrame], Mapping[str, DataFrame]]
    agrees: Callable[[bytes, str, Mapping[str, object]], bool]
    told: Mapping[str, object] = field(default_factory=dict)  # columns of bronze


def said_by(says):
    """Compare a row with what plain Python reads from the line."""

    def agrees(value, table, row):
        told, columns = says(value) or (None, {})
        return (table, {name: row.get(name) for name in columns}) == (told, columns)

    return agrees


def same_correlation_id(value, _table, row):
    return row["correlation_id"] in map(int, re.findall(rb"correlationId=(-?\d+)", value))


SOURCES = [
    Source(
        name="request_log",
        lines=[line for line in REQUEST_LINES if len(line) < 2_500] + TEXTS,
        mark=re.compile(rb"Completed request:"),
        parse=request_log.parse_request_log,
        tables=lambda parsed: {"requests": request_log.kept(parsed)},
        agrees=lambda _value, _table, row: parts_add_up(row, row["quality_flags"]),
    ),
    Source(
        name="client_log",
        lines=CLIENT_LINES,
        mark=re.compile(re.escape(client_log.MARK.encode())),
        parse=client_log.parse_client_log,
        tables=lambda parsed: {"client_events": client_log.kept(parsed)},
        agrees=same_correlation_id,
    ),
    Source(
        name="state_change",
        lines=change_lines.LINES,
        mark=change_lines.MARK,
        parse=state_change.parse_state_change,
        tables=lambda parsed: {"leadership_changes": state_change.kept(parsed)},
        agrees=said_by(change_lines.says),
    ),
    Source(
        name="perf_test",
        lines=perf_lines.LINES,
        mark=perf_lines.MARK,
        parse=perf_test.parse_perf_test,
        tables=lambda parsed: {table.name: perf_test.rows_of(parsed, table) for table in PERF_TEST},
        agrees=said_by(perf_lines.says),
        told={"headers": perf_lines.HEADERS, "kind": "perf-test", "node": "host"},
    ),
]
