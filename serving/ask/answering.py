"""An answer as JSON, for programs; `docs/ask.md` describes it."""

from difflib import get_close_matches
from typing import Any

from answers.answer import Answer, Question
from answers.gold import contents
from answers.gold.relations import FIRST, LAST
from answers.gold.selection import GoldSelection
from answers.listing import Listed
from answers.matching import answered
from answers.questions import QUESTIONS
from conf.exit_codes import WrongUseError
from schemas.rows import Row, plain

SCHEMA_VERSION = 1
"""Changes when a key changes its meaning or is removed; new keys may come at any time."""

MOST_ROWS = 1000


def question_of(name: str) -> Question:
    """
    Return the question of a name.

    Raises:
        WrongUseError: there is none; the message lists the names.

    """
    by_name = {question.name: question for question in QUESTIONS}
    if name not in by_name:
        near = get_close_matches(name, by_name, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        message = f"no question {name!r}; {hint}there are: {', '.join(by_name)}"
        raise WrongUseError(message)
    return by_name[name]


def answer_of(question: Question, selection: GoldSelection) -> Row:
    """Return the answer to a question: the verdict, and the rows of each table that a person sees."""
    answer = answered(question, selection)
    return {
        "schema_version": SCHEMA_VERSION,
        "question": question.name,
        "cluster": selection.cluster,
        "since": None if selection.since == FIRST else plain(selection.since),
        "until": None if selection.until == LAST else plain(selection.until),
        "newest_window": plain(contents.edges(selection.gold, selection.cluster)["newest"]),
        "verdict": answer.headline.as_row(),
        "tables": {listed.listing.name.replace("-", "_"): _table(listed) for listed in answer.tables},
        "missing": _missing(answer),
    }


def _table(listed: Listed) -> Row:
    rows = listed.rows[:MOST_ROWS]
    return {
        "title": listed.listing.title,
        "rows": [{name: _cell(name, value) for name, value in row.items()} for row in rows],
        "rows_in_all": len(listed.rows),
    }


def _cell(name: str, value: Any) -> Any:  # noqa: ANN401 (a cell of any type)
    return [step._asdict() for step in value] if name == "next_steps" else plain(value)


def _missing(answer: Answer) -> list[Row]:
    return [
        {"what": block.what, "filled_by": block.fill or None}
        for section in answer.sections
        for block in section.missing
    ]
