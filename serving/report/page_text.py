"""Numbers and instants as people read them."""

from datetime import datetime

from schemas.rows import iso
from serving.report.answers import NONE


def ms(value: float | None) -> str:
    """Write milliseconds with three figures' worth of decimals; a dash for NULL."""
    if value is None:
        return NONE
    decimals = 2 if abs(value) < 10 else 1 if abs(value) < 100 else 0  # noqa: PLR2004 (three figures)
    return f"{value:,.{decimals}f}"


def instant(value: datetime | None) -> str:
    """Write an instant for people, UTC; a dash for NULL."""
    return NONE if value is None else iso(value).replace("T", " ").split(".")[0].removesuffix("Z")


def count(value: int | None) -> str:
    """Write a count with thousands set apart; a dash for NULL."""
    return NONE if value is None else f"{value:,}"


def percent(value: float | None) -> str:
    """
    Write a share; a dash for NULL.

    >>> percent(0.7104), percent(1.0)
    ('71.0 %', '100 %')
    """
    return NONE if value is None else "100 %" if value == 1 else f"{100 * value:.1f} %"


def decimal(value: float | None) -> str:
    """Write a number with two decimals; a dash for NULL."""
    return NONE if value is None else f"{value:,.2f}"
