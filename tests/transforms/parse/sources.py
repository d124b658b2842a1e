"""The sources of parsed lines: whole lines, their parser, and a check of kept rows."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from tests.transforms.parse import change_lines, perf_lines
from tests.transforms.parse.harms import parts_add_up
from tests.transforms.parse.records import CLIENT_LINES, REQUEST_LINES, TEXTS
from transforms.parse import client_events, leadership_changes, perf, requests
from transforms.parse.record import Outcome, Record


@dataclass(frozen=True, kw_only=True)
class LineSource:
    """Whole lines and their parser; `agrees` compares a kept row of one of `tables` with its line."""

    name: str
    lines: Sequence[bytes]
    mark: re.Pattern[bytes]  # A line with the mark is never skipped.
    parse: Callable[[Record], Outcome]
    tables: Sequence[str]
    agrees: Callable[[bytes, str, Mapping[str, object]], bool]
    fields: Mapping[str, object] = field(default_factory=dict)  # fields of the record


def said_by(says):
    """Return a check that compares a row with the result of an independent parser."""

    def agrees(value, table, row):
        read, columns = says(value) or (None, {})
        return (table, {name: row.get(name) for name in columns}) == (read, columns)

    return agrees


def same_correlation_id(value, _table, row):
    return row["correlation_id"] in map(int, re.findall(rb"correlationId=(-?\d+)", value))


SOURCES = [
    LineSource(
        name="request_log",
        lines=[line for line in REQUEST_LINES.values() if len(line) < 2_500] + TEXTS,
        mark=re.compile(rb"Completed request:"),
        parse=requests.parse,
        tables=("requests",),
        agrees=lambda _value, _table, row: parts_add_up(row, row["quality_flags"]),
    ),
    LineSource(
        name="client_log",
        lines=CLIENT_LINES,
        mark=re.compile(re.escape(client_events.MARK.encode())),
        parse=client_events.parse,
        tables=("client_events",),
        agrees=same_correlation_id,
    ),
    LineSource(
        name="state_change",
        lines=change_lines.LINES,
        mark=change_lines.MARK,
        parse=leadership_changes.parse,
        tables=("leadership_changes",),
        agrees=said_by(change_lines.says),
    ),
    LineSource(
        name="perf_test",
        lines=perf_lines.LINES,
        mark=perf_lines.MARK,
        parse=perf.parse,
        tables=("perf_windows", "perf_summaries", "client_metrics", "runs"),
        agrees=said_by(perf_lines.says),
        fields={
            "headers": [(h["key"], h["value"]) for h in perf_lines.HEADERS],
            "kind": "perf-test",
            "node": "host",
        },
    ),
]
