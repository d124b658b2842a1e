"""Each stored gold table has what its users expect, or says why not."""

import re

import pytest

from answers.exported.metrics import METRICS, read_columns
from conf.settings import PROJECT
from engine.gold.builder import gold_of
from schemas.gold import GOLD
from transforms.gold.builds import BUILDS

QUESTIONS = (PROJECT / "docs" / "questions" / "README.md").read_text()
HAVE = {
    "build": {table.name for table in gold_of(BUILDS)},
    "suite": {
        file.stem.removeprefix("gold_") for file in (PROJECT / "conf/expectations").glob("gold_*.json")
    },
    "question": set(re.findall(r"`(\w+)`", QUESTIONS)),
    "metric": {metric.source.split(".")[0] for metric in METRICS},
}


@pytest.mark.parametrize("what", HAVE)
@pytest.mark.parametrize("table", GOLD, ids=lambda table: table.name)
def test_a_table_has_a_build_a_suite_a_question_and_a_metric_or_the_reason_why_not(table, what):
    assert (table.name in HAVE[what]) != bool(table.lacks.get(what))


def test_what_is_declared_is_a_table():
    names = {table.name for table in GOLD}

    assert HAVE["build"] | HAVE["suite"] | HAVE["question"] <= names


def test_the_exporter_reads_all_tables_that_are_built():
    assert {table.name for table in read_columns()} == {table.name for table in gold_of(BUILDS)} | {
        "data_quality"
    }
