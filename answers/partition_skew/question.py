"""A3: whether producers spread their bytes evenly, and whether a slow leader gets more of them."""

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
from answers.nothing import without_rows
from answers.partition_skew import sentences as skew
from answers.partition_skew.figures import shares
from answers.partition_skew.spread import MIN_BATCHES, partitions, producers
from schemas.gold.partition_skew import PARTITION_SKEW_SPAN, PARTITION_SKEW_SUMMARY


def answer(selection: GoldSelection) -> Answer:
    """Return the producers that a leader is slow for, the shares of the partitions, and all producers."""
    rows = producers(selection)
    listed = skew.PRODUCERS.listed(rows)
    found = skew.headline(rows)
    headline = Headline(
        sentence=found or skew.quiet(rows),
        mood="unsure" if found or not listed.rows else "calm",
        evidence=[f"Judged from {MIN_BATCHES} batches on."] if listed.rows else [],
    )
    title = "Shares of the partitions"
    if not listed.rows:
        what = "no producer wrote to a topic of several partitions in this span."
        return without_rows(selection, headline, name="shares-of", title=title, what=what)

    def sections() -> list[Section]:
        figure = DrawnFigure(
            name="shares",
            figure=shares(partitions(selection), rows),
            words="Share of bytes of each partition, by producer.",
        )
        drawn = Section(
            name="shares-of",
            title=title,
            lead="Share of each partition in a producer's bytes; "
            "a red diamond belongs to its slowest leader.",
            blocks=[FigureRow([figure])],
        )
        return [drawn, section_of(listed, "skew", Sentences(skew.sentences(rows)))]

    return Answer(headline=headline, make_sections=sections, news=[found] if found else [])


QUESTION = Question(
    name="partitions",
    word="Partitions",
    title="Partition skew",
    filters=("span", "topic", "client"),
    answer=answer,
    rows={
        "partition_skew": AnswerRows(PARTITION_SKEW_SPAN, partitions),
        "partition_skew_summary": AnswerRows(PARTITION_SKEW_SUMMARY, producers),
    },
    scenario="skew",
)
