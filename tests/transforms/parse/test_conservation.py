"""Every line, damaged or not, is kept, quarantined or skipped exactly once, and its rows fit their tables."""

import ast
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import transforms.parse
from engine.ingest.task.arrow_rows import TABLES, record_batch
from tests.transforms.parse.harms import HARMS, documented_reasons
from tests.transforms.parse.sources import SOURCES
from transforms.parse.record import Kept, Quarantined, Record, Skipped

REASONS = documented_reasons(Path(__file__).parents[3] / "docs" / "quarantine.md")
FEWEST, MOST = 150, 250
"""The number of lines of a batch."""

of_each_source = pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.name)


def drawn(lines, dice):
    """Return a random batch of real lines, each whole or damaged in one of many ways."""
    count = dice.randint(FEWEST, MOST)
    return [dice.choice(HARMS)(dice.choice(lines), dice.choice(lines), dice) for _ in range(count)]


def check_batch(values, source):
    """Compare the parser's outcomes of a batch with its lines."""
    rows = {table: [] for table in source.tables}
    for nth, value in enumerate(values):
        record = Record(
            value=value,
            **{"cluster": "lab", "node": "broker-1", "source": "a.log", "time_zone": "UTC"}
            | dict(source.fields),
            position=f"p/{nth}",
        )
        outcome = source.parse(record)
        assert isinstance(outcome, Kept | Quarantined | Skipped)
        if value in source.lines:
            assert isinstance(outcome, Kept if source.mark.search(value) else Skipped), value
        if isinstance(outcome, Skipped):
            assert source.mark.search(value) is None
        elif isinstance(outcome, Quarantined):
            assert outcome.reason in REASONS
        else:
            of_line = [(table, row) for table in source.tables for row in outcome.rows.get(table, ())]
            assert len(of_line) == 1
            for table, more in outcome.rows.items():
                rows.setdefault(table, []).extend(more)
    for table, of in rows.items():
        for row, read in zip(of, cells(record_batch(TABLES[table], of)), strict=True):
            value = values[int(row.position.partition("/")[2])]
            assert table not in source.tables or source.agrees(value, table, read)


def cells(batch):
    """Return rows as mappings, with instants as text as Spark writes them, since Python has no year 0."""
    columns = {
        name: [text(at) for at in column.cast(pa.int64()).to_pylist()]
        if pa.types.is_timestamp(column.type)
        else [dict(pairs or ()) for pairs in column.to_pylist()]
        if pa.types.is_map(column.type)
        else column.to_pylist()
        for name, column in zip(batch.schema.names, batch.columns, strict=True)
    }
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def text(instant_us):
    if instant_us is None:
        return None
    at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=instant_us)
    written = at.strftime("%Y-%m-%d %H:%M:%S.%f").zfill(26)
    return written.rstrip("0").rstrip(".")


def hold(source, *, examples, derandomize):
    @settings(
        max_examples=examples,
        deadline=None,
        derandomize=derandomize,
        phases=[Phase.generate],  # Without shrinking, a failure shows the original line.
        suppress_health_check=list(HealthCheck),
        database=None,
    )
    @given(st.integers(0, 2**32))
    def check(seed):
        check_batch(drawn(source.lines, Random(seed)), source)

    check()


@of_each_source
def test_every_line_is_kept_quarantined_or_skipped(source):
    hold(source, examples=40, derandomize=True)


@pytest.mark.faults
@of_each_source
def test_many_batches_lose_and_invent_nothing(source):
    hold(source, examples=2_000, derandomize=False)


def test_the_documented_reasons_are_exactly_those_of_the_parsers():
    trees = [ast.parse(file.read_text()) for file in Path(transforms.parse.__file__).parent.rglob("*.py")]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    calls = [n for n in nodes if isinstance(n, ast.Call) and getattr(n.func, "id", "") == "Quarantined"]
    given = {call.args[0].value for call in calls if isinstance(call.args[0], ast.Constant)}
    words = {node.value for node in nodes if isinstance(node, ast.Constant)}

    assert given <= REASONS <= words
