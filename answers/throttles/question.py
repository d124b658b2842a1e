"""A4: whether replication is kept to its throttle, and when moves of replicas end."""

from dataclasses import replace

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
from answers.gold.contents import READ_FROM_REQUEST_LOG
from answers.gold.selection import GoldSelection
from answers.next_steps.throttles import of_throttle
from answers.nothing import POLLED, is_read, without_rows
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
        return _nothing(selection, shown)

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


def _nothing(selection: GoldSelection, quiet: Headline) -> Answer:
    """Return that no throttle was set, from the request log or from polls, or that nothing was read."""
    names = {"name": "throttles", "title": THROTTLES.title}
    if not is_read(selection, READ_FROM_REQUEST_LOG) and is_read(selection, POLLED):
        polled = "No throttle was set in this span."
        quiet = replace(quiet, sentence=polled, evidence=["Without a request log, moves are not known."])
        return without_rows(selection, quiet, **names, what="the polled settings have none.", read=POLLED)
    what = "neither was logged. What was set before the first line that was read is not known."
    source = "request log and no poll of the cluster's settings"
    return without_rows(selection, quiet, **names, what=what, source=source)


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
