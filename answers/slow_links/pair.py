"""A2: one pair of brokers: its round trips and fetches over time, and its slowest requests."""

from dataclasses import replace

from answers.answer import (
    FILLED_BY_GOLD,
    Answer,
    DrawnFigure,
    FigureRow,
    Headline,
    Missing,
    Question,
    Section,
    empty_section,
)
from answers.events.found import events
from answers.events.lane import with_lane
from answers.fetches import latency
from answers.fetches.figures import LEAD, latency_over_time
from answers.fetches.slowest import LONGEST, MOST, REQUESTS, slowest
from answers.gold.selection import BrokerPair, GoldSelection
from answers.slow_links import round_trips
from answers.slow_links.accusation import Accusation, accusation
from answers.slow_links.culprits import Finding, clock, is_accused, windows_in_full
from answers.slow_links.figures import rtt_over_time
from answers.slow_links.round_trips import METHODS


def answer(selection: GoldSelection) -> Answer:
    """Return the answer about the pair of the selection."""
    if selection.pair is None:
        headline = Headline(sentence="Which pair? Choose a cell of the matrix.", mood="unsure")
        return Answer(headline=headline, make_sections=list)
    pair, everything = selection.pair, selection.of_all_brokers
    of = accusation(selection)
    chief = of.chief if of.chief and is_accused(of.chief.row, *pair) else None
    return Answer(
        headline=_headline(everything, pair, chief),
        make_sections=lambda: [
            _round_trips(everything, pair, of, chief),
            _latency(everything, pair, chief),
            _requests(everything, pair, chief),
        ],
    )


def _headline(selection: GoldSelection, pair: BrokerPair, chief: Finding | None) -> Headline:
    in_full = round_trips.round_trips(selection, only=chief.core, pairs=[pair]) if chief else []
    rows = in_full or round_trips.round_trips(selection, pairs=[pair])
    best = min(rows, key=lambda row: METHODS.index(row["method"]), default=None)
    baseline = round_trips.baseline(selection, pair, best["method"]) if best else {}
    span = {"span": windows_in_full(chief)} if chief and in_full else {}
    sentence, evidence = round_trips.headline(pair, best, baseline, **span)
    is_known = best is not None and best["rtt_ms"] is not None
    mood = "unsure" if not is_known else "alarm" if chief else "calm"
    return Headline(sentence=sentence, mood=mood, evidence=evidence)


def _round_trips(
    selection: GoldSelection, pair: BrokerPair, of: Accusation, chief: Finding | None
) -> Section:
    rows = round_trips.over_time(selection, [pair])
    found = [one for one in of.found if is_accused(one.row, *pair)]
    drawn = [
        DrawnFigure(
            name=f"pair-rtt-{method}",
            figure=with_lane(rtt_over_time(rows, method, found, chief, selection.step), events(selection)),
            words=f"{method.capitalize()} round trips of the pair over time.",
            head=method.capitalize(),
        )
        for method in METHODS
        if any(row["method"] == method for row in rows)
    ]
    missing = Missing("there is no round trip of this pair in this span.", FILLED_BY_GOLD)
    step = int(selection.step.total_seconds())
    return Section(
        name="pair-rtt",
        title="Its round trips over time",
        lead=f"Steps of {step} s; the time of a finding is shaded." if drawn else "",
        blocks=[FigureRow(drawn) if drawn else missing],
    )


def _latency(selection: GoldSelection, pair: BrokerPair, chief: Finding | None) -> Section:
    rows = latency.over_time(selection, [pair])
    name, title = "pair-latency", "True and plain latency of its fetches"
    if not rows:
        return empty_section(name, title, "no fetch of this pair.")
    figure = with_lane(latency_over_time(rows, pair[1], chief, selection.step), events(selection))
    drawn = DrawnFigure(name="pair-latency-figure", figure=figure, words=LEAD)
    return Section(name=name, title=title, lead=LEAD, blocks=[FigureRow([drawn])])


def _requests(selection: GoldSelection, pair: BrokerPair, chief: Finding | None) -> Section:
    if chief:
        selection = replace(selection, since=chief.since, until=chief.until)
    rows = slowest(selection, pair)
    times = f"{clock(max(selection.since, selection.until - LONGEST))} to {clock(selection.until)} UTC"
    missing = Missing("silver has no fetch of this pair then.", "plumbline ingest")
    return Section(
        name="requests",
        title=REQUESTS.title,
        lead=f"Up to {MOST} of {times}, from silver: the leader's line of each fetch, joined with the "
        "follower's log by client id and correlation id. True = elapsed - purgatory.",
        blocks=[REQUESTS.listed(rows) if rows else missing],
    )


QUESTION = Question(
    name="pair", word="", title="A pair of brokers", filters=("span",), answer=answer, is_in_report=False
)
