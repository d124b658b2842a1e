"""The parts of pages: the sentence at the top, tables and figures, with the report's words and classes."""

from collections.abc import Callable, Sequence
from typing import Any

import plotly.graph_objects as go
from dash import dcc, html
from dash.development.base_component import Component

from answers.listing import Column, Listed, Listing
from schemas.rows import Row

MOST_LISTED = 200
SPOKEN: dict[str, Any] = {"aria-live": "polite"}
CONFIG: Any = {
    "displaylogo": False,
    "responsive": True,
    "showEditInChartStudio": False,
    "plotlyServerURL": "",
    "modeBarButtonsToRemove": ["select2d", "lasso2d", "autoScale2d"],
}


def verdict(sentence: str, mood: str, small: Sequence[str] = ()) -> Component:
    """Return the sentence at the top of a page, with smaller lines."""
    lines = [html.Li(line) for line in small]
    children = [html.H1(sentence), html.Ul(lines, className="small")]
    return html.Section(children, id="verdict", className=f"verdict {mood}", **SPOKEN)


def sentence_of(page: Sequence[Component]) -> str:
    """Return the sentence at the top of a page."""
    headline = page[0].children[0]
    return str(headline.children)


def section(title: str, lead: str, *children: Component, name: str) -> Component:
    """Return a section with a heading."""
    return html.Section([html.H2(title), html.P(lead, className="lead"), *children], id=name)


def table(listed: Listed, href: Callable[[Row], str] | None = None) -> Component:
    """Return the first `MOST_LISTED` rows of a table; `href` is the address that a row's first cell opens."""
    listing = listed.listing
    head = [
        html.Th(one.head, className=one.classes(), title=listing.about.get(one.head), scope="col")
        for one in listing.columns
    ]
    body = [
        html.Tr(
            [_cell(one, row, href if not nth else None) for nth, one in enumerate(listing.columns)],
            className="accused" if listed.is_marked(row) else "",
        )
        for row in listed.rows[:MOST_LISTED]
    ]
    shown = html.Table([html.Thead(html.Tr(head)), html.Tbody(body)], id=listing.name)
    # A table that is wider than its page can be scrolled with keys.
    frame = html.Div(shown, className="scroll", tabIndex=0, role="region", **labelled(listing.title))
    cut = listed.cut(MOST_LISTED, "narrow the filters to see the others")
    return html.Div([frame, *([html.P(cut, className="dim")] if cut else []), *_explained(listing)])


def listed_section(listed: Listed, name: str, *others: Component) -> Component:
    """Return the section of a table."""
    return section(listed.listing.title, listed.listing.lead, table(listed), *others, name=name)


def _cell(column: Column, row: Row, href: Callable[[Row], str] | None) -> Component:
    text = column.cell(row)
    whole = row[column.whole] if column.whole else None
    return html.Td(
        dcc.Link(text, href=href(row)) if href else text, className=column.classes(row), title=whole
    )


def _explained(listing: Listing) -> list[Component]:
    """Return the explanations of a table, which a click opens."""
    columns = [html.P([html.B(head), f": {text}"]) for head, text in listing.about.items()]
    paragraphs = [*columns, *map(html.P, listing.notes)]
    return [html.Details([html.Summary("What these numbers are"), *paragraphs])] if paragraphs else []


def graph(name: str, figure: go.Figure, words: str) -> Component:
    """Draw a figure; `words` describe it for screen readers."""
    drawn = dcc.Graph(id=name, figure=figure, config=CONFIG, responsive=True)
    return html.Div(drawn, role="img", **labelled(words), style={"height": f"{figure.layout.height}px"})


def nothing(what: str, *, fill: str) -> Component:
    """Return what is missing, and the command that fills it."""
    return html.P(
        [f"no data: {what} ", html.Span(["Filled by ", html.Code(fill), "."])], className="dim empty"
    )


def labelled(words: str) -> dict[str, Any]:
    """Return the name of a part of a page, for screen readers."""
    return {"aria-label": words}


def bullets(sentences: Sequence[str]) -> Component:
    """List sentences."""
    return html.Ul([html.Li(one) for one in sentences[:MOST_LISTED]])
