"""The frame of every page: navigation, how fresh the data is, and the filters."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import Any

from dash import dcc, html
from dash.development.base_component import Component

from answers.answer import Question
from answers.data_quality import counts as data_quality
from answers.data_quality.counts import freshness
from answers.data_quality.losses import losses
from answers.formats import age, count, plain
from answers.gold import contents
from answers.questions import QUESTIONS
from answers.runs import comparisons as run_comparisons
from answers.runs.comparisons import name_of
from schemas.rows import Row
from serving.dashboard.filters import AGAINST_WORDS, SPAN_WORDS, Filters, encodable
from serving.dashboard.render import labelled
from serving.dashboard.request import DashboardRequest

REFRESH_S = 5.0
STALE_S = 60.0
MOST_MATCHES = 50
STEADY = ("request-log", "metrics")
"""Kinds that a running node always writes. Silence of others means nothing."""

WORDS = {
    "cluster": "Cluster",
    "span": "Span",
    "broker": "Broker",
    "topic": "Topic",
    "client": "Client",
    "run": "Comparison",
    "against": "Compare with",
}


def layout(version: str) -> Component:
    """Return the frame that all pages are filled into; each tick looks for another version."""
    return html.Div(
        [
            dcc.Location(id="url", refresh="callback-nav"),
            dcc.Interval(id="tick", interval=REFRESH_S * 1000),
            dcc.Store(id="version", data=version),
            html.A("Skip to the answer", href="#content", className="skip"),
            html.Header(
                [
                    html.Strong("Plumbline"),
                    html.Nav(id="nav", **labelled("Pages")),
                    html.Div(_find(), id="search"),
                ]
            ),
            html.Div(id="fresh", role="status"),
            html.Div(id="filters", role="search", **labelled("Filters")),
            html.Main([html.Div(id="answer"), html.Div(id="sections")], id="content", tabIndex=-1),
        ],
        className="dashboard",
    )


def _find() -> list[Component]:
    """Return the search box."""
    box = dcc.Dropdown(id="find", options=[], placeholder="Find a broker, topic or client", searchable=True)
    return [html.Label("Find", htmlFor="find", className="hidden"), box]


def nav(shown: Question | None, filters: Filters) -> list[Component]:
    """Return the links to all pages, which keep the filters."""
    kept = replace(filters, follower=None, leader=None, incident=None).query()
    return [
        dcc.Link(
            page.word,
            href=f"{page.path}{kept}",
            className="here" if page is shown else "",
            title="this page" if page is shown else None,
        )
        for page in QUESTIONS
        if page.word
    ]


def fresh(request: DashboardRequest, now: datetime) -> list[Component]:
    """Return how fresh the data is, and whether every line is accounted for."""
    quality = data_quality.by_source(request.selection)
    rows, newest = freshness(quality), request.edges["newest"]
    shown = contents.newest_window(newest, now)
    parts = [html.B(request.cluster or "no cluster"), html.Span(shown), *_fixed(request)]
    if rows:
        silent = [row for row in rows if row["kind"] in STEADY and (row["behind_s"] or 0) > STALE_S]
        read, kept_out = (sum(row[name] or 0 for row in rows) for name in ("lines_read", "quarantined"))
        parts.append(html.Span(f"{count(read)} lines read, {count(kept_out)} quarantined"))
        if silent:
            names = ", ".join(f"{row['node']} ({row['kind']}) {age(row['behind_s'])}" for row in silent)
            parts.append(html.Span(f"late: {names}", className="bad"))
        balanced = all(row["is_balanced"] is not False for row in quality)
        words, mood = ("every line accounted for", "good") if balanced else ("counts do not add up", "bad")
        if losses(request.selection.gold, request.selection.since):
            words, mood = "Kafka lost records", "bad"
        parts.append(html.Span(words, className=mood))
    return parts


def _fixed(request: DashboardRequest) -> list[Component]:
    """Return the end of a fixed span, and the link that follows the newest window again."""
    if request.filters.until is None:
        return []
    newest = dcc.Link("follow the newest", href=replace(request.filters, until=None).query() or "?")
    return [html.Span([f"looking back from {request.span[1]:%Y-%m-%d %H:%M:%S} UTC, ", newest])]


def controls(request: DashboardRequest, page: Question) -> list[Component]:
    """Return the filters of the page, with the values in its address."""
    return [_control(name, value, request) for name, value in values(request, page).items()]


def values(request: DashboardRequest, page: Question) -> dict[str, Any]:
    """Return the value of each filter of the page; there is one of clusters if there are several."""
    cluster = {"cluster": request.cluster} if len(request.clusters) > 1 else {}
    return cluster | {name: getattr(request.filters, name) for name in page.filters}


def _control(name: str, value: Any, request: DashboardRequest) -> Component:  # noqa: ANN401 (of any filter)
    options = _options(name, request, value)
    of = {"type": "filter", "name": name}
    shown = dcc.Dropdown(
        id=of,
        options=options,
        value=value,
        clearable=name not in ("span", "cluster"),
        placeholder={"run": "the first", "against": "nothing"}.get(name, "all"),
        searchable=len(options) > 10,  # noqa: PLR2004 (from there on eyes alone are slow)
    )
    return html.Div([html.Label(WORDS[name], htmlFor=_id_of(of)), shown], className="filter", id=f"of-{name}")


def _options(name: str, request: DashboardRequest, value: Any) -> list[dict[str, Any]]:  # noqa: ANN401 (of any filter)
    if name == "span":
        return [{"label": words, "value": span} for span, words in SPAN_WORDS.items()]
    if name == "against":
        return [{"label": words, "value": span} for span, words in AGAINST_WORDS.items()]
    if name == "cluster":
        return [{"label": one, "value": one} for one in request.clusters]
    if name == "run":
        names = [name_of(row) for row in run_comparisons.newest(request.gold, request.cluster)]
        return _with_chosen(names, value)
    return options_like(name, request, None)


def choices_of(name: str, request: DashboardRequest, like: str | None) -> list[Row]:
    """Return the values of a filter that contain a text, of the whole reach; without one, of the span."""
    since = request.begin if like else request.span[0]
    return contents.values(request.gold, name, request.cluster, since, encodable(like or ""))


def options_like(name: str, request: DashboardRequest, like: str | None) -> list[dict[str, Any]]:
    """Return the options of a filter that contain a text, and the chosen one."""
    return _with_chosen(
        [row["value"] for row in choices_of(name, request, like)], getattr(request.filters, name)
    )


def _with_chosen(values: Iterable[Any], chosen: Any) -> list[dict[str, Any]]:  # noqa: ANN401 (of any filter)
    choices = sorted({*values, *([] if chosen is None else [chosen])})
    return [{"label": plain(str(one)), "value": one} for one in choices]


def matches(request: DashboardRequest, like: str | None) -> list[dict[str, Any]]:
    """Return the pages about brokers, topics and clients whose name contains a text."""
    if not like:
        return []
    kept = replace(request.filters, broker=None, topic=None, client=None, follower=None, leader=None)
    return [
        {
            "label": plain(f"{name} {row['value']}: {question.word}"),
            "value": f"{question.path}{replace(kept, **{name: row['value']}).query()}",
        }
        for name in contents.NAMED
        for row in choices_of(name, request, like)
        for question in QUESTIONS
        if name in question.filters and any(map(question.is_made_from, row["sources"]))
    ][:MOST_MATCHES]


def _id_of(of: dict[str, str]) -> str:
    """Return the id in the document of a component with a pattern id, as Dash writes it."""
    return "{" + ",".join(f'"{name}":"{of[name]}"' for name in sorted(of)) + "}"
