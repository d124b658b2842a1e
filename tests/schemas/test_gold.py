"""Each stored gold table has what its users expect, or says why not."""

import re

import pytest

from answers.exported.metrics import METRICS, read_columns
from answers.gold.contents import OF_REQUEST_LOG
from answers.questions import QUESTIONS
from conf.settings import PROJECT
from engine.gold.builder import gold_of
from schemas.gold import GOLD
from schemas.silver.requests import REQUESTS
from transforms.gold.builds import BUILDS

PAGES = PROJECT / "docs" / "questions"
ENTRY = re.compile(r"\]\((?P<page>[\w-]+\.md)\) \| (?P<tables>.*) \|$", re.MULTILINE)


def answered():
    """Return the tables that a page about a question names, by page; README.md lists both."""
    entries = ENTRY.finditer((PAGES / "README.md").read_text())
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


def test_a_gold_table_that_an_answer_returns_is_in_a_page_about_a_question():
    shown = {one.table.name for question in QUESTIONS for one in question.rows.values() if one.is_of_gold}

    assert shown <= HAVE["question"]


def test_the_tables_that_show_that_a_request_log_was_read_are_built_from_it_alone():
    of_builds = {
        table.name
        for build in BUILDS
        if REQUESTS in build.reads and not build.needs
        for table in build.tables
    }

    assert of_builds >= OF_REQUEST_LOG


def test_each_page_about_a_question_names_the_tables_of_its_entry():
    pages = {page.name: page.read_text() for page in PAGES.glob("*.md") if page.name != "README.md"}

    assert {page: set(re.findall(r"`gold\.(\w+)`", text)) for page, text in pages.items()} == answered()


def test_the_exporter_reads_each_table_but_those_that_say_why_they_have_no_metric():
    assert set(read_columns()) == {table for table in GOLD if not table.lacks.get("metric")}
