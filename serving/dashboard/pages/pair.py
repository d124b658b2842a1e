"""A pair of the matrix: its latency over time, and its slowest requests."""

from dataclasses import replace

from dash import html
from dash.development.base_component import Component

from answers.fetches import latency as fetch_latency
from answers.fetches.slowest import LONGEST, MOST, REQUESTS, slowest
from answers.gold.selection import GoldSelection
from answers.slow_links import round_trips
from answers.slow_links.culprits import Finding, clock, findings, headline, is_accused
from answers.slow_links.round_trips import METHODS
from serving.dashboard.pages.links import FILL
from serving.dashboard.parts import graph, nothing, section, table, verdict
from serving.dashboard.request import DashboardRequest
from serving.report.figures import latency_over_time, rtt_over_time


def page(request: DashboardRequest) -> list[Component]:
    """Return the page."""
    follower, leader = request.filters.follower, request.filters.leader
    if follower is None or leader is None:
        return [verdict("Which pair? Choose a cell of the matrix.", "unsure")]
    pair, of = (follower, leader), request.of_all_brokers
    culprits = round_trips.culprits(of)
    found = [one for one in findings(culprits) if is_accused(one.row, follower, leader)]
    chief = headline(culprits).finding
    chief = chief if chief and is_accused(chief.row, follower, leader) else None
    return [
        _verdict(of, pair, chief),
        _round_trips(of, pair, found, chief),
        _latency(of, pair, chief),
        _requests(of, pair, chief),
    ]


def _verdict(of: GoldSelection, pair: tuple[int, int], chief: Finding | None) -> Component:
    rows = round_trips.round_trips(of, only=chief.core, pair=pair) if chief else []
    rows = rows or round_trips.round_trips(of, pair=pair)
    best = min(rows, key=lambda row: METHODS.index(row["method"]), default=None)
    baseline = round_trips.baseline(of, pair, best["method"]) if best else {}
    sentence, small = round_trips.headline(pair, best, baseline, is_finding=chief is not None)
    is_known = best is not None and best["rtt_ms"] is not None
    return verdict(sentence, "unsure" if not is_known else "alarm" if chief else "calm", small)


def _round_trips(
    of: GoldSelection, pair: tuple[int, int], found: list[Finding], chief: Finding | None
) -> Component:
    rows = round_trips.over_time(of, pair)
    title, step = "Its round trips over time", int(of.step.total_seconds())
    methods = [method for method in METHODS if any(row["method"] == method for row in rows)]
    if not methods:
        missing = nothing("there is no round trip of this pair in this span.", fill=FILL)
        return section(title, "", missing, name="pair-rtt")
    drawn = [
        html.Div(
            [
                html.H3(method.capitalize()),
                graph(
                    f"pair-rtt-{method}",
                    rtt_over_time(rows, method, found, chief, of.step),
                    f"{method.capitalize()} round trips of the pair over time.",
                ),
            ]
        )
        for method in methods
    ]
    lead = f"Steps of {step} s; the time of a finding is shaded."
    return section(title, lead, html.Div(drawn, className="side"), name="pair-rtt")


def _latency(of: GoldSelection, pair: tuple[int, int], chief: Finding | None) -> Component:
    rows = fetch_latency.over_time(of, pair)
    title = "True against plain latency of its fetches"
    lead = (
        "Medians. Wide grey is what stock metrics show, solid the true latency, dotted the leader's own work."
    )
    if not rows:
        return section(title, lead, nothing("no fetch of this pair.", fill=FILL), name="pair-latency")
    figure = latency_over_time(rows, pair[1], chief, of.step)
    return section(title, lead, graph("pair-latency-figure", figure, lead), name="pair-latency")


def _requests(of: GoldSelection, pair: tuple[int, int], chief: Finding | None) -> Component:
    if chief:
        of = replace(of, since=chief.since, until=chief.until)
    rows = slowest(of, pair)
    times = f"{clock(max(of.since, of.until - LONGEST))} to {clock(of.until)} UTC"
    lead = (
        f"Up to {MOST} of {times}, from silver: the leader's line of each fetch, joined with the follower's "
        "log by client id and correlation id. True = elapsed - purgatory."
    )
    title = REQUESTS.title
    if not rows:
        missing = nothing("silver has no fetch of this pair then.", fill="plumbline ingest")
        return section(title, lead, missing, name="requests")
    return section(title, lead, table(REQUESTS.listed(rows)), name="requests")
