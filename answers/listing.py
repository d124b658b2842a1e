"""A table that people see, declared once: the page, the dashboard and the terminal render it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from answers import formats
from answers.gold.histogram import with_macros
from schemas.rows import Row

MOST_LISTED = 50
"""The rows of a table that a page shows; downloads and the JSON have all."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its head with the unit, and the cell of a row as plain text."""

    head: str
    cell: Callable[[Row], str]
    name: str = ""  # the column of the row, if the cell shows only one
    is_text: bool = False
    style: str = ""  # CSS classes: big, dim, strong, path (may wrap), mono, pre
    whole: str = ""  # the column with the whole text of a shortened cell
    in_terminal: bool = True
    is_whole: bool = False  # the terminal never folds it: an id is there to be copied
    is_alarm: Callable[[Row], bool] | None = None

    def classes(self, row: Row | None = None) -> str:
        """Return the CSS classes of the head, or of the cell of a row."""
        if row is None:
            return "t" if self.is_text else ""
        is_hot = self.is_alarm is not None and self.is_alarm(row)
        return " ".join(filter(None, ("t" if self.is_text else "", self.style, "hot" if is_hot else "")))


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """One table; `name` is its id in documents, `rows` selects and orders the rows of an answer."""

    name: str
    title: str
    columns: tuple[Column, ...]
    lead: str = ""
    about: Mapping[str, str] = field(default_factory=dict)  # explanations of columns, by their heads
    notes: tuple[str, ...] = ()
    rows: Callable[[Sequence[Row]], Iterable[Row]] = list
    is_marked: Callable[[Row], bool] | None = None
    is_folded: bool = False
    opens: Callable[[Row], tuple[str, Row]] | None = None  # path and filters of the page about a row

    def listed(
        self,
        rows: Sequence[Row],
        is_marked: Callable[[Row], bool] | None = None,
        *,
        query: str | None = None,
    ) -> "Listed":
        """Return the table of an answer; `is_marked` replaces that of the listing."""
        made_by = getattr(rows, "query", "") if query is None else query
        return Listed(self, list(self.rows(rows)), is_marked or self.is_marked, made_by)


@dataclass(frozen=True, slots=True)
class Listed:
    """A listing with the rows of an answer."""

    listing: Listing
    rows: list[Row]
    marks: Callable[[Row], bool] | None = None
    query: str = ""  # the statement that returns the rows, before they are ordered and summarized

    @property
    def sql(self) -> str:
        """The statement with the macros that it needs, ready for DuckDB (docs/sql.md)."""
        return with_macros(self.query)

    def is_marked(self, row: Row) -> bool:
        """Return whether a row is emphasized."""
        return self.marks is not None and self.marks(row)

    def cut(self, limit: int, others: str) -> str:
        """Return the sentence that only the first rows are listed; empty if all are."""
        n = len(self.rows)
        return f"The first {limit} of {formats.count(n)} are listed; {others}." if n > limit else ""


def column(write: Callable[[Any], str], head: str, name: str, **more: Any) -> Column:  # noqa: ANN401 (fields)
    """Return the column that writes one value of a row."""
    return Column(head, lambda row: write(row[name]), name, **more)


text = partial(column, formats.text, is_text=True)
words = partial(column, formats.words, is_text=True)
instant = partial(column, formats.instant, is_text=True)
identifier = partial(column, formats.text)
count = partial(column, formats.count)
milliseconds = partial(column, formats.ms)
decimal = partial(column, formats.decimal)
percent = partial(column, formats.percent)
small = partial(column, formats.small)
change = partial(column, formats.change)
megabytes = partial(column, formats.mb)
broker = partial(column, formats.broker, is_text=True)


def interval(
    head: str,
    low: str,
    high: str,
    write: Callable[[Any], str] = formats.ms,
    **more: Any,  # noqa: ANN401 (fields)
) -> Column:
    """Return the column of two ends."""
    return Column(head, lambda row: _between(write(row[low]), write(row[high])), **more)


def _between(low: str, high: str) -> str:
    return formats.NONE if low == high == formats.NONE else f"{low} to {high}"
