"""The filters in the address of a page, with which a page can be shared."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, urlencode

from conf.instants import instant

SPANS = {
    "10m": timedelta(minutes=10),
    "1h": timedelta(hours=1),
    "6h": timedelta(hours=6),
    "1d": timedelta(days=1),
    "all": None,
}
SPAN_WORDS = {"10m": "10 minutes", "1h": "1 hour", "6h": "6 hours", "1d": "1 day", "all": "all there is"}
SPAN = "1h"
AGAINST = {"span": None, "1d": timedelta(days=1), "7d": timedelta(days=7)}
AGAINST_WORDS = {"span": "the span before", "1d": "a day earlier", "7d": "a week earlier"}
LONGEST = 512
"""The maximum length of a text in an address. No name is longer."""

EARLIEST, LATEST = datetime(1970, 2, 1, tzinfo=UTC), datetime(3000, 1, 1, tzinfo=UTC)
"""Other instants in an address are left out: no span before or after them can be computed."""

WINDOW = timedelta(seconds=10)


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """The filters of a page; None does not restrict it."""

    cluster: str | None = None
    span: str = SPAN
    until: datetime | None = None  # None follows the newest window
    broker: int | None = None
    topic: str | None = None
    client: str | None = None
    follower: int | None = None  # of the pair that the page is about
    leader: int | None = None
    run: str | None = None  # of a comparison: "baseline against contender"
    against: str | None = None  # the earlier span to compare with
    incident: str | None = None  # id of the incident that the page is about

    def query(self) -> str:
        """Return the filters as the query of an address, without defaults."""
        named = {name: value for name, value in asdict(self).items() if value is not None}
        if self.until:
            named["until"] = self.until.isoformat()
        if self.span == SPAN:
            del named["span"]
        return f"?{urlencode(named)}" if named else ""

    def times(self, newest: datetime | None) -> tuple[datetime, datetime]:
        """Return the span, which ends at `until`, else with the newest window."""
        until = self.until or ((newest or datetime(1970, 1, 1, tzinfo=UTC)) + WINDOW)
        length = SPANS[self.span]
        return (until - length if length else datetime(1970, 1, 1, tzinfo=UTC)), until


def filters_of(query: str | None) -> Filters:
    """
    Return the filters in the query of an address; invalid values are left out.

    >>> filters_of("?cluster=east&broker=2&span=6h")
    Filters(cluster='east', span='6h', until=None, broker=2, topic=None, client=None, follower=None, \
leader=None, run=None, against=None, incident=None)
    >>> filters_of("?broker=two&span=forever&until=now") == Filters()
    True
    """
    listed = parse_qs(encodable(query or "").removeprefix("?"))
    named = {name: values[-1] for name, values in listed.items()}
    text = {
        name: named[name][:LONGEST]
        for name in ("cluster", "topic", "client", "run", "incident")
        if name in named
    }
    return Filters(
        **text,
        span=named["span"] if named.get("span") in SPANS else SPAN,
        against=named["against"] if named.get("against") in AGAINST else None,
        until=_instant(named.get("until")),
        broker=_number(named, "broker"),
        follower=_number(named, "follower"),
        leader=_number(named, "leader"),
    )


def encodable(text: str) -> str:
    r"""
    Return a text of a browser with `?` instead of lone surrogates, which JSON may have and UTF-8 cannot.

    >>> encodable("caf\u00e9 \ud800")
    'café ?'
    """
    return text.encode(errors="replace").decode()


def _instant(text: str | None) -> datetime | None:
    with suppress(ValueError):
        at = instant(text) if text else None
        return at if at and EARLIEST <= at < LATEST else None
    return None


def _number(named: Mapping[str, str], name: str) -> int | None:
    text = named.get(name, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else None  # noqa: PLR2004
