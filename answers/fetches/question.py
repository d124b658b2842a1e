"""A1: fetch latency without the wait in purgatory, compared with stock Kafka's metric."""

from collections.abc import Sequence
from dataclasses import replace

from answers import time_heat
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
from answers.fetches import latency, leader_local_means, stock
from answers.fetches.figures import LEAD, latency_over_time
from answers.gold.selection import BrokerPair, GoldSelection
from answers.nothing import without_rows
from answers.slow_links.accusation import Accusation, accusation, accused_rows
from answers.slow_links.culprits import windows_in_full
from schemas.gold.fetch_latency import FETCH_LATENCY
from schemas.gold.leader_local_mean import LEADER_LOCAL_MEAN, LEADER_LOCAL_MEAN_SUMMARY
from schemas.gold.stock_fetch_total import STOCK_FETCH_TOTAL
from schemas.rows import Row

MOST_LEADERS, MOST_FOLLOWERS = 12, 6
"""The maximum number of figures, and of the slowest followers in each."""


def answer(selection: GoldSelection) -> Answer:
    """Return the slowest follower and leader, the comparison with Kafka's metric, and all fetchers."""
    rows = latency.fetches(selection)
    if not rows:
        headline = Headline(sentence="There is no fetch in this span.", mood="unsure")
        nothing = without_rows(selection, headline, name="fetches", title="Fetches", what="no fetch.")
        return replace(nothing, make_sections=lambda: [*nothing.sections, *_means(selection)])
    of = accusation(selection)
    followers = [row for row in rows if row["kind"] == "follower"]
    return Answer(
        headline=_headline(followers, of),
        make_sections=lambda: [
            *_compared(selection, followers, of),
            *_over_time(selection, followers, of),
            *(
                section_of(listed, name)
                for listing, name in (
                    (latency.FOLLOWERS, "followers"),
                    (latency.CONSUMERS, "consumers"),
                    (latency.SHARES, "share"),
                    (latency.RAFTS, "raft"),
                )
                if (listed := listing.listed(rows, query=rows.query)).rows
            ),
            *_means(selection),
        ],
    )


def _headline(followers: Sequence[Row], of: Accusation) -> Headline:
    sentence, evidence = latency.headline(followers)
    worst = latency.slowest(followers)
    mood = "unsure" if worst is None else "alarm" if of.is_of(worst) else "calm"
    return Headline(sentence=sentence, mood=mood, evidence=evidence)


def _compared(selection: GoldSelection, followers: Sequence[Row], of: Accusation) -> list[Section]:
    scrapes = latency.newest_stock(selection)
    during = latency.fetches(selection, only=of.chief.core) if of.chief else []
    listed = stock.COMPARISON.listed(stock.compared(scrapes, during or followers), query=scrapes.query)
    if not listed.rows:
        return []
    span = windows_in_full(of.chief) if of.chief and during else "the whole span"
    lines = [f"Percentiles of {span}."]
    if not scrapes:
        lines.append(
            "There is no scrape of the brokers' JMX exporters; the request log's plain total is the same "
            "quantity."
        )
    return [section_of(listed, "dashboard", Sentences(lines))]


def _over_time(selection: GoldSelection, followers: Sequence[Row], of: Accusation) -> list[Section]:
    pairs = drawn_pairs(followers, of)
    rows = latency.over_time(selection, pairs) if pairs else []
    drawn = [
        DrawnFigure(
            name=f"latency-{leader}",
            figure=latency_over_time(rows, leader, of.chief, selection.step),
            words=f"True and plain latency of fetches that broker {leader} served, over time.",
            head=f"Fetches served by broker {leader}",
        )
        for leader in sorted({leader for _, leader in pairs})
    ]
    step = int(selection.step.total_seconds())
    title, lead = "True and plain latency over time", f"Each {step} s, one figure per leader. {LEAD}"
    if not drawn:
        return []
    counted = time_heat.fetches(selection, "follower", pairs)
    metric = "true latency" if counted and counted[0]["metric"] == "true" else "the leader's own work"
    heat = DrawnFigure(
        name="fetch-heat",
        figure=time_heat.figure(counted, metric),
        words="Number of fetches by time and latency.",
        head=f"How many fetches took how long ({metric})",
    )
    blocks = [FigureRow(drawn, is_dense=True), FigureRow([heat])]
    return [Section(name="latency", title=title, lead=lead, blocks=blocks)]


def drawn_pairs(followers: Sequence[Row], accused: Accusation) -> set[BrokerPair]:
    """Return the pairs whose lines are drawn: of each leader the accused and the slowest followers."""
    ordered = sorted(followers, key=lambda row: (not accused.is_of(row), -_known_ms(row)))
    by_leader: dict[int, list[BrokerPair]] = {}
    for row in ordered:
        by_leader.setdefault(row["leader_id"], []).append((row["follower_id"], row["leader_id"]))
    chosen = list(by_leader.values())[:MOST_LEADERS]
    return {pair for pairs in chosen for pair in list(dict.fromkeys(pairs))[:MOST_FOLLOWERS]}


def _known_ms(row: Row) -> float:
    """Return the true median, else that of the leader's own work."""
    return float(row["true_p50_ms"] or row["leader_local_p50_ms"] or 0.0)


def _means(selection: GoldSelection) -> list[Section]:
    rows = leader_local_means.means(selection)
    if not rows:
        return []
    listed, compared = leader_local_means.LISTING.listed(rows), leader_local_means.COMPARISON.listed(rows)
    sentences = Sentences(leader_local_means.sentences(rows))
    after = [compared] if compared.rows else []
    return [section_of(listed, "leader-local", sentences, after=after)]


QUESTION = Question(
    name="fetches",
    word="Fetches",
    title="True fetch latency",
    filters=("span", "broker", "client"),
    answer=answer,
    rows={
        "fetch_latency": AnswerRows(FETCH_LATENCY, latency.windows, is_of_gold=True),
        "fetch_latency_summary": AnswerRows(FETCH_LATENCY, latency.fetches),
        "fetch_latency_accused": AnswerRows(
            FETCH_LATENCY, lambda selection: accused_rows(selection, latency.fetches)
        ),
        "leader_local_mean": AnswerRows(LEADER_LOCAL_MEAN, leader_local_means.windows, is_of_gold=True),
        "leader_local_mean_summary": AnswerRows(LEADER_LOCAL_MEAN_SUMMARY, leader_local_means.means),
        "stock_fetch_total": AnswerRows(STOCK_FETCH_TOTAL, latency.stock, is_of_gold=True),
    },
)
