"""A7: which follower holds produce requests back, and where the time goes."""

from dataclasses import replace

from answers.answer import (
    Answer,
    AnswerRows,
    DrawnFigure,
    FigureRow,
    Headline,
    Question,
    Section,
    section_of,
)
from answers.gold.reader import QueryBoundError
from answers.gold.selection import GoldSelection
from answers.nothing import without_rows
from answers.produce_held import held, slowest, verdict
from answers.produce_held.figures import held_matrix, parts_over_time
from answers.slow_links.accusation import accusation
from answers.slow_links.culprits import clock
from answers.slow_links.matrix import brokers_of
from answers.throttles.limits import limits
from schemas.gold.produce_held import PRODUCE_HELD, PRODUCE_HELD_SUMMARY
from schemas.rows import Row

LEAD = (
    "Mean wait of the requests that the follower's fetches completed, ties too, in steps of {step} s. Busy: "
    "until the follower fetched. Serve: until the leader answered. Network: both ways, and the follower's "
    "append. Take: until the leader had handled the next fetch, which completes the request."
)
TOO_MANY = (
    "Not listed: the worst window has too many requests for a page. `plumbline ask produce` lists them."
)


def answer(selection: GoldSelection) -> Answer:
    """Return who holds produce back, the parts of the wait over time, and the pairs, topics and clients."""
    pairs = held.pairs(selection)
    named = [row for row in pairs if row["follower_id"] is not None]
    others = [section_of(rows, "not-named")] if (rows := held.NOT_NAMED.listed(pairs)).rows else []
    if not named:
        what = "no PRODUCE request that waited for a follower."
        quiet = verdict.without(pairs)
        answer = without_rows(selection, quiet, name="held", title="Who holds produce back", what=what)
        return replace(answer, make_sections=lambda: [*answer.sections, *others])
    found = held.chief(selection)
    shown = found.row if found else named[0]

    def sections() -> list[Section]:
        return [
            _over_time(selection, shown),
            _matrix(pairs, named),
            section_of(held.OF_TOPICS.listed(held.topics(selection)), "held-topics"),
            *_slowest(selection, shown),
            *others,
        ]

    if found is None:
        return Answer(headline=verdict.without(pairs), make_sections=sections)
    of, sentence = accusation(selection), verdict.sentence(found)
    headline = Headline(
        sentence=sentence,
        mood="alarm" if verdict.does_agree(found, of) else "unsure",
        evidence=verdict.evidence(found, of, limits(held.within(selection, found.row))),
        steps=verdict.steps(found),
    )
    return Answer(headline=headline, make_sections=sections, news=[sentence])


def _over_time(selection: GoldSelection, shown: Row) -> Section:
    leader, follower = shown["leader_id"], shown["follower_id"]
    steps = held.over_time(selection, leader, follower)
    drawn = DrawnFigure(
        name="held-parts",
        figure=parts_over_time(steps, selection.step),
        words="Mean parts of the wait for replication over time.",
        head=f"Requests to broker {leader} that the fetches of broker {follower} completed",
    )
    lead = LEAD.format(step=int(selection.step.total_seconds()))
    title = "Produce requests: where the wait goes"
    return Section(name="held", title=title, lead=lead, blocks=[FigureRow([drawn])])


def _matrix(pairs: list[Row], named: list[Row]) -> Section:
    drawn = DrawnFigure(
        name="held-matrix",
        figure=held_matrix(named, brokers_of(named)),
        words="Share of each leader's requests that each follower released; the table has the same figures.",
        head="Share released; below it the median hold, ties too",
    )
    return section_of(held.FOLLOWERS.listed(pairs), "held-pairs", FigureRow([drawn]))


def _slowest(selection: GoldSelection, shown: Row) -> list[Section]:
    try:
        found = slowest.slowest(selection, shown["leader_id"], shown["follower_id"])
    except QueryBoundError:
        return [Section(name="held-requests", title=slowest.SLOWEST.title, lead=TOO_MANY, blocks=[])]
    if found is None:
        return []
    span = f"{clock(found['worst'])} to {clock(found['worst'] + slowest.WINDOW)} UTC"
    return [
        section_of(replace(listing, title=f"{listing.title}, {span}").listed(rows), name)
        for listing, rows, name in (
            (slowest.CLIENTS, found["clients"], "held-clients"),
            (slowest.SLOWEST, found["requests"], "held-requests"),
        )
    ]


QUESTION = Question(
    name="produce",
    word="Produce",
    title="Who holds produce back",
    filters=("span", "broker", "topic"),
    answer=answer,
    rows={
        "produce_held": AnswerRows(PRODUCE_HELD, held.windows, is_of_gold=True),
        "produce_held_summary": AnswerRows(PRODUCE_HELD_SUMMARY, held.pairs),
    },
)
