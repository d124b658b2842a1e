"""A1: fetch latency without the wait in purgatory, compared with stock Kafka's metric."""

from dash import html
from dash.development.base_component import Component

from answers.fetches import latency as fetch_latency
from answers.fetches import stock as stock_latency
from answers.listing import Listing
from answers.slow_links import round_trips
from answers.slow_links.culprits import Finding, headline, is_accused
from schemas.rows import Row
from serving.dashboard.pages.links import FILL
from serving.dashboard.parts import graph, listed_section, nothing, section, verdict
from serving.dashboard.request import DashboardRequest
from serving.report.figures import latency_over_time

MOST_LEADERS = 12


def page(request: DashboardRequest) -> list[Component]:
    """Return the page."""
    summary = fetch_latency.fetches(request.selection)
    followers = [row for row in summary if row["kind"] == "follower"]
    if not summary:
        empty = verdict("There is no fetch in this span.", "unsure")
        return [empty, section("Fetches", "", nothing("no fetch.", fill=FILL), name="fetches")]
    chief = headline(round_trips.culprits(request.of_all_brokers)).finding
    return [
        _verdict(followers, chief),
        _compared(request, followers),
        _over_time(request, chief),
        _fetchers(fetch_latency.FOLLOWERS, summary, "followers"),
        _fetchers(fetch_latency.CONSUMERS, summary, "consumers"),
    ]


def _verdict(followers: list[Row], chief: Finding | None) -> Component:
    sentence, small = fetch_latency.headline(followers)
    worst = fetch_latency.slowest(followers)
    if worst is None:
        return verdict(sentence, "unsure", small)
    is_slow = chief is not None and is_accused(chief.row, worst["follower_id"], worst["leader_id"])
    return verdict(sentence, "alarm" if is_slow else "calm", small)


def _compared(request: DashboardRequest, followers: list[Row]) -> Component:
    rows = stock_latency.compared(fetch_latency.stock(request.selection), followers)
    return listed_section(stock_latency.COMPARISON.listed(rows), "dashboard")


def _over_time(request: DashboardRequest, chief: Finding | None) -> Component:
    rows = fetch_latency.over_time(request.selection)
    leaders = sorted({row["leader_id"] for row in rows if row["kind"] == "follower"})[:MOST_LEADERS]
    step = int(request.step.total_seconds())
    drawn = [
        html.Div(
            [
                html.H3(f"Fetches served by broker {leader}"),
                graph(
                    f"latency-{leader}",
                    latency_over_time(rows, leader, chief, request.step).update_xaxes(nticks=3),
                    f"True and plain latency of fetches that broker {leader} served, over time.",
                ),
            ]
        )
        for leader in leaders
    ]
    lead = (
        f"Median of each {step} s, one panel a leader; the axis is logarithmic. Wide grey is what stock "
        "metrics show, solid the true latency, dotted the leader's own work."
    )
    title = "True against plain latency over time"
    return section(title, lead, html.Div(drawn, className="side three"), name="latency")


def _fetchers(listing: Listing, rows: list[Row], name: str) -> Component:
    listed = listing.listed(rows)
    if not listed.rows:
        return section(listing.title, listing.lead, nothing("no fetch in this span.", fill=FILL), name=name)
    return listed_section(listed, name)
