"""The rules as Prometheus reads them, their unit tests, and which series an expression asks for."""

import shutil
import subprocess
from pathlib import Path

import pytest

from answers.exported.metrics import METRICS
from conf.progress import Progress
from conf.settings import PROJECT
from engine.ingest.meters import IngestMeters
from serving.exporter.backtest_cli import RULES
from serving.exporter.rules import RuleError, rules_of, selectors
from serving.exporter.serve import _own

HERE = Path(__file__).parent
OF_PIPELINE = RULES.with_name("pipeline.yml")


@pytest.mark.parametrize(
    "command",
    [
        ["check", "rules", RULES],
        ["check", "rules", OF_PIPELINE],
        ["test", "rules", HERE / "alerts_test.yml"],
        ["test", "rules", HERE / "pipeline_test.yml"],
    ],
)
def test_promtool_passes_the_rules(command):
    if not shutil.which("promtool"):
        pytest.skip("promtool is not on the path: see .ci/run")

    done = subprocess.run([shutil.which("promtool"), *command], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("expr", "asked"),
    [
        ('a{x="}"} / on (b) group_left () c offset 5m', ['a{x="}"}', "c"]),
        ("sum by (k) (rate(a[5m])) > bool 1e3 or absent(d)", ["a", "d"]),
        ("label_replace(a, 'to', '$1', 'from', '(.*)')", ["a"]),
        ("time() - a > Inf", ["a"]),
    ],
)
def test_an_expression_tells_which_series_it_asks_for(expr, asked):
    assert selectors(expr) == asked


def test_every_rule_says_what_to_do_and_has_a_section_of_the_page():
    page = (PROJECT / "docs" / "alerts.md").read_text()

    assert [rule.name for rule in rules_of([RULES, OF_PIPELINE]) if f"\n## {rule.name}\n" not in page] == []


def test_the_rules_of_the_pipeline_ask_for_series_that_exist():
    own = [*_own({}, 0, 0.0), *IngestMeters(Progress()).registry.collect()]
    exported = {metric.name for metric in METRICS} | {family.name for family in own}

    asked = {part.partition("{")[0] for rule in rules_of([OF_PIPELINE]) for part in selectors(rule.expr)}
    assert {name.removesuffix("_total") for name in asked - {"up"}} <= exported


@pytest.mark.parametrize("text", ["groups: 5", "{", "groups: [{rules: [{record: a, expr: b}]}]"])
def test_what_is_no_alert_is_refused_by_name(tmp_path, text):
    path = tmp_path / "mine.yml"
    path.write_text(text)

    with pytest.raises(RuleError, match=r"mine\.yml"):
        rules_of([path])


@pytest.mark.parametrize(("version", "number"), [("12.3", 12), ("0.1", 0), ("", -1)])
def test_a_table_that_is_not_there_has_version_minus_1(version, number):
    tables = next(_own({"broker_rtt": version}, 0, 0.0))

    assert [sample.value for sample in tables.samples] == [number]
