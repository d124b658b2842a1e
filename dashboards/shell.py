"""What stands around every page: navigation, how fresh the data is, and the filters."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from dash import dcc, html
from dash.development.base_component import Component

from dashboards.asked import DashboardRequest
from dashboards.filters import SPAN_WORDS, Filters
from dashboards.pages.all_pages import PAGES, DashboardPage
from dashboards.pages.comparison import ALL, name_of
from dashboards.parts import labelled
from reports.page import freshness
from reports.page_text import count

REFRESH_S = 5.0
STALE_S = 60.0
STEADY = ("request-log", "metrics")
"""Kinds that a node at work always writes; of others silence says nothing."""

CHOICES = {
    "broker": """
        SELECT DISTINCT leader_id AS choice FROM gold.broker_rtt WHERE cluster = $cluster
        UNION SELECT DISTINCT follower_id FROM gold.broker_rtt WHERE cluster = $cluster
        UNION SELECT DISTINCT leader_id FROM gold.fetch_latency WHERE cluster = $cluster
        UNION SELECT DISTINCT broker_id FROM gold.throttle_compliance WHERE cluster = $cluster""",
    "topic": """
        SELECT DISTINCT topic AS choice FROM gold.partition_skew WHERE cluster = $cluster
        UNION SELECT DISTINCT topic FROM gold.leader_redirect WHERE cluster = $cluster""",
    "client": """
        SELECT DISTINCT client_id AS choice FROM gold.fetch_latency WHERE cluster = $cluster
        UNION SELECT DISTINCT client_id FROM gold.partition_skew WHERE cluster = $cluster
        UNION SELECT DISTINCT client_id FROM gold.leader_redirect WHERE cluster = $cluster
        UNION SELECT DISTINCT client_id FROM gold.metadata_lookup WHERE cluster = $cluster""",
}
QUALITY = "SELECT * FROM gold.data_quality WHERE cluster = $cluster"
WORDS = {
    "cluster": "Cluster",
    "span": "Span",
    "broker": "Broker",
    "topic": "Topic",
    "client": "Client",
    "run": "Comparison",
}


def layout() -> Component:
    """Give the frame that all pages are filled into."""
    return html.Div(
        [
            dcc.Location(id="url", refresh="callback-nav"),
            dcc.Interval(id="tick", interval=REFRESH_S * 1000),
            dcc.Store(id="version"),
            html.A("Skip to the answer", href="#content", className="skip"),
            html.Header([html.Strong("Plumbline"), html.Nav(id="nav", **labelled("Pages"))]),
            html.Div(id="fresh", role="status"),
            html.Div(id="filters", role="search", **labelled("Filters")),
            html.Main(id="content", tabIndex=-1),
        ],
        className="dashboard",
    )


def nav(shown: DashboardPage | None, filters: Filters) -> list[Component]:
    """Link to all pages, with the filters kept."""
    kept = replace(filters, follower=None, leader=None).query()
    return [
        dcc.Link(
            page.word,
            href=f"{page.path}{kept}",
            className="here" if page is shown else "",
            title="this page" if page is shown else None,
        )
        for page in PAGES
        if page.word
    ]


def fresh(asked: DashboardRequest, now: datetime) -> list[Component]:
    """Say how fresh the data is, and whether every line is accounted for."""
    quality = asked.rows(QUALITY)
    rows, newest = freshness(quality), asked.edges["newest"]
    parts = [html.B(asked.cluster or "no cluster"), html.Span(_newest(newest, now)), *_fixed(asked)]
    if rows:
        silent = [row for row in rows if row["kind"] in STEADY and (row["behind_s"] or 0) > STALE_S]
        read, kept_out = (sum(row[name] or 0 for row in rows) for name in ("lines_read", "quarantined"))
        parts.append(html.Span(f"{count(read)} lines read, {count(kept_out)} quarantined"))
        if silent:
            names = ", ".join(f"{row['node']} ({row['kind']}) {row['behind_s']:,.0f} s" for row in silent)
            parts.append(html.Span(f"behind the freshest: {names}", className="bad"))
        balanced = all(row["is_balanced"] is not False for row in quality)
        words, mood = ("every line accounted for", "good") if balanced else ("counts do not add up", "bad")
        parts.append(html.Span(words, className=mood))
    return parts


def _fixed(asked: DashboardRequest) -> list[Component]:
    """Say that the span is a fixed one, and how to follow the newest window again."""
    if asked.filters.until is None:
        return []
    newest = dcc.Link("follow the newest", href=replace(asked.filters, until=None).query() or "?")
    return [html.Span([f"looking back from {asked.span[1]:%Y-%m-%d %H:%M:%S} UTC, ", newest])]


def controls(asked: DashboardRequest, page: DashboardPage) -> list[Component]:
    """Give the filters that the page takes, as they stand in its address."""
    return [_control(name, value, asked) for name, value in standing(asked, page).items()]


def standing(asked: DashboardRequest, page: DashboardPage) -> dict[str, Any]:
    """Give what each filter that the page takes stands at; clusters are chosen where there are several."""
    cluster = {"cluster": asked.cluster} if len(asked.clusters) > 1 else {}
    return cluster | {name: getattr(asked.filters, name) for name in page.filters}


def _control(name: str, value: Any, asked: DashboardRequest) -> Component:  # noqa: ANN401 (of any filter)
    options = _options(name, asked, value)
    of = {"type": "filter", "name": name}
    shown = dcc.Dropdown(
        id=of,
        options=options,
        value=value,
        clearable=name not in ("span", "cluster"),
        placeholder="all" if name != "run" else "the first",
        searchable=len(options) > 10,  # noqa: PLR2004 (from there on eyes alone are slow)
    )
    return html.Div([html.Label(WORDS[name], htmlFor=_id_of(of)), shown], className="filter", id=f"of-{name}")


def _options(name: str, asked: DashboardRequest, value: Any) -> list[dict[str, Any]]:  # noqa: ANN401 (of any filter)
    if name == "span":
        return [{"label": words, "value": span} for span, words in SPAN_WORDS.items()]
    if name == "cluster":
        return [{"label": one, "value": one} for one in asked.clusters]
    if name == "run":
        there: list[Any] = [name_of(row) for row in asked.rows(ALL)]
    else:
        there = [row["choice"] for row in asked.rows(CHOICES[name]) if row["choice"] is not None]
    choices = sorted({*there, *([value] if value is not None else [])})
    return [{"label": str(one), "value": one} for one in choices]


def _id_of(of: dict[str, str]) -> str:
    """Give the id in the document of a component that a pattern names, as Dash writes it."""
    return "{" + ",".join(f'"{name}":"{of[name]}"' for name in sorted(of)) + "}"


def _newest(newest: datetime | None, now: datetime) -> str:
    if newest is None:
        return "no window yet"
    age_s = (now - newest.astimezone(UTC)).total_seconds()
    ago = f"{age_s:,.0f} s" if age_s < 120 else f"{age_s / 60:,.0f} min"  # noqa: PLR2004 (two minutes)
    return f"newest window {newest.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC, {ago} ago"
