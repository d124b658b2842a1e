"""Rows about clients: which are shown, whom they are of, and in which order they are compared."""

import re
from collections.abc import Sequence
from itertools import takewhile

from schemas.rows import Row
from serving.report.answers import NONE, Answers

FEW = 5
"""Fewer events have no typical one."""

UNNAMED = "an unnamed client"
LONG_RUN = 12
"""A run's name that is no longer is shown whole."""

WORD = r"[^-_./: ]*[-_./: ]|[^-_./: ]+"
ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"


def measured(rows: Sequence[Row]) -> list[Row]:
    """Leave out topics of one partition, and what a client sent outside its runs, where it has any."""
    with_run = {row["client_id"] for row in rows if row["run"] is not None}
    can_be_uneven = [row for row in rows if row.get("partitions") != 1]
    return [row for row in can_be_uneven if row["run"] is not None or row["client_id"] not in with_run]


def with_redirects(answers: Answers) -> list[Row]:
    """Keep the versions whose leaders moved: not those that met dead ones alone."""
    return [row for row in answers.leader_redirect_summary if row["n"] or row["unfinished"]]


def with_disconnects(answers: Answers) -> list[Row]:
    """Keep the versions whose leaders died."""
    return [row for row in answers.leader_redirect_summary if row["disconnects"]]


def who(row: Row) -> str:
    """Name a client: the arm of its run where there is one, else its client id."""
    named: str = row["arm"] or row["client_id"] or UNNAMED
    return named


def version_of(row: Row) -> str:
    """Name what a client is."""
    told: str = row["software_version"] or "of unknown version"
    return told


def by_client(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Group rows by who they are of."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(who(row), []).append(row)
    return groups


def in_order(rows: Sequence[Row]) -> list[Row]:
    """Order rows so that what is compared stands together: a client's runs one below the other."""
    return sorted(
        rows, key=lambda row: [_natural(text) for text in (who(row), version_of(row), row["run"] or "")]
    )


def _natural(text: str) -> list[tuple[int, str]]:
    """
    Give a key by which 2 comes before 10, however many digits a user wrote.

    >>> sorted(["r-10", "r-2", "r"], key=_natural)
    ['r', 'r-2', 'r-10']
    """
    parts = re.split(r"(\d+)", text)
    numbers = (part.lstrip("0") if nth % 2 else part for nth, part in enumerate(parts))
    return [(len(part) if nth % 2 else 0, part) for nth, part in enumerate(numbers)]


def short_runs(rows: Sequence[Row]) -> dict[str | None, str]:
    """
    Give each run of some rows a name to show: without the words that all of them begin with.

    >>> told = short_runs([{"run": f"skew-1795404710432-0-{rate}"} for rate in (2048, 4096)])
    >>> [told["skew-1795404710432-0-2048"], told["skew-1795404710432-0-4096"]]
    ['…2048', '…4096']
    >>> short_runs([{"run": "may-1"}, {"run": "may-2"}])["may-1"]
    'may-1'
    >>> short_runs([{"run": "a-run-of-its-own"}])["a-run-of-its-own"]
    'a-run-of-its-own'
    """
    named = sorted({row["run"] for row in rows if row["run"] is not None})
    words = [re.findall(WORD, run)[:-1] for run in named]  # the last one tells them apart
    shared = takewhile(lambda nth: len(set(nth)) == 1, zip(*words, strict=False))
    is_long = len(named) > 1 and max(map(len, named)) > LONG_RUN
    cut = sum(len(nth[0]) for nth in shared) if is_long else 0
    return {None: NONE} | {run: f"{ELLIPSIS}{run[cut:]}" if cut else run for run in named}
