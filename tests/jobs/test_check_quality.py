"""The quality gate as users and DAGs run it, and the gold that it holds back."""

import json
from datetime import timedelta

import pytest
import typer
from delta.tables import DeltaTable
from typer.testing import CliRunner

from conf.exit_codes import ExitCode
from engine.delta import tables
from engine.gold import held_back
from engine.ingest.losses import LostOffsets, record
from engine.process.lease import lease
from engine.quality import results_table
from jobs import build_gold
from jobs.check_quality import Layer, _report, check_quality, hours_of
from schemas.bronze import BRONZE
from schemas.gold import GOLD
from schemas.gold.broker_rtt import BROKER_RTT
from schemas.gold.quality_results import QUALITY_RESULTS
from schemas.silver import SILVER
from schemas.silver.requests import REQUESTS
from tests.jobs.test_build_gold import FetchLab, idle
from tests.transforms.gold.silver_rows import START, replaced
from transforms.gold.fetch_latency.build import BUILD
from transforms.spans import Span, spans_of

FIRST = ("--since", "2026-11-21T11:00:00", "--until", "2026-11-21T12:00:00")
app = typer.Typer()
app.command()(check_quality)


@pytest.fixture(scope="module")
def empty_lab(spark, tmp_path_factory):
    lab = FetchLab(spark, tmp_path_factory.mktemp("empty"), BUILD)
    for table in (*BRONZE, *SILVER, *GOLD):
        tables.ensure(spark, lab.warehouse, table)
    return lab


@pytest.fixture
def lab(empty_lab, tmp_path):
    """Return a lab with two brokers that are idle from 11:20 on, and again from 12:20 on."""
    lab = empty_lab.copied(tmp_path)
    (tmp_path / "my.toml").write_text(
        f'[warehouse]\nroot = "{tmp_path}/warehouse"\ncheckpoints = "{tmp_path}/checkpoints"\n'
        "[quality]\nlease_timeout_s = 0.1\n"
    )
    lab.arrive(*idle(n=20))
    lab.arrive(*idle(n=20, first=3600.6, start_id=500))
    return lab


def check(lab, layer, *options):
    return CliRunner().invoke(app, ["--layer", layer, "--conf", str(lab.root / "my.toml"), *options])


def build(lab, *options):
    result = CliRunner().invoke(build_gold.app, ["--conf", str(lab.root / "my.toml"), *options])
    assert result.exit_code == 0, result.output
    return result.stderr


def spoil(lab):
    """Append a request of the first hour with a negative duration."""
    requests, _ = idle(n=1)
    lab.arrive([replaced(REQUESTS, requests[0], total_ms=-1.0, position="broken/7")])


def hours_in_gold(lab):
    return {row["window_start"].hour for row in lab.rows(BROKER_RTT)}


def test_a_failed_rule_holds_back_only_its_hour_until_a_check_of_it_passes(lab, spark):
    spoil(lab)
    failed = check(lab, "silver")
    first = build(lab)
    held = hours_in_gold(lab)
    again = check(lab, "silver", *FIRST)
    DeltaTable.forPath(spark, tables.path(lab.warehouse, REQUESTS)).delete("position = 'broken/7'")
    passed = check(lab, "silver", *FIRST)
    second = build(lab)

    assert (failed.exit_code, again.exit_code, passed.exit_code) == (1, 1, 0), passed.output
    assert (
        "FAILED silver.requests total_ms_within_range, "
        "2026-11-21T11:00:00Z to 2026-11-21T12:00:00Z: 1 of 41 rows" in failed.stdout
    )
    assert '"position": "broken/7"' in failed.stdout
    assert "held back: gold of 2026-11-21T11:00:00Z to 2026-11-21T12:00:00Z is not built" in failed.stdout
    assert "held back: 2026-11-21T11:19:" in first
    assert "held back" not in second
    assert (held, hours_in_gold(lab)) == ({12}, {11, 12})
    assert check(lab, "gold", "--since", "2026-11-21T11:00Z", "--until", "2026-11-21T13:00Z").exit_code == 1
    assert check(lab, "silver").stdout.splitlines()[-1].startswith("silver: ")


def test_a_given_span_is_held_back_too_and_stays_owed(lab):
    spoil(lab)
    check(lab, "silver")
    output = build(lab, *FIRST)

    assert "held back: 2026-11-21T11:00:00Z to 2026-11-21T12:00:00Z" in output
    assert hours_in_gold(lab) == set()
    assert held_back.due(lab.warehouse) == []
    start = int(START.timestamp()) // 3600 * 3600
    assert held_back.held(lab.warehouse) == [Span(start, start + 3600)]


def test_new_rows_are_checked_once_and_late_rows_with_their_hour(lab):
    first, nothing = check(lab, "silver"), check(lab, "silver")
    lab.arrive(*idle(n=2, start_id=900))
    late = check(lab, "silver")

    assert first.stdout == "silver: 30 of 30 checks passed, spans: 2\n"
    assert nothing.stdout == "silver: nothing to check\n"
    assert late.stdout == "silver: 15 of 15 checks passed, spans: 1\n"
    newest = results_table.newest(lab.warehouse)
    assert len(newest) == 30
    assert {row["rows_seen"] for row in newest if row["span_start"].hour == 11} == {44, 88}


