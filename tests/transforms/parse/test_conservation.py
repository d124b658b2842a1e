"""Whatever happens to a line, it is kept, quarantined or skipped: one of them, once, with its bytes."""

import ast
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import functions as F
from pyspark.sql.types import DateType, TimestampType

import transforms.parse
from tests.transforms.parse.harms import HARMS, documented_reasons
from tests.transforms.parse.raw_rows import raw
from tests.transforms.parse.sources import SOURCES
from transforms.parse.outcome import KEPT, QUARANTINED, SKIP, quarantined, skipped

REASONS = documented_reasons(Path(__file__).parents[3] / "docs" / "quarantine.md")
FEWEST, MOST = 150, 250
"""Lines of a batch."""

of_each_source = pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.name)


def drawn(lines, dice):
    """Give a batch of real lines, each whole or spoiled in one of many ways."""
    count = dice.randint(FEWEST, MOST)
    return [dice.choice(HARMS)(dice.choice(lines), dice.choice(lines), dice) for _ in range(count)]


def check_batch(spark, values, source):
    """Hold what the parser makes of a batch against the batch."""
    parsed = source.parse(raw(spark, values, **source.told)).cache()
    try:
        places = {f"p/{nth}": value for nth, value in enumerate(values)}
        judged = parsed.select("position", "outcome").collect()
        outcomes = {row.position: row.outcome for row in judged}
        assert (len(judged), outcomes.keys()) == (len(values), places.keys())
        assert set(outcomes.values()) <= {KEPT, QUARANTINED, SKIP}
        kept, bad, passed = (
            {place: value for place, value in places.items() if outcomes[place] == outcome}
            for outcome in (KEPT, QUARANTINED, SKIP)
        )
        assert [value for value in passed.values() if source.mark.search(value)] == []
        check_whole(source, {value: outcomes[place] for place, value in places.items()})
        check_kept(source, parsed, kept)
        check_quarantined(parsed, bad)
        assert sum(row.lines for row in skipped(parsed, batch_id=0).collect()) == len(passed)
    finally:
        parsed.unpersist()


def check_whole(source, outcomes):
    """Hold that a line to which nothing was done is kept, or is not one of ours."""
    whole = outcomes.keys() & set(source.lines)
    wanted = {line: KEPT if source.mark.search(line) else SKIP for line in whole}
    assert {line: outcomes[line] for line in whole} == wanted


def check_kept(source, parsed, places):
    """Hold that each place is in one table, once, and that its row says what the line does."""
    rows = [(name, row) for name, kept in source.tables(parsed).items() for row in collected(kept)]
    assert sorted(row["position"] for _, row in rows) == sorted(places)
    told = [(places[row["position"]], name, row) for name, row in rows]
    assert [one for one in told if not source.agrees(*one)] == []


def check_quarantined(parsed, places):
    """Hold that each place is there, once, with its bytes and a reason that is explained."""
    rows = quarantined(parsed).collect()
    assert sorted((row.position, bytes(row.value)) for row in rows) == sorted(places.items())
    assert {row.reason for row in rows} <= REASONS


def collected(frame):
    """Collect rows as mappings, instants as text: Python has none of the year 0."""
    told = (
        F.col(field.name).cast("string")
        if isinstance(field.dataType, DateType | TimestampType)
        else field.name
        for field in frame.schema.fields
    )
    return [row.asDict() for row in frame.select(*told).collect()]


def hold(spark, source, *, examples, derandomize):
    @settings(
        max_examples=examples,
        deadline=None,
        derandomize=derandomize,
        phases=[Phase.generate],  # the lines that are wrong are told as they are
        suppress_health_check=list(HealthCheck),
        database=None,
    )
    @given(st.integers(0, 2**32))
    def check(seed):
        check_batch(spark, drawn(source.lines, Random(seed)), source)

    check()


@of_each_source
def test_lines_in_are_lines_kept_quarantined_and_skipped(spark, source):
    hold(spark, source, examples=8, derandomize=True)


@pytest.mark.faults
@of_each_source
def test_many_batches_lose_and_invent_nothing(spark, source):
    hold(spark, source, examples=200, derandomize=False)


def test_every_reason_of_a_parser_is_explained_and_no_other():
    calls = [
        node
        for source in Path(transforms.parse.__file__).parent.glob("*.py")
        for node in ast.walk(ast.parse(source.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "fails"
    ]

    assert {call.args[1].value for call in calls} == REASONS
