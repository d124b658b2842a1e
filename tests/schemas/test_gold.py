"""Each stored gold table has what its users expect, or says why not."""

import re

import pytest

from answers.exported.metrics import METRICS, read_columns
from conf.settings import PROJECT
from engine.gold.builder import gold_of
from schemas.gold import GOLD
from transforms.gold.builds import BUILDS

QUESTIONS = PROJECT / "docs" / "questions"
ENTRY = re.compile(r"\]\((?P<page>[\w-]+\.md)\) \| (?P<tables>.*) \|$", re.MULTILINE)


def answered():
    """Return the tables that a page about a question names, by page; README.md lists both."""
    entries = ENTRY.finditer((QUESTIONS / "README.md").read_text())
    return {entry["page"]: set(re.findall(r"`(\w+)`", entry["tables"])) for entry in entries}


HAVE = {
    "build": {table.name for table in gold_of(BUILDS)},
    "suite": {
        file.stem.removeprefix("gold_") for file in (PROJECT / "conf/expectations").glob("gold_*.json")
    },
    "question": set().union(*answered().values()),
    "metric": {metric.source.split(".")[0] for metric in METRICS},
}


@pytest.mark.parametrize("what", HAVE)
@pytest.mark.parametrize("table", GOLD, ids=lambda table: table.name)
def test_a_table_has_a_build_a_suite_a_question_and_a_metric_or_the_reason_why_not(table, what):
    assert (table.name in HAVE[what]) != bool(table.lacks.get(what))


def test_what_is_declared_is_a_table():
    names = {table.name for table in GOLD}

    assert HAVE["build"] | HAVE["suite"] | HAVE["question"] <= names


def test_each_page_about_a_question_names_the_tables_of_its_answer():
    pages = {page.name: page.read_text() for page in QUESTIONS.glob("*.md") if page.name != "README.md"}

    assert {page: set(re.findall(r"`gold\.(\w+)`", text)) for page, text in pages.items()} == answered()


def test_the_exporter_reads_each_table_but_those_that_say_why_they_have_no_metric():
    assert set(read_columns()) == {table for table in GOLD if not table.lacks.get("metric")}
