"""The report at a terminal: the sentence with its evidence, and tables on request."""

import textwrap
from collections.abc import Iterable
from itertools import accumulate, chain

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table
from rich.text import Text

from answers.answer import Answer, Headline
from answers.formats import plain
from answers.listing import Column, Listed

MOST_LISTED = 60
MOST_LINES = 20
WIDTH = 80
MOST_UNBROKEN, LEAST_FOLDED, GAP = 19, 12, 2
"""The length of an instant; longer texts may be folded, to this width or more; the gap between columns."""


def summary(headline: Headline, width: int = WIDTH) -> list[str]:
    """
    Return the sentence, its evidence in at most `MOST_LINES`, and what to check.

    Lines are up to `width` long, except commands.
    """
    facts = [
        textwrap.wrap(fact, width - 2, initial_indent="- ", subsequent_indent="  ")
        for fact in map(plain, headline.evidence)
    ]
    if sum(map(len, facts)) > MOST_LINES:
        ends = accumulate(map(len, facts))
        facts = [fact for fact, end in zip(facts, ends, strict=True) if end < MOST_LINES]
        facts.append(["- More is in the page."])
    evidence = chain.from_iterable(facts)
    return [*textwrap.wrap(plain(headline.sentence), width), *evidence, *_steps(headline, width)]


def _steps(headline: Headline, width: int) -> list[str]:
    """Return what to check; a command stays on one line, so that it can be copied."""
    lines = ["What to check:"] * bool(headline.steps)
    for number, step in enumerate(headline.steps, start=1):
        lines += textwrap.wrap(plain(f"{number}. {step.text}"), width, subsequent_indent="   ")
        lines += [f"   {step.command}"] * bool(step.command)
    return lines


def answer_lines(answer: Answer) -> list[str]:
    """Return the answer to one question: the sentence, its evidence, the tables, and what is missing."""
    console = Console(highlight=False, width=WIDTH)
    with console.capture() as captured:
        for one in tables(answer.tables):
            console.print(one)
    missing = [
        line
        for section in answer.sections
        for one in section.missing
        for line in textwrap.wrap(one.words + f" Filled by {one.fill}." * bool(one.fill), WIDTH)
    ]
    return [*summary(answer.headline), *captured.get().splitlines(), *missing]


def tables(listed: Iterable[Listed]) -> list[Table]:
    """Return the tables that have rows."""
    return [table(one) for one in listed if one.rows]


def table(listed: Listed, line_width: int = WIDTH) -> Table:
    """Return a table of the columns that fit into a line; only long texts are folded."""
    rows = listed.rows[:MOST_LISTED]
    wanted = [column for column in listed.listing.columns if column.in_terminal]
    widths = {column.head: _width(column, [plain(column.cell(row)) for row in rows]) for column in wanted}
    columns = _fitting(wanted, widths, line_width)
    more = [f"not shown: {', '.join(one.head for one in wanted[len(columns) :])}"] * (wanted != columns)
    cut = [listed.cut(MOST_LISTED, "the JSON has them all")] * (len(listed.rows) > MOST_LISTED)
    shown = Table(
        title=listed.listing.title,
        caption="; ".join([*cut, *more]) or None,
        box=SIMPLE,
        title_justify="left",
        caption_justify="left",
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    for column in columns:
        shown.add_column(
            column.head,
            justify="left" if column.is_text else "right",
            width=widths[column.head],
            overflow="fold",
        )
    for row in rows:
        style = "bold" if listed.is_marked(row) else None
        shown.add_row(*(Text(plain(column.cell(row))) for column in columns), style=style)
    return shown


def _width(column: Column, cells: list[str]) -> int | None:
    """Return the width that no cell and no word of the head exceeds; None for texts that may be folded."""
    width = max(map(len, [*cells, *column.head.split()]))
    return None if column.is_text and not column.is_whole and width > MOST_UNBROKEN else width


def _fitting(columns: list[Column], widths: dict[str, int | None], line_width: int) -> list[Column]:
    """Return the first columns that fit into a line."""
    ends = accumulate((widths[column.head] or LEAST_FOLDED) + GAP for column in columns)
    return [column for column, end in zip(columns, ends, strict=True) if end <= line_width]
