"""Values as people read them; NULL is a dash."""

from datetime import datetime

from schemas.rows import iso

NONE = "\N{EN DASH}"
"""How NULL is shown to people."""


def text(value: object) -> str:
    """Return a text or an id."""
    return NONE if value is None else str(value)


def capital(value: str) -> str:
    """Return a text with a capital first letter."""
    return value[:1].upper() + value[1:]


def printable(value: str) -> str:
    r"""
    Return a text that no terminal executes: on one line, without control or invisible characters.

    >>> printable("caf\xe9\n\x1b[2J\u202e")
    'caf\xe9\\n\\x1b[2J\\u202e'
    """
    if value.isprintable():
        return value
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in value)


def plain(value: str) -> str:
    r"""
    Return a text whose lines are `printable`; each output writes texts of users like this.

    >>> plain("SELECT 1\n\x1b[2J")
    'SELECT 1\n\\x1b[2J'
    """
    return "\n".join(map(printable, value.split("\n")))


def label(value: object) -> str:
    r"""
    Return the label of a metric: `plain`, with a backslash doubled, so that two values never get one label.

    Prometheus refuses a page with two equal series, and a client may choose its id.

    >>> label("\x1b"), label(r"\x1b"), label(3)
    ('\\x1b', '\\\\x1b', '3')
    """
    return printable(str(value).replace("\\", "\\\\"))


def broker(value: int | None) -> str:
    """Return the name of a broker."""
    return NONE if value is None else f"broker {value}"


def words(value: str | None) -> str:
    """Return the words of a code such as `over_limit`."""
    return NONE if value is None else value.replace("_", " ")


def ms(value: float | None) -> str:
    """Return milliseconds with three significant figures."""
    if value is None:
        return NONE
    decimals = 2 if abs(value) < 10 else 1 if abs(value) < 100 else 0  # noqa: PLR2004 (three figures)
    return f"{value:,.{decimals}f}"


def instant(value: datetime | None) -> str:
    """Return an instant in UTC, to the second."""
    return NONE if value is None else iso(value).replace("T", " ").split(".")[0].removesuffix("Z")


def age(seconds: float) -> str:
    """
    Return an age in the largest unit of which there are at least two.

    >>> age(119), age(3600), age(2 * 3600), age(2 * 86400)
    ('119 s', '60 min', '2 h', '2 days')
    """
    units = (("days", 86400), ("h", 3600), ("min", 60), ("s", 1))
    name, size = next((one for one in units if seconds >= 2 * one[1]), units[-1])
    return f"{int(seconds / size):,} {name}"


def count(value: float | None) -> str:
    """Return a count with separated thousands."""
    return NONE if value is None else f"{value:,.0f}"


def percent(value: float | None) -> str:
    """
    Return a share.

    >>> percent(0.7104), percent(1.0)
    ('71.0 %', '100 %')
    """
    return NONE if value is None else "100 %" if value == 1 else f"{100 * value:.1f} %"


def change(value: float | None) -> str:
    """Return a relative change with its sign."""
    return NONE if value is None else f"{100 * value:+.1f} %"


def decimal(value: float | None) -> str:
    """Return a number with two decimals."""
    return NONE if value is None else f"{value:,.2f}"


def small(value: float | None) -> str:
    """Return a number with two significant figures."""
    return NONE if value is None else f"{value:.2g}"


def mb(value: float | None) -> str:
    """
    Return bytes as megabytes (10^6).

    >>> mb(5242880), mb(400_000), mb(1_250_000_000)
    ('5.24', '0.40', '1,250')
    """
    if value is None:
        return NONE
    return f"{value / 1e6:,.2f}" if abs(value) < 1e8 else f"{value / 1e6:,.0f}"  # noqa: PLR2004 (100 MB)