def test_lines_that_do_not_balance_fail_the_gate_after_gold(lab):
    """Silver has lines that bronze lacks, so more lines were kept than read."""
    build(lab)
    result = check(lab, "gold", "--since", "2026-11-21T11:00Z", "--until", "2026-11-21T12:00Z")

    assert result.exit_code == 1
    assert "FAILED gold.data_quality lines_are_conserved, the whole table: " in result.stdout
    assert "held back" not in result.stdout
    results = tables.read(lab.spark, lab.warehouse, QUALITY_RESULTS)
    assert results.filter("NOT is_passed").select("rule").distinct().collect() == [("lines_are_conserved",)]


def test_a_check_of_silver_names_what_kafka_lost_and_fails_no_rule_for_it(lab):
    gap = LostOffsets(topic="t.metrics", partition=3, first=5, end=12)
    record(lab.warehouse, [gap], writer="w", batch=1)

    result = check(lab, "silver")

    assert result.exit_code == 0
    assert "Kafka lost 7 records of t.metrics (partition 3) before they were read: retention" in result.output
    assert "Kafka lost" not in check(lab, "gold").output


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--until", "2026-11-21T12:00"), "--until needs --since"),
        (("--since", "yesterday"), "is neither an instant"),
        (("--since", "2026-11-21T12:00", "--until", "2026-11-21T12:00"), "is not before --until"),
    ],
)
def test_wrong_use_is_reported_and_has_its_own_code(lab, options, message):
    result = check(lab, "silver", *options)

    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())


def test_missing_rules_are_wrong_use(lab, tmp_path):
    with (lab.root / "my.toml").open("a") as file:
        file.write(f'suites = "{tmp_path}/none"\n')
    result = check(lab, "silver")

    assert result.exit_code == 2
    assert "no rules for silver in" in result.stderr


def test_a_second_check_is_refused_and_saves_no_result(lab):
    with lease(lab.warehouse, "quality", timeout_s=1):
        result = check(lab, "silver")

    assert result.exit_code == ExitCode.HELD
    assert "holds the quality lease of" in result.stderr
    assert results_table.newest(lab.warehouse) == []


def test_a_warehouse_that_was_never_checked_holds_nothing_back(lab):
    assert held_back.let_through(lab.warehouse, [10, 20]) == {10, 20}
    assert results_table.blocked(lab.warehouse) == set()
    assert not (lab.warehouse / held_back.OWED).exists()


def write(lab, *results):
    """Save results (minute of the check, first and last second, passed) of one rule of silver.requests."""
    rows = [
        {
            "checked_at": START + timedelta(minutes=minute),
            "layer": "silver",
            "table_name": "requests",
            "rule": "r",
            "is_passed": is_passed,
            "span_start": START + timedelta(seconds=low),
            "span_end": START + timedelta(seconds=high),
        }
        for minute, low, high, is_passed in results
    ]
    results_table.write(lab.spark, lab.warehouse, rows)


def test_the_newest_check_of_each_window_decides_whatever_its_span(lab):
    write(lab, (0, 0, 60, False), (1, 0, 30, True), (2, 50, 100, True), (3, 20, 30, False))
    start = int(START.timestamp())
    spans = spans_of(results_table.blocked(lab.warehouse))

    assert [(span.start - start, span.end - start) for span in spans] == [(20, 50)]


def test_held_back_windows_are_owed_until_they_are_built(lab):
    write(lab, (0, 0, 20, False))
    start = int(START.timestamp())
    through = held_back.let_through(lab.warehouse, [start, start + 10, start + 20])
    before = held_back.due(lab.warehouse)
    write(lab, (1, 0, 10, True))
    due = held_back.due(lab.warehouse)
    held_back.paid(lab.warehouse, [Span(start, start + 20)])

    assert (through, before, due) == ({start + 20}, [], [Span(start, start + 10)])
    assert json.loads((lab.warehouse / held_back.OWED).read_text()) == [[start + 10, start + 20]]
    assert held_back.due(lab.warehouse) == []


def test_a_span_is_split_at_full_hours():
    assert hours_of(Span(7200, 7210)) == [Span(7200, 7210)]
    assert hours_of(Span(7200, 14400)) == [Span(7200, 10800), Span(10800, 14400)]


def test_control_characters_of_a_client_id_are_written_out_at_the_terminal(capsys):
    """JSON escapes only those below a blank: C1 and turns of the direction would reach the terminal."""
    example = json.dumps({"client_id": "caf\xe9 \x1b[2J \x9b2J \u202e"}, ensure_ascii=False)
    row = {"table_name": "requests", "rule": "total", "about": "a total", "is_passed": False}
    row |= {"span_start": None, "span_end": None, "rows_seen": 1, "rows_failed": 1, "examples": [example]}

    assert not _report(Layer.GOLD, [row])
    assert '  {"client_id": "caf\xe9 \\u001b[2J \\x9b2J \\u202e"}\n' in capsys.readouterr().out
