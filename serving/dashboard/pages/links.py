"""A2, the first page: which broker, side or link is slow, since when; the matrix of pairs, and lines."""

from dataclasses import replace

from dash import dcc, html
from dash.development.base_component import Component

from answers import round_trips
from schemas.rows import Row
from serving.dashboard.filters import Filters
from serving.dashboard.parts import Column, details, graph, nothing, number, section, table, text, verdict
from serving.dashboard.request import DashboardRequest
from serving.report.figures import heat_map, rtt_over_time
from serving.report.findings import Finding, Headline, clock, findings, headline, is_accused, windows_of
from serving.report.matrix import METHODS, Matrix, brokers_of, matrices, pair_rows, scale_ms
from serving.report.page_text import count, ms

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
    def link(row: Row) -> Component:
        words = f"{row['follower_id']} from {row['leader_id']}"
        return dcc.Link(words, href=pair_address(request.filters, row["follower_id"], row["leader_id"]))

    columns = [
        Column("pair", link, is_text=True),
        text("method", "method"),
        number("RTT ms", "rtt_ms", ms),
        text("quantile", "estimator"),
        Column("95 % interval", lambda row: f"{ms(row['rtt_low_ms'])} to {ms(row['rtt_high_ms'])}"),
        number("n", "n", count),
        number("p50", "rtt_p50_ms", ms),
        number("p99", "rtt_p99_ms", ms),
        number("when quiet", "quiet_ms", ms),
        number("rise", "rise_ms", ms),
    ]
    listed = table(
        "pair-table",
        columns,
        pair_rows(rows, quiet),
        mark=lambda row: chief is not None and is_accused(chief.row, row["follower_id"], row["leader_id"]),
    )
    words = details(
        "What these numbers are",
        "RTT is the 10th percentile where there are 30 round trips and a clock finer than 1 ms, else "
        "the median from 12 on, else nothing. The interval is 95 %, from blocks of time, bucket width "
        "included. Over a span histograms are added up; percentiles are never averaged.",
        "Paired: elapsed at the follower less the leader's total without its send time; two durations, no "
        "clocks compared. Passive: the gap between two fetches of a connection by the leader's clock alone.",
        "When quiet is the same quantile over the windows outside every finding, rise the difference.",
    )
    return section(
        "The pairs, largest rise first", "A pair's name looks into it.", listed, words, name="list"
    )


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
