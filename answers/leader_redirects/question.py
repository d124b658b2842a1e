"""A5: how long clients are without a leader after it moved or died."""

from answers.answer import (
    Answer,
    AnswerRows,
    DrawnFigure,
    FigureRow,
    Headline,
    Question,
    Section,
    Sentences,
    section_of,
)
from answers.gold.selection import GoldSelection
from answers.leader_redirects import redirects
from answers.leader_redirects.figures import redirect_times
from answers.nothing import without_rows
from schemas.gold.leader_redirect import LEADER_REDIRECT, LEADER_REDIRECT_SUMMARY


def answer(selection: GoldSelection) -> Answer:
    """Return how long clients were without a leader, by client version and event by event."""
    events, versions = redirects.events(selection), redirects.by_version(selection)
    found = redirects.headline(versions)
    headline = Headline(sentence=found or redirects.quiet(versions), mood="unsure" if events else "calm")
    name, title = "redirect", "How long clients were without a leader"
    if not events:
        what = "no leader moved or died under a client."
        return without_rows(selection, headline, name=name, title=title, what=what)

    def sections() -> list[Section]:
        figure = DrawnFigure(
            name="redirect-times",
            figure=redirect_times(events),
            words="How long each client was without a leader, by version.",
        )
        drawn = Section(
            name=name,
            title=title,
            lead="From the first error, or a dead leader's last response, "
            "to the first success at the new leader.",
            blocks=[FigureRow([figure])],
        )
        moved, died = redirects.REDIRECTS.listed(versions), redirects.DISCONNECTS.listed(versions)
        sentences = Sentences(redirects.sentences(versions, events))
        return [
            *([drawn] if redirects.moved(versions) else []),
            *([section_of(moved, "redirects", sentences)] if moved.rows else []),
            *([section_of(died, "disconnects")] if died.rows else []),
            section_of(redirects.LOST_LEADERS.listed(events), "events"),
        ]

    return Answer(headline=headline, make_sections=sections, news=[found] if found else [])


QUESTION = Question(
    name="redirects",
    word="Redirects",
    title="Leader redirects",
    filters=("span", "broker", "topic", "client"),
    answer=answer,
    rows={
        "leader_redirect": AnswerRows(LEADER_REDIRECT, redirects.events, is_of_gold=True),
        "leader_redirect_summary": AnswerRows(LEADER_REDIRECT_SUMMARY, redirects.by_version),
    },
    scenario="redirect",
)
