"""The answer to a question whose filter matches nothing: it says so, instead of something false."""

from difflib import get_close_matches

from answers import formats
from answers.answer import Answer, Headline, Question
from answers.gold import contents
from answers.gold.selection import WINDOW, GoldSelection

MOST_KNOWN = 10
PAIR_TABLES = ("broker_rtt", "fetch_latency")
"""The tables of gold with pairs of brokers."""


def answered(question: Question, selection: GoldSelection) -> Answer:
    """Return the answer; if gold lacks the value of a filter, the headline says so and names the others."""
    unmatched = _unmatched(question, selection)
    return Answer(headline=unmatched, make_sections=list) if unmatched else question.answer(selection)


def _unmatched(question: Question, selection: GoldSelection) -> Headline | None:
    for name in contents.NAMED:
        value = getattr(selection, name)
        if value is None or name not in question.filters:
            continue
        known = contents.values_of_span(selection, name, question.is_made_from)
        if known and value not in known:  # without any value, the answer says what is missing
            return _headline(
                f"{name} {formats.printable(str(value))}", str(value), list(map(str, known)), selection
            )
    if question.name == "pair" and selection.pair:
        known = contents.values_of_span(selection, "broker", PAIR_TABLES.__contains__)
        for broker in selection.pair:
            if known and broker not in known:
                return _headline(f"broker {broker}", str(broker), list(map(str, known)), selection)
    return None


def _headline(what: str, value: str, known: list[str], selection: GoldSelection) -> Headline:
    ends = contents.edges(selection.gold, selection.cluster)
    since, until = max(selection.since, ends["oldest"]), min(selection.until, ends["newest"] + WINDOW)
    near = [] if value.isdecimal() else get_close_matches(value, known, n=1)
    more = f" and {len(known) - MOST_KNOWN} more" * (len(known) > MOST_KNOWN)
    return Headline(
        sentence=f"Nothing about {what} between {formats.instant(since)} and {formats.instant(until)} UTC.",
        mood="unsure",
        evidence=[
            *(f"Did you mean {one}?" for one in near),
            f"Known: {', '.join(known[:MOST_KNOWN])}{more}.",
        ],
    )
