"""The parts of pages: the sentence at the top, tables and figures, with the report's words and classes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go
from dash import dcc, html
from dash.development.base_component import Component

from schemas.rows import Row
from serving.report.answers import NONE

MOST_LISTED = 200
SPOKEN: dict[str, Any] = {"aria-live": "polite"}
CONFIG: Any = {
    "displaylogo": False,
    "responsive": True,
    "showEditInChartStudio": False,
    "plotlyServerURL": "",
    "modeBarButtonsToRemove": ["select2d", "lasso2d", "autoScale2d"],
}

Cell = str | int | Component | None


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table: its head, and the cell of a row."""

    head: str
    cell: Callable[[Row], Cell]
    is_text: bool = False


def text(head: str, name: str) -> Column:
    """Show a text as it is, a dash for NULL; React escapes what a user wrote."""
    return Column(head, lambda row: NONE if row.get(name) is None else str(row[name]), is_text=True)


def number(head: str, name: str, text_of: Callable[[Any], str]) -> Column:
    """Show a number as a text."""
    return Column(head, lambda row: text_of(row.get(name)))


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


def table(
    name: str, columns: Sequence[Column], rows: Sequence[Row], *, mark: Callable[[Row], bool] | None = None
) -> Component:
    """List the first `MOST_LISTED` rows; marked ones are highlighted."""
    head = [html.Th(one.head, className="t" if one.is_text else "", scope="col") for one in columns]
    body = [
        html.Tr(
            [html.Td(one.cell(row), className="t" if one.is_text else "") for one in columns],
            className="accused" if mark and mark(row) else "",
        )
        for row in rows[:MOST_LISTED]
    ]
    shown = html.Table([html.Thead(html.Tr(head)), html.Tbody(body)], id=name)
    rest = len(rows) - MOST_LISTED
    more = [html.P(f"{rest:,} more rows are not listed; narrow the filters.", className="dim")]
    # A table that is wider than its page can be scrolled with keys.
    frame = html.Div(shown, className="scroll", tabIndex=0, role="region", **labelled(name))
    return html.Div([frame, *(more if rest > 0 else [])])


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


def details(summary: str, *paragraphs: str) -> Component:
    """Return an explanation that a click opens."""
    return html.Details([html.Summary(summary), *map(html.P, paragraphs)])


def bullets(sentences: Sequence[str]) -> Component:
    """List sentences."""
    return html.Ul([html.Li(one) for one in sentences[:MOST_LISTED]])
