"""A4: whether replication is kept to its throttle, and when moves of replicas end."""

from answers.answer import (
    Answer,
    AnswerRows,
    DrawnFigure,
    FigureRow,
    Headline,
    Question,
    Section,
    Sentences,
    empty_section,
    section_of,
)
from answers.events.found import events
from answers.events.lane import with_lane
from answers.gold.selection import GoldSelection
from answers.next_steps.throttles import of_throttle
from answers.throttles.figures import rates_over_time
from answers.throttles.limits import limits, traffic, windows
from answers.throttles.listings import MOVES, THROTTLES
from answers.throttles.moves import forecast, moves
from answers.throttles.sentences import (
    bad_throttles,
    headline,
    is_bad,
    of_moves,
    of_throttles,
    worst_first,
)
from schemas.gold.reassignment_progress import REASSIGNMENT_FORECAST, REASSIGNMENT_SUMMARY
from schemas.gold.throttle_compliance import THROTTLE_COMPLIANCE, THROTTLE_COMPLIANCE_SUMMARY

MOST_STEPS = 6


def answer(selection: GoldSelection) -> Answer:
    """Return the throttle that needs action, the rates over time, all throttles and all moves."""
    throttles, moved = limits(selection), moves(selection)
    mood = "unsure" if any(map(is_bad, throttles)) else "calm"
    steps = [step for row in worst_first(throttles) if is_bad(row) for step in of_throttle(row)]
    shown = Headline(sentence=headline(throttles, moved), mood=mood, steps=steps[:MOST_STEPS])
    if not throttles and not moved:
        what = "neither a throttle nor a move was seen."
        nothing = empty_section("throttles", THROTTLES.title, what)
        return Answer(headline=shown, make_sections=lambda: [nothing])

    def sections() -> list[Section]:
        figure = DrawnFigure(
            name="throttle-rates",
            figure=with_lane(rates_over_time(traffic(selection)), events(selection)),
            words="Throttled bytes per second by broker and direction over time; a dotted line is the limit.",
        )
        listed = THROTTLES.listed(throttles)
        kept = section_of(listed, "throttles", FigureRow([figure]), Sentences(of_throttles(throttles)))
        moving = section_of(MOVES.listed(moved), "moves", Sentences(of_moves(moved)))
        return [*([kept] if throttles else []), *([moving] if moved else [])]

    return Answer(headline=shown, make_sections=sections, news=bad_throttles(throttles))


QUESTION = Question(
    name="throttles",
    word="Throttles",
    title="Throttles and moves",
    filters=("span", "broker"),
    answer=answer,
    rows={
        "throttle_compliance": AnswerRows(THROTTLE_COMPLIANCE_SUMMARY, limits),
        "throttle_compliance_windows": AnswerRows(THROTTLE_COMPLIANCE, windows, is_of_gold=True),
        "reassignment_progress": AnswerRows(REASSIGNMENT_SUMMARY, moves),
        "reassignment_progress_windows": AnswerRows(REASSIGNMENT_FORECAST, forecast),
    },
)
