"""Invariants of every parser for any bytes: one outcome, a documented reason, rows that fit Arrow."""

import time
from pathlib import Path
from random import Random

import pyarrow as pa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql.pandas.types import to_arrow_schema

from tests.transforms.parse.harms import HARMS, documented_reasons
from tests.transforms.parse.records import record
from transforms.parse.record import Kept, Quarantined, Skipped

REASONS = documented_reasons(Path(__file__).parents[3] / "docs" / "quarantine.md")
SKIPS = {"blank", "continuation", "other_logger", "not_a_request", "not_a_change", "not_a_figure"}


def arrow(rows, table):
    """Build Arrow columns of rows by the table's types; raise if a value does not fit."""
    assert {type(row)._fields for row in rows} <= {tuple(table.schema.names)}
    schema = to_arrow_schema(table.schema, timezone="UTC")
    return [
        pa.array(cells, kind) for kind, cells in zip(schema.types, zip(*rows, strict=True), strict=bool(rows))
    ]


def check(parse, value, mark, tables, **fields):
    """Check the outcome of a line; a line with the mark is never skipped."""
    outcome = parse(record(value, **fields))
    if type(outcome) is Kept:
        assert outcome.rows.keys() <= tables.keys()
        for name, rows in outcome.rows.items():
            arrow(rows, tables[name])
    elif type(outcome) is Quarantined:
        assert outcome.reason in REASONS
    else:
        assert type(outcome) is Skipped
        assert outcome.reason in SKIPS
        assert not mark.search(value)
    return outcome


def spoiled(lines):
    """Return a strategy of arbitrary bytes and of mutated real lines."""

    def harmed(seed):
        dice = Random(seed)
        return dice.choice(HARMS)(dice.choice(lines), dice.choice(lines), dice)

    return st.one_of(st.binary(), st.text().map(lambda text: text.encode(errors="ignore")),
                     *[st.integers(0, 2**32).map(harmed)] * 6)  # fmt: skip


def with_any_bytes(lines):
    """Decorate a test of one argument, the bytes of a line."""

    def decorate(test):
        quick = settings(
            max_examples=400, deadline=None, database=None, suppress_health_check=list(HealthCheck)
        )
        return quick(given(value=spoiled(lines))(test))

    return decorate


def took_s(parse, value, **fields):
    """Return the CPU time of parsing a line, in seconds."""
    given_record = record(value, **fields)
    began = time.process_time()
    parse(given_record)
    return time.process_time() - began
