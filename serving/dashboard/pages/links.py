"""A2, the first page: which broker, side or link is slow, since when; the matrix of pairs, and lines."""

from dataclasses import replace

from dash import html
from dash.development.base_component import Component

from answers.slow_links import round_trips
from answers.slow_links.culprits import Finding, Headline, clock, findings, headline, is_accused, windows_of
from answers.slow_links.round_trips import METHODS
from schemas.rows import Row
from serving.dashboard.filters import Filters
from serving.dashboard.parts import graph, nothing, section, table, verdict
from serving.dashboard.request import DashboardRequest
from serving.report.figures import heat_map, rtt_over_time
from serving.report.matrix import Matrix, brokers_of, matrices, scale_ms

NAMES = {
    "paired": "Paired: follower's log joined with leader's log",
    "passive": "Passive: leader's clock alone",
}
FILL = "plumbline ingest and plumbline build-gold --follow"


def page(request: DashboardRequest) -> list[Component]:
    """Return the page."""
    of, of_all = request.selection, request.of_all_brokers
    culprits = round_trips.culprits(of_all)
    found = findings(culprits)
    chief = headline(culprits).finding
    accused = round_trips.round_trips(of_all, only=chief.core) if chief else []
    quiet = round_trips.round_trips(of_all, but=windows_of(found)) if chief else []
    summary = headline(culprits, accused, quiet)
    shown = round_trips.round_trips(of, only=chief.core) if chief else []
    shown = shown or round_trips.round_trips(of)
    return [
        verdict(summary.sentence, summary.mood, summary.small_print),
        _matrix(shown, chief),
        _pairs(request, shown, quiet, chief),
        _over_time(request, found, summary),
    ]


def pair_address(filters: Filters, follower: int, leader: int) -> str:
    """Return the address of the page of a pair."""
    return f"/pair{replace(filters, follower=follower, leader=leader).query()}"


def _matrix(rows: list[Row], chief: Finding | None) -> Component:
    title = "Round trip of each pair of brokers"
    if not rows:
        missing = nothing("no round trip of a pair of brokers lies in this span.", fill=FILL)
        return section(title, "Rows fetch, columns serve.", missing, name="pairs")
    shown = matrices(rows, brokers_of(rows))
    of = "the time of the finding" if chief else "the span"
    span = f"{clock(min(row['since'] for row in rows))} to {clock(max(row['until'] for row in rows))} UTC"
    lead = f"Rows fetch, columns serve. Figures of {of}, {span}. A click on a cell looks into the pair."
    maps = [html.Div([html.H3(NAMES[matrix.method]), _map(matrix, shown)]) for matrix in shown]
    return section(title, lead, html.Div(maps, className="side"), name="pairs")


def _map(matrix: Matrix, shown: list[Matrix]) -> Component:
    words = f"Heat map of {matrix.method} round trips; the table below has the same figures."
    return graph(f"heat-{matrix.method}", heat_map(matrix, scale_ms(shown)), words)


def _pairs(request: DashboardRequest, rows: list[Row], quiet: list[Row], chief: Finding | None) -> Component:
    def href(row: Row) -> str:
        return pair_address(request.filters, row["follower_id"], row["leader_id"])

    def is_marked(row: Row) -> bool:
        return chief is not None and is_accused(chief.row, row["follower_id"], row["leader_id"])

    listed = round_trips.PAIRS.listed(round_trips.pair_rows(rows, quiet), is_marked)
    lead = f"{listed.listing.lead} The name of a pair opens its page."
    return section(listed.listing.title, lead, table(listed, href), name="list")


def _over_time(request: DashboardRequest, found: list[Finding], summary: Headline) -> Component:
    rows = round_trips.over_time(request.selection)
    methods = [method for method in METHODS if any(row["method"] == method for row in rows)]
    step = int(request.step.total_seconds())
    lead = f"Steps of {step} s; the accused pair is red, the time of a finding shaded."
    drawn = [
        graph(
            f"rtt-{method}",
            rtt_over_time(rows, method, found, summary.finding, request.step),
            f"Round trips over time, {method}.",
        )
        for method in methods[:1]
    ]
    return section("Round trips over time", lead, *drawn, name="over-time")
