"""Answers as components of a page, with the report's words and classes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from dash import dcc, html
from dash.development.base_component import Component

from answers.answer import (
    Answer,
    Block,
    Details,
    Download,
    DrawnFigure,
    FigureRow,
    Headline,
    Missing,
    Section,
    Sentences,
)
from answers.formats import plain
from answers.listing import MOST_LISTED, Column, Listed, Listing
from schemas.rows import Row

EXPORT = "/export"
"""The path of tables as files."""

SPOKEN: dict[str, Any] = {"aria-live": "polite"}
CONFIG: Any = {
    "displaylogo": False,
    "responsive": True,
    "showEditInChartStudio": False,
    "plotlyServerURL": "",
    "modeBarButtonsToRemove": ["select2d", "lasso2d", "autoScale2d"],
}


@dataclass(frozen=True, slots=True)
class Links:
    """The links of a page: `address` returns the address of a path with some filters changed."""

    question: str
    address: Callable[[str, Row], str]

    def export(self, table: str, kind: str) -> str:
        """Return the address of a table of the page as a file."""
        return self.address(f"{EXPORT}/{self.question}/{table}.{kind}", {})


def page(answer: Answer, links: Links) -> list[Component]:
    """Return the components of an answer."""
    return [verdict(answer.headline), *(_section(one, links) for one in answer.sections)]


def verdict(headline: Headline) -> Component:
    """Return the sentence at the top of a page, with its evidence."""
    lines = [html.Li(plain(line)) for line in headline.evidence]
    children = [html.H1(plain(headline.sentence)), html.Ul(lines, className="small"), *_steps(headline)]
    return html.Section(children, id="verdict", className=f"verdict {headline.mood}", **SPOKEN)


def _steps(headline: Headline) -> list[Component]:
    """Return what to check next, with the commands."""
    items = [
        html.Li([plain(step.text), *([html.Pre(step.command, tabIndex=0)] if step.command else [])])
        for step in headline.steps
    ]
    return [html.H2("What to check"), html.Ol(items, className="steps")] if items else []


def labelled(words: str) -> dict[str, Any]:
    """Return the name of a part of a page, for screen readers."""
    return {"aria-label": words}


def _section(section: Section, links: Links) -> Component:
    blocks = [part for block in section.blocks for part in _block(block, section.title, links)]
    lead = [html.P(section.lead, className="lead")] if section.lead else []
    return html.Section([html.H2(section.title), *lead, *blocks], id=section.name)


def _block(block: Block, title: str, links: Links) -> list[Component]:
    if isinstance(block, FigureRow):
        classes = "side three" if block.is_dense else "side"
        return [html.Div([_figure(one) for one in block.drawn], className=classes)]
    if isinstance(block, Sentences):
        lines = [html.Li(plain(line)) for line in block.lines[:MOST_LISTED]]
        return [html.Ul(lines, className="bad" if block.is_bad else "")]
    if isinstance(block, Missing):
        filled: list[Any] = [" Filled by ", html.Code(block.fill), "."] if block.fill else []
        return [html.P([block.words, *filled], className="dim empty")]
    if isinstance(block, Download):
        note = html.A("Save the note", href=links.export(block.name, "md"))
        page_ = html.A("Save the page as one HTML file", href=links.export(block.name, "html"))
        return [html.P([note, page_], className="tools"), html.Pre(block.text, className="note", tabIndex=0)]
    if isinstance(block, Details):
        return [html.Details([html.Summary(block.summary), html.P(block.text)])]
    return _listed(block, title, links)


def _figure(one: DrawnFigure) -> Component:
    drawn = dcc.Graph(id=one.name, figure=one.figure, config=CONFIG, responsive=True)
    style = {"height": f"{one.figure.layout.height}px"}
    frame = html.Div(drawn, role="figure", **labelled(one.words), style=style)
    return html.Div([html.H3(one.head), frame] if one.head else [frame])


def _listed(listed: Listed, title: str, links: Links) -> list[Component]:
    listing = listed.listing
    if listing.is_folded:
        summary = html.Summary(f"{listing.title} ({len(listed.rows)})")
        return [html.Details([summary, *_table(listed, links)])]
    head = [html.H3(listing.title)] if listing.title != title else []
    return [*head, *_table(listed, links)]


def _table(listed: Listed, links: Links) -> list[Component]:
    listing = listed.listing
    head = [
        html.Th(one.head, className=one.classes(), title=listing.about.get(one.head), scope="col")
        for one in listing.columns
    ]
    body = [_row(listed, row, links) for row in listed.rows[:MOST_LISTED]]
    shown = html.Table([html.Thead(html.Tr(head)), html.Tbody(body)], id=listing.name)
    # A table that is wider than its page can be scrolled with keys.
    frame = html.Div(shown, className="scroll", tabIndex=0, role="region", **labelled(listing.title))
    cut = listed.cut(MOST_LISTED, "narrow the filters to see the others")
    return [
        frame,
        *([html.P(cut, className="dim")] if cut else []),
        *(_tools(listed, links) if listed.query else []),
        *_explained(listing),
    ]


def _tools(listed: Listed, links: Links) -> list[Component]:
    """Return the links to a table as a file, and the statement that made it."""
    files = [
        html.A(f"Download {kind}", href=links.export(listed.listing.name, kind.lower()))
        for kind in ("CSV", "Parquet")
    ]
    statement = [html.Summary("Show the query"), html.Pre(plain(listed.sql), tabIndex=0)]
    return [html.P(files, className="tools"), html.Details(statement, className="query")]


def _row(listed: Listed, row: Row, links: Links) -> Component:
    listing = listed.listing
    cells = [_cell(one, row, listing if not nth else None, links) for nth, one in enumerate(listing.columns)]
    return html.Tr(cells, className="accused" if listed.is_marked(row) else "")


def _cell(column: Column, row: Row, listing: Listing | None, links: Links) -> Component:
    text = plain(column.cell(row))
    whole = plain(row[column.whole]) if column.whole and row[column.whole] else None
    opens = listing.opens if listing else None
    child = dcc.Link(text, href=links.address(*opens(row))) if opens else text
    return html.Td(child, className=column.classes(row), title=whole)


def _explained(listing: Listing) -> list[Component]:
    """Return the explanations of a table, which a click opens."""
    columns = [html.P([html.B(head), f": {text}"]) for head, text in listing.about.items()]
    paragraphs: Sequence[Component] = [*columns, *map(html.P, listing.notes)]
    return [html.Details([html.Summary("What these numbers are"), *paragraphs])] if paragraphs else []
