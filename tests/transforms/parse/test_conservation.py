"""Whatever happens to a line, it is kept, quarantined or skipped: one of them, once, with its bytes."""

import ast
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import transforms.parse
from tests.transforms.parse.harms import HARMS, documented_reasons, parts_add_up
from tests.transforms.parse.raw_rows import CLIENT_LINES, REQUEST_LINES, raw
from tests.transforms.parse.test_text_form import TEXTS
from transforms.parse import client_log, request_log
from transforms.parse.outcome import KEPT, QUARANTINED, SKIP

REASONS = documented_reasons(Path(__file__).parents[3] / "docs" / "quarantine.md")
BATCH = {"min_size": 150, "max_size": 250}


def spoiled(lines):
    """Give a real line, whole or spoiled in one of many ways."""

    def made(line, other, harm, seed):
        return harm(line, other, Random(seed))

    known = st.sampled_from(lines)
    return st.builds(made, known, known, st.sampled_from(HARMS), st.integers(0, 2**32))


PARSERS = [
    pytest.param(
        [line for line in REQUEST_LINES if len(line) < 2_500] + TEXTS,
        request_log.parse_request_log,
        request_log,
        b"Completed request:",
        id="request_log",
    ),
    pytest.param(
        CLIENT_LINES, client_log.parse_client_log, client_log, client_log.MARK.encode(), id="client_log"
    ),
]


def check_batch(spark, values, parse, module, mark):
    """Hold what the parser makes of a batch against the batch."""
    parsed = parse(raw(spark, values)).cache()
    try:
        places = {f"p/{nth}": value for nth, value in enumerate(values)}
        judged = parsed.select("position", "outcome", "reason", "value").collect()
        told = {row.position: row for row in judged}
        assert (len(judged), told.keys()) == (len(values), places.keys())
        assert {row.outcome for row in judged} <= {KEPT, QUARANTINED, SKIP}
        kept = {row.position: row.asDict() for row in module.kept(parsed).collect()}
        bad = {row.position: row for row in module.quarantined(parsed).collect()}
        skipped = sum(row.lines for row in module.skipped(parsed, batch_id=0).collect())
        assert kept.keys() == {place for place, row in told.items() if row.outcome == KEPT}
        assert bad.keys() == {place for place, row in told.items() if row.outcome == QUARANTINED}
        assert len(kept) + len(bad) + skipped == len(values)
        assert [place for place, row in bad.items() if bytes(row.value) != places[place]] == []
        assert {row.reason for row in bad.values()} <= REASONS
        assert [places[p] for p, row in told.items() if mark in places[p] and row.outcome == SKIP] == []
        if module is request_log:
            assert [row for row in kept.values() if not parts_add_up(row, row["quality_flags"])] == []
    finally:
        parsed.unpersist()


def hold(spark, example, *, examples, derandomize):
    lines, *parser = example

    @settings(
        max_examples=examples,
        deadline=None,
        derandomize=derandomize,
        suppress_health_check=list(HealthCheck),
        database=None,
    )
    @given(st.lists(spoiled(lines), **BATCH))
    def check(values):
        check_batch(spark, values, *parser)

    check()


@pytest.mark.parametrize(("lines", "parse", "module", "mark"), PARSERS)
def test_lines_in_are_lines_kept_quarantined_and_skipped(spark, lines, parse, module, mark):
    hold(spark, (lines, parse, module, mark), examples=8, derandomize=True)


@pytest.mark.faults
@pytest.mark.parametrize(("lines", "parse", "module", "mark"), PARSERS)
def test_many_batches_lose_and_invent_nothing(spark, lines, parse, module, mark):
    hold(spark, (lines, parse, module, mark), examples=200, derandomize=False)


def test_every_reason_of_a_parser_is_explained_and_no_other():
    calls = [
        node
        for source in Path(transforms.parse.__file__).parent.glob("*.py")
        for node in ast.walk(ast.parse(source.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "fails"
    ]

    assert {call.args[1].value for call in calls} == REASONS
