"""The list of all questions, in the order of the navigation, and the answer of a report to all of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from answers.answer import Answer, Headline, Question
from answers.data_quality import question as data_quality
from answers.fetches import question as fetches
from answers.gold.selection import GoldSelection
from answers.incidents import question as incidents
from answers.leader_redirects import question as leader_redirects
from answers.metadata_lookups import question as metadata_lookups
from answers.opening import opening
from answers.partition_skew import question as partition_skew
from answers.produce_held import question as produce_held
from answers.runs import comparison_question, summaries
from answers.runs import question as runs
from answers.slow_links import accusation, pair
from answers.slow_links import question as slow_links
from answers.throttles import question as throttles

QUESTIONS: tuple[Question, ...] = (
    slow_links.QUESTION,
    incidents.QUESTION,
    fetches.QUESTION,
    produce_held.QUESTION,
    partition_skew.QUESTION,
    throttles.QUESTION,
    leader_redirects.QUESTION,
    metadata_lookups.QUESTION,
    runs.QUESTION,
    comparison_question.QUESTION,
    data_quality.QUESTION,
    pair.QUESTION,
    incidents.INCIDENT,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeAnswer:
    """The answers to all questions of a report; what was asked or found comes first."""

    headline: Headline
    answers: Sequence[Answer]


def whole_answer(selection: GoldSelection) -> WholeAnswer:
    """Return the answers of a report. Answers without data are left out, except the first."""
    asked = [question for question in QUESTIONS if question.is_in_report]
    answers = {question: question.answer(selection) for question in asked}
    scenarios = {row["scenario"] for row in summaries.summaries(selection)}
    kept = [
        question for question in asked if question is slow_links.QUESTION or not answers[question].is_empty
    ]
    ordered = sorted(kept, key=lambda question: _rank(question, answers[question], scenarios))
    headline = headline_of(answers, scenarios, is_accused=accusation.accusation(selection).chief is not None)
    return WholeAnswer(headline=headline, answers=[answers[question] for question in ordered])


def _rank(question: Question, answer: Answer, scenarios: set[str | None]) -> int:
    """Return the place of an answer: first what a scenario asked, then what was found, then the rest."""
    if question is data_quality.QUESTION:
        return 3
    if question.scenario in scenarios and answer.news:
        return 0
    return 1 if answer.headline.mood == "alarm" or answer.news else 2


def headline_of(
    answers: Mapping[Question, Answer], scenarios: set[str | None], *, is_accused: bool
) -> Headline:
    """Return the sentence at the top of a report."""
    clients = {question.scenario: answer.news for question, answer in answers.items() if question.scenario}
    return opening(
        answers[slow_links.QUESTION].headline,
        clients,
        scenarios,
        [*answers[produce_held.QUESTION].news, *answers[throttles.QUESTION].news],
        is_accused=is_accused,
    )
