"""A2: which broker, side or link is slow, and since when."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from answers import time_heat
from answers.answer import (
    Answer,
    AnswerRows,
    Details,
    DrawnFigure,
    FigureRow,
    Question,
    Section,
    empty_section,
    section_of,
)
from answers.drawing import CHANGE, MOST_LEGEND_ENTRIES
from answers.events.found import EVENTS, events
from answers.events.lane import with_lane
from answers.formats import instant
from answers.gold.contents import too_late
from answers.gold.reader import QueryRows
from answers.gold.selection import BrokerPair, GoldSelection
from answers.slow_links import culprits, injected_delay, round_trips
from answers.slow_links.accusation import Accusation, accusation, accused_rows, quiet_rows
from answers.slow_links.culprits import Finding, clock, windows_in_full
from answers.slow_links.figures import heat_map, rtt_over_time
from answers.slow_links.injected_delay import injected_against_measured
from answers.slow_links.matrix import brokers_of, change_scale_ms, matrices, scale_ms
from answers.slow_links.rack_brackets import with_racks
from answers.slow_links.racks import RACK_PAIRS, by_rack, rack_pairs, racks
from answers.slow_links.round_trips import METHODS
from schemas.gold.broker_rtt import BROKER_RTT, BROKER_RTT_SUMMARY
from schemas.gold.broker_rtt_culprit import BROKER_RTT_CULPRIT
from schemas.rows import Row

NAMES = {
    "paired": "Paired: follower's log joined with leader's log",
    "passive": "Passive: leader's clock alone",
}
METHOD = Details(
    "How the culprit is found",
    "The round trips of all broker pairs in a 10 s window are explained by five shapes: no culprit, one "
    "broker, one broker's fetching side, one broker's serving side, one link. Each pair is compared with its "
    "own quiet history, or with the other pairs while it has none. A shape pays for its complexity, and its "
    "evidence is added up over windows; it is named once the evidence passes a threshold learnt from healthy "
    "windows. Shapes that explain the figures equally well are reported as a tie. "
    "The onset is the start of the first window of the evidence.",
)


def answer(selection: GoldSelection) -> Answer:
    """Return the verdict, the matrix of pairs, and their round trips over time."""
    of = accusation(selection)
    return Answer(headline=of.headline, make_sections=lambda: _sections(selection, of))


def _sections(selection: GoldSelection, of: Accusation) -> list[Section]:
    in_full = round_trips.round_trips(selection, only=of.chief.core) if of.chief else QueryRows()
    shown = in_full or round_trips.round_trips(selection)
    sections = [_matrix(selection, shown, of.chief if in_full else None)]
    if shown:
        listed = round_trips.PAIRS.listed(round_trips.pair_rows(shown, of.quiet), of.is_of)
        sections.append(section_of(replace(listed, query=shown.query), "pair-list"))
    return [*sections, *_truth(selection), *_compared(selection), *_over_time(selection, shown, of)]


def _matrix(selection: GoldSelection, rows: Sequence[Row], chief: Finding | None) -> Section:
    """Return the matrix of `rows`: those of the finding `chief`, else of the whole span."""
    title = "Round trip of each pair of brokers"
    if not rows:
        why = too_late(selection) or "no round trip of a pair of brokers is in this span."
        return empty_section("pairs", title, why)
    since, until = min(row["since"] for row in rows), max(row["until"] for row in rows)
    span = f"the whole span, {clock(since)} to {clock(until)} UTC"
    known = racks(selection)
    shown = matrices(rows, by_rack(brokers_of(rows), known))
    of_racks = RACK_PAIRS.listed(rack_pairs(rows, known))
    drawn = [
        DrawnFigure(
            name=f"heat-{matrix.method}",
            figure=with_racks(heat_map(matrix, scale_ms(shown)), matrix.brokers, known),
            words=f"Heat map of {matrix.method} round trips; the table has the same figures.",
            head=NAMES[matrix.method],
        )
        for matrix in shown
    ]
    return Section(
        name="pairs",
        title=title,
        lead=f"Rows fetch, columns serve. Figures of {windows_in_full(chief) if chief else span}.",
        blocks=[FigureRow(drawn), *([of_racks] if of_racks.rows else []), METHOD],
    )


def _truth(selection: GoldSelection) -> list[Section]:
    def of_span(since: datetime, until: datetime) -> list[Row]:
        return round_trips.round_trips(replace(selection, since=since, until=until))

    compared = [
        row
        for truth in selection.outside.get("truth", ())
        for row in injected_against_measured(truth, of_span)
    ]
    return [section_of(injected_delay.LISTING.listed(compared), "truth")] if compared else []


def _compared(selection: GoldSelection) -> list[Section]:
    """Return the difference of each pair from an earlier span, at the same quantile on both sides."""
    if selection.earlier is None:
        return []
    rows = round_trips.pair_rows(
        round_trips.round_trips(selection), round_trips.round_trips(selection.earlier)
    )
    known = [row for row in rows if row["rise_ms"] is not None]
    title, span = "Compared with an earlier span", f"{instant(selection.earlier.since)} UTC"
    if not known:
        return [empty_section("compared", title, f"no round trip of these pairs in the span from {span} on.")]
    shown = matrices(known, brokers_of(known), "rise_ms")
    drawn = [
        DrawnFigure(
            name=f"change-{matrix.method}",
            figure=heat_map(matrix, change_scale_ms(shown), CHANGE),
            words=f"Change of each pair's {matrix.method} round trip; the table has the same figures.",
            head=NAMES[matrix.method],
        )
        for matrix in shown
    ]
    listed = round_trips.CHANGES.listed(known)
    return [
        Section(
            name="compared",
            title=title,
            lead=f"This span less the one from {span} on; + is slower now.",
            blocks=[FigureRow(drawn), listed],
        )
    ]


def _over_time(selection: GoldSelection, shown: Sequence[Row], of: Accusation) -> list[Section]:
    pairs = drawn_pairs(shown, of)
    rows = round_trips.over_time(selection, pairs) if pairs else []
    if not rows:
        return []
    happened = events(selection)
    everything = {(row["follower_id"], row["leader_id"]) for row in shown}
    cut = f" The slowest {len(pairs)} of {len(everything)} pairs are drawn." * (len(pairs) < len(everything))
    step = int(selection.step.total_seconds())
    tables = [culprits.FINDINGS.listed(culprits.listed(of.found)), EVENTS.listed(happened)]
    return [
        Section(
            name="over-time",
            title="Round trips over time",
            lead=f"Each pair (follower from leader) in steps of {step} s. Accused pairs are red "
            f"and thick; the time of a finding is shaded.{cut}",
            blocks=[*_drawn(selection, rows, of, happened), *(one for one in tables if one.rows)],
        )
    ]


def _drawn(
    selection: GoldSelection, rows: Sequence[Row], of: Accusation, happened: Sequence[Row]
) -> list[FigureRow]:
    """Return the lines of pairs, by method, and the counts of the first method by time and latency."""
    pairs = {(row["follower_id"], row["leader_id"]) for row in rows}
    earlier = _earlier(selection, pairs)
    methods = [method for method in METHODS if any(row["method"] == method for row in rows)]
    lines = [
        DrawnFigure(
            name=f"rtt-{method}",
            figure=with_lane(
                rtt_over_time(rows, method, of.found, of.chief, selection.step, earlier), happened
            ),
            words=f"{method.capitalize()} round trips over time.",
            head=method.capitalize(),
        )
        for method in methods
    ]
    heat = DrawnFigure(
        name="rtt-heat",
        figure=time_heat.figure(time_heat.round_trips(selection, methods[0], pairs), "round trip"),
        words=f"Number of {methods[0]} round trips by time and latency.",
        head=f"How many round trips took how long ({methods[0]})",
    )
    return [FigureRow(lines), FigureRow([heat])]


def _earlier(selection: GoldSelection, pairs: set[BrokerPair]) -> list[Row]:
    """Return the round trips of the span to compare with, at the instants of this span."""
    if selection.earlier is None or selection.against is None:
        return []
    rows = round_trips.over_time(selection.earlier, pairs)
    return [row | {"window_start": row["window_start"] + selection.against} for row in rows]


def drawn_pairs(rows: Sequence[Row], accused: Accusation) -> set[BrokerPair]:
    """Return the pairs whose lines are drawn: all if there are few, else the accused and the slowest."""
    ordered = sorted(rows, key=lambda row: (not accused.is_of(row), -(row["rtt_ms"] or 0.0)))
    pairs = dict.fromkeys((row["follower_id"], row["leader_id"]) for row in ordered)
    return set(list(pairs)[:MOST_LEGEND_ENTRIES])


QUESTION = Question(
    name="slow-links",
    is_first=True,
    word="Who is slow",
    title="Who is slow",
    filters=("span", "against", "broker"),
    answer=answer,
    rows={
        "broker_rtt": AnswerRows(BROKER_RTT, round_trips.windows, is_of_gold=True),
        "broker_rtt_summary": AnswerRows(BROKER_RTT_SUMMARY, round_trips.round_trips),
        "broker_rtt_accused": AnswerRows(
            BROKER_RTT_SUMMARY, lambda selection: accused_rows(selection, round_trips.round_trips)
        ),
        "broker_rtt_quiet": AnswerRows(BROKER_RTT_SUMMARY, quiet_rows),
        "broker_rtt_culprit": AnswerRows(BROKER_RTT_CULPRIT, round_trips.culprits, is_of_gold=True),
    },
)
