"""The report as JSON: every key is always there, NULL is null, no NaN; `docs/report.md` lists the keys."""

import json
from collections.abc import Sequence

import msgspec

from answers.answer import AnswerRows, Headline
from answers.data_quality import counts
from answers.data_quality.question import doubts
from answers.gold.contents import rows_of_span
from answers.gold.selection import GoldSelection
from answers.questions import QUESTIONS
from schemas.fields import HISTOGRAM, Table
from schemas.gold.broker_rtt import BROKER_RTT_SUMMARY
from schemas.gold.data_quality import DATA_QUALITY
from schemas.rows import Row, plain

QUARANTINE = ("reason", "kind", "node", "source", "position", "detail", "preview")
TABLES: dict[str, AnswerRows] = {key: rows for question in QUESTIONS for key, rows in question.rows.items()}
"""The keys of `tables`, which the questions declare."""

MOST_ROWS = 200_000
"""A gold table with more rows of the span is left out; an hour of 30 brokers has 1.2 million."""


def document(selection: GoldSelection, headline: Headline, inputs: Row) -> Row:
    """Return the JSON document of the report."""
    counted = {key: rows_of_span(selection, one.table) for key, one in TABLES.items() if one.is_of_gold}
    left_out = {key: n for key, n in counted.items() if n > MOST_ROWS}
    tables = {
        key: [] if key in left_out else _rows_of(one.rows(selection), one.table)
        for key, one in TABLES.items()
    }
    return {
        "verdict": headline.as_row(),
        "tables": tables | {"quarantine": _rows(counts.quarantined(selection), QUARANTINE)},
        "left_out": left_out,
        "data_quality": data_quality(selection),
        "inputs": inputs,
    }


def data_quality(selection: GoldSelection) -> Row:
    """Return the counts of lines: in all, by source, by reason and by logger."""
    sources = counts.by_source(selection)
    totals = counts.totals_of(sources)
    return {
        **totals,
        "is_balanced": counts.is_balanced(totals),
        "doubts": doubts(selection),
        "by_source": _rows(sources, columns_of(DATA_QUALITY)),
        "quarantined_by_reason": _rows(counts.quarantined_by_reason(selection), ["reason", "lines"]),
        "skipped_by_logger": _rows(counts.skipped_by_logger(selection), ["logger", "reason", "lines"]),
    }


def columns_of(table: Table) -> list[str]:
    """Return the columns of a table without its histograms."""
    return [field.name for field in table.schema.fields if field.dataType != HISTOGRAM]


def _rows(rows: Sequence[Row], columns: Sequence[str]) -> list[Row]:
    return [{column: row.get(column) for column in columns} for row in rows]


def _rows_of(rows: Sequence[Row], table: Table) -> list[Row]:
    columns = columns_of(table)
    if table is BROKER_RTT_SUMMARY:  # rows of windows and of spans have the same columns
        rows, columns = (
            [{**row, "window_start": row.get("since")} for row in rows],
            ["window_start", *columns],
        )
    return _rows(rows, columns)


def as_text(content: Row) -> str:
    """
    Return a document as JSON text: instants as ISO 8601 in UTC with `Z`, NaN and infinities as null.

    >>> from datetime import UTC, datetime
    >>> print(as_text({"at": datetime(2026, 11, 21, 11, tzinfo=UTC), "ms": [float("nan"), 1.5]}), end="")
    {
     "at": "2026-11-21T11:00:00Z",
     "ms": [
      null,
      1.5
     ]
    }

    """
    try:
        encoded = msgspec.json.encode(content, enc_hook=_exact)  # `json` takes eight times as long
    except UnicodeEncodeError:  # a file name that is not UTF-8
        return json.dumps(plain(content), indent=1) + "\n"
    return msgspec.json.format(encoded, indent=1).decode() + "\n"


def _exact(value: object) -> float:
    """Return a float of numpy as one of Python."""
    if isinstance(value, float):
        return float(value)
    message = f"{value!r} has no form in JSON"
    raise TypeError(message)
