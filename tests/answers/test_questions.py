"""All questions: declared once, answered from made gold, empty without gold."""

import json
import re
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from answers.answer import FILLED_BY_GOLD, Download, FigureRow, Missing, Section
from answers.events.found import EVENTS
from answers.incidents import question as incident_question
from answers.incidents.found import incidents
from answers.listing import Listed
from answers.produce_held import question as produce
from answers.produce_held import slowest
from answers.questions import QUESTIONS, whole_answer
from answers.throttles import question as throttles
from schemas.gold.broker_rtt import BROKER_RTT
from schemas.gold.data_quality import DATA_QUALITY
from tests.answers import made_gold
from tests.answers.selected import selected

ANSWERED = [question for question in QUESTIONS if question.name not in ("runs", "pair", "incident")]
"""The questions that the made warehouse has rows for, without a choice of a pair or an incident."""


@pytest.mark.parametrize("question", ANSWERED, ids=lambda question: question.path)
def test_every_question_is_answered_with_tables_from_gold(question, east):
    answer = question.answer(east)

    assert answer.headline.sentence.endswith(".")
    assert not answer.is_empty
    assert all(listed.rows for listed in answer.tables)


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.path)
def test_without_gold_an_answer_says_what_is_missing(question):
    answer = question.answer(selected({}, pair=(1, 2)))

    assert answer.is_empty
    assert answer.headline.mood in ("calm", "unsure")
    blocks = [block for section in answer.sections for block in section.blocks]
    assert blocks
    assert all(isinstance(block, Missing) and block.fill.startswith("plumbline ") for block in blocks)


def without(question, **restricted):
    """Return the sentence of an answer without rows, and what is missing."""
    answer = question.answer(selected(**restricted))
    (missing,) = answer.sections[0].missing
    return answer.headline.sentence, missing


EVENTFUL = ("incidents", "fetches", "produce", "partitions", "throttles", "redirects", "lookups")


@pytest.mark.parametrize("name", EVENTFUL)
def test_a_span_that_was_read_and_in_which_nothing_happened_advises_to_run_no_job(name):
    """A round trip of the span shows that its request log was read."""
    question = next(one for one in QUESTIONS if one.name == name)
    read = {BROKER_RTT: [made_gold.rtt(0, 2, 1)]}
    quiet, nothing = without(question, tables=read, cluster="east")
    before, unread = without(question, tables=read, cluster="east", since=made_gold.at(1))

    assert (nothing.fill, nothing.words[:16]) == ("", "nothing to show:")
    assert before == "Nothing is known about this span: it was not read." != quiet
    assert unread.fill == FILLED_BY_GOLD
    assert unread.words == "no data: the newest window, 2026-11-21 11:00:00 UTC, is before this span."


def test_no_produce_request_is_said_of_a_span_that_was_read():
    sentence, _ = without(produce.QUESTION, tables={BROKER_RTT: [made_gold.rtt(0, 2, 1)]}, cluster="east")

    assert sentence == "There is no produce request in this span."


def test_a_gap_within_the_data_is_not_a_quiet_time():
    read = {BROKER_RTT: [made_gold.rtt(nth, 2, 1) for nth in (0, 9)]}
    span = {"since": made_gold.at(3), "until": made_gold.at(6)}

    _, missing = without(throttles.QUESTION, tables=read, cluster="east", **span)

    assert missing.words == (
        "no data: no request log and no poll of the cluster's settings of this span was read."
    )


@pytest.mark.parametrize(
    ("kind", "last", "fill"),
    [("cluster", 3, ""), ("metrics", 9, FILLED_BY_GOLD), ("cluster", 2, FILLED_BY_GOLD)],
    ids=["polled", "metrics alone do not show the settings", "polled before the span"],
)
def test_polls_of_the_settings_show_that_no_throttle_was_set(kind, last, fill):
    polls = made_gold.quality(1) | {"kind": kind, "last_logged_at": made_gold.at(last)}
    span = {"since": made_gold.at(3), "until": made_gold.at(6)}

    sentence, missing = without(throttles.QUESTION, tables={DATA_QUALITY: [polls]}, cluster="east", **span)

    assert missing.fill == fill
    assert (sentence == "No throttle was set in this span.") is (not fill)  # polls do not show moves


def test_a_span_after_the_newest_window_is_named_as_the_reason(east):
    answer = QUESTIONS[0].answer(replace(east, since=datetime(2027, 1, 1, tzinfo=UTC)))

    (missing,) = answer.sections[0].missing
    assert missing.what == "the newest window, 2026-11-21 11:04:50 UTC, is before this span."
    assert answer.headline.evidence == ["The newest window, 2026-11-21 11:04:50 UTC, is before this span."]


def test_names_of_sections_figures_and_tables_are_unique_in_a_report(east):
    sections: list[Section] = [one for answer in whole_answer(east).answers for one in answer.sections]
    names = [one.name for one in sections]
    for section in sections:
        for block in section.blocks:
            names += [one.name for one in block.drawn] if isinstance(block, FigureRow) else []
            names += [block.listing.name] if isinstance(block, Listed) else []

    assert [name for name in sorted(set(names)) if names.count(name) > 1] == []


def test_every_figure_has_words_and_can_be_written(east):
    figures = [
        drawn
        for question in QUESTIONS
        for section in question.answer(east).sections
        for block in section.blocks
        if isinstance(block, FigureRow)
        for drawn in block.drawn
    ]

    assert len(figures) >= 8
    assert all(one.words.endswith(".") and json.loads(one.figure.to_json())["data"] for one in figures)


def test_every_table_of_a_page_has_the_statement_that_made_it(east):
    """A table without one is computed from rows of several statements, and is in this list."""
    answers = [question.answer(east) for question in QUESTIONS]
    without = {one.listing.name for answer in answers for one in answer.tables if not one.query}

    assert without == {"findings", "incidents", EVENTS.name, slowest.SLOWEST.name, slowest.CLIENTS.name}


def test_statement_of_a_table_returns_its_rows(east):
    for answer in (question.answer(east) for question in QUESTIONS):
        for listed in answer.tables:
            if listed.query:
                assert re.search(r"\$[a-z]", listed.query) is None
                assert east.gold.rows(listed.query)


def test_every_question_has_a_path_and_a_title_of_its_own():
    assert len({question.path for question in QUESTIONS}) == len(QUESTIONS)
    assert len({question.title for question in QUESTIONS}) == len(QUESTIONS)


def test_each_incident_has_a_page_with_its_steps_its_note_and_the_figures_of_its_time(east):
    rows = incidents(east)

    assert {row["kind"] for row in rows} >= {"culprit", "throttle"}
    for row in rows:
        answer = incident_question.INCIDENT.answer(replace(east, incident=row["incident"]))
        (note,) = (block for block in answer.blocks if isinstance(block, Download))

        assert answer.headline.sentence == row["found"]
        assert answer.headline.steps
        assert note.name == row["incident"]
        assert len(answer.sections) > 1
