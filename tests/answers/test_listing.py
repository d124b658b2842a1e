"""All tables that people see, and their renderers."""

import importlib
import pkgutil
import re
from collections import Counter
from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console

import answers
from answers.answer import Headline
from answers.listing import Listing
from serving.report.terminal import WIDTH, summary, table


class Null(dict):
    """A row whose columns are all NULL."""

    def __missing__(self, name):
        """Return NULL."""
        return


def listings():
    """Return every listing that a module of `answers` declares."""
    found = {}
    for module in pkgutil.walk_packages(answers.__path__, "answers."):
        declared = vars(importlib.import_module(module.name)).values()
        found |= {one.name: one for one in declared if isinstance(one, Listing)}
    return [found[name] for name in sorted(found)]


LISTINGS = listings()
ARRANGED = [replace(one, rows=list) for one in LISTINGS]
UNITS = {"_bytes_per_s": "MB/s", "_bytes": "MB", "_at": "UTC", "_ms": "ms"}
"""The end of a column's name, and the unit that its head must have."""


@pytest.mark.parametrize("listing", LISTINGS, ids=lambda one: one.name)
def test_every_cell_of_a_row_of_nulls_is_a_text(listing):
    cells = [column.cell(Null()) for column in listing.columns]

    assert all(isinstance(cell, str) and "None" not in cell for cell in cells)
    assert all(isinstance(column.classes(Null()), str) for column in listing.columns)
    assert not (listing.is_marked and listing.is_marked(Null()))


@pytest.mark.parametrize("listing", LISTINGS, ids=lambda one: one.name)
def test_every_head_is_unique_and_has_the_unit_of_its_column(listing):
    heads = Counter(column.head for column in listing.columns)

    assert [head for head, n in heads.items() if n > 1] == []
    assert listing.about.keys() <= heads.keys()
    wrong = [
        (column.name, column.head)
        for column in listing.columns
        for end, unit in UNITS.items()
        if column.name.endswith(end) and not re.search(rf"(^|[ ,]){unit}\b", column.head)
    ]
    assert wrong == []


def printed(listing, number, text):
    """Return the terminal's lines and columns of a listing whose cells are all `number` or `text`."""
    columns = [
        replace(column, cell=lambda _, shown=text if column.is_text else number: shown)
        for column in listing.columns
    ]
    shown = table(replace(listing, columns=tuple(columns)).listed([Null()]))
    console = Console(width=WIDTH, file=StringIO(), record=True)
    console.print(shown)
    return console.export_text().splitlines(), shown


@pytest.mark.parametrize("listing", ARRANGED, ids=lambda one: one.name)
def test_no_number_is_broken_at_80_columns(listing):
    """Columns for which there is no space are named below the table."""
    longest = "1,234,567.89"

    lines, shown = printed(listing, longest, "a text that is too long " * 9)

    numbers = [column for column in shown.columns if column.justify == "right"]
    assert sum(line.count(longest) for line in lines) == len(numbers)
    assert max(map(len, lines)) <= WIDTH
    wanted = [column for column in listing.columns if column.in_terminal]
    assert (len(shown.columns) < len(wanted)) == (shown.caption is not None)


@pytest.mark.parametrize("listing", ARRANGED, ids=lambda one: one.name)
def test_all_columns_for_the_terminal_fit_with_usual_figures(listing):
    assert printed(listing, "12.3", "word")[1].caption is None


def test_a_long_table_says_that_it_was_cut():
    (skipped,) = [one for one in LISTINGS if one.name == "skipped"]

    shown = table(skipped.listed([Null()] * 61))

    assert (shown.row_count, shown.caption) == (60, "The first 60 of 61 are listed; the JSON has them all.")
    assert table(skipped.listed([Null()] * 60)).caption is None
    assert skipped.listed([Null()] * 60).cut(60, "no more") == ""


def test_evidence_of_20_lines_is_whole():
    lines = summary(Headline(sentence="word", mood="calm", evidence=["fact"] * 20))

    assert lines == ["word", *["- fact"] * 20]


def test_evidence_has_at_most_20_lines_of_80_characters_and_no_half_facts():
    headline = Headline(sentence="word " * 40, mood="calm", evidence=["fact " * 25 + "end"] * 30)

    lines = summary(headline)

    evidence = [line for line in lines if line.startswith(("- ", "  "))]
    assert len(evidence) == 9 * 2 + 1
    assert all(line.endswith("end") for line in evidence[1:18:2])
    assert max(map(len, lines)) <= 80
    assert lines[-1] == "- More is in the page."
