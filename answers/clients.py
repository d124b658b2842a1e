"""Clients as people read them: their names and versions, and the order in which they are compared."""

import re
from collections.abc import Sequence
from itertools import takewhile

from answers.formats import NONE
from schemas.rows import Row

FEW = 5
"""Fewer events have no typical value."""

UNNAMED = "an unnamed client"
LONG_RUN = 12
"""Names of runs up to this length are not shortened."""

WORD = r"[^-_./: ]*[-_./: ]|[^-_./: ]+"
ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"


def who(row: Row) -> str:
    """Return the name of a client: the arm of its run, else its client id."""
    named: str = row["arm"] or row["client_id"] or UNNAMED
    return named


def version_of(row: Row) -> str:
    """Return the version of a client's software."""
    version: str = row["software_version"] or "of unknown version"
    return version


def by_client(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Return the rows of each client."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(who(row), []).append(row)
    return groups


def in_order(rows: Sequence[Row]) -> list[Row]:
    """Return the rows so that the runs of a client follow each other."""
    return sorted(
        rows, key=lambda row: [_natural(text) for text in (who(row), version_of(row), row["run"] or "")]
    )


def _natural(text: str) -> list[tuple[int, str]]:
    """
    Return a sort key by which 2 comes before 10.

    >>> sorted(["r-10", "r-2", "r"], key=_natural)
    ['r', 'r-2', 'r-10']
    """
    parts = re.split(r"(\d+)", text)
    numbers = (part.lstrip("0") if nth % 2 else part for nth, part in enumerate(parts))
    return [(len(part) if nth % 2 else 0, part) for nth, part in enumerate(numbers)]


def short_runs(rows: Sequence[Row]) -> dict[str | None, str]:
    """
    Return a short name of each run, without the words that all of them begin with.

    >>> names = short_runs([{"run": f"skew-1795404710432-0-{rate}"} for rate in (2048, 4096)])
    >>> [names["skew-1795404710432-0-2048"], names["skew-1795404710432-0-4096"]]
    ['…2048', '…4096']
    >>> short_runs([{"run": "may-1"}, {"run": "may-2"}])["may-1"]
    'may-1'
    >>> short_runs([{"run": "a-run-of-its-own"}])["a-run-of-its-own"]
    'a-run-of-its-own'
    """
    named = sorted({row["run"] for row in rows if row["run"] is not None})
    words = [re.findall(WORD, run)[:-1] for run in named]  # the last word distinguishes them
    shared = takewhile(lambda word: len(set(word)) == 1, zip(*words, strict=False))
    is_long = len(named) > 1 and max(map(len, named)) > LONG_RUN
    cut = sum(len(word[0]) for word in shared) if is_long else 0
    return {None: NONE} | {run: f"{ELLIPSIS}{run[cut:]}" if cut else run for run in named}


def with_short_runs(rows: Sequence[Row]) -> list[Row]:
    """Return the rows of clients in order, with the short name of the run as `run_name`."""
    names = short_runs(rows)
    return [row | {"run_name": names[row["run"]]} for row in in_order(rows)]
