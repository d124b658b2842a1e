"""A6: what metadata lookups cost each client."""

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
from answers.events.found import events
from answers.events.lane import with_lane
from answers.gold.selection import GoldSelection
from answers.metadata_lookups import lookups
from answers.metadata_lookups.figures import lookups_over_time
from answers.next_steps.clients import of_lookups
from answers.nothing import without_rows
from schemas.gold.metadata_lookup import METADATA_LOOKUP_SUMMARY


def answer(selection: GoldSelection) -> Answer:
    """Return the clients that ask for known topics again, topics per lookup over time, and all clients."""
    rows = lookups.lookups(selection)
    found = lookups.headline(rows)
    mood = "unsure" if found or not rows else "calm"
    headline = Headline(
        sentence=found or lookups.quiet(rows),
        mood=mood,
        steps=[step for row in lookups.growing(rows)[:1] for step in of_lookups(row)],
    )
    name, title = "topics-per-lookup", "Topics per lookup"
    if not rows:
        return without_rows(selection, headline, name=name, title=title, what="no METADATA request.")

    def sections() -> list[Section]:
        figure = DrawnFigure(
            name="lookups-over-time",
            figure=with_lane(lookups_over_time(lookups.over_time(selection)), events(selection)),
            words="Topics per lookup over time, by client.",
        )
        lead = "Lookups of all topics are left out."
        drawn = Section(name=name, title=title, lead=lead, blocks=[FigureRow([figure])])
        return [
            drawn,
            section_of(lookups.LISTING.listed(rows), "lookups", Sentences(lookups.sentences(rows))),
        ]

    return Answer(headline=headline, make_sections=sections, news=[found] if found else [])


QUESTION = Question(
    name="lookups",
    word="Lookups",
    title="Metadata lookups",
    filters=("span", "client"),
    answer=answer,
    rows={"metadata_lookup": AnswerRows(METADATA_LOOKUP_SUMMARY, lookups.lookups)},
    scenario="metadata",
)
