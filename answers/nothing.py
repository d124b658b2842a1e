"""The answer without rows: nothing of a kind happened in a span, or nothing of the span was read."""

from answers.answer import FILLED_BY_GOLD, Answer, Headline, Missing, Section
from answers.formats import capital
from answers.gold.contents import READ_FROM_REQUEST_LOG, too_late
from answers.gold.selection import GoldSelection

POLLED = """
    SELECT count(*) > 0 AS is_read FROM gold.data_quality
    WHERE cluster = $cluster AND kind = 'cluster' AND first_logged_at < $until AND last_logged_at >= $since"""
"""Whether the settings of the cluster were polled in the span: no window of gold shows a poll."""


def without_rows(  # noqa: PLR0913 (the parts of an answer, each by name)
    selection: GoldSelection,
    quiet: Headline,
    *,
    name: str,
    title: str,
    what: str,
    read: str = READ_FROM_REQUEST_LOG,
    source: str = "request log",
) -> Answer:
    """
    Return `quiet` with nothing to show, or, if nothing of the span was read, that nothing is known.

    `read` is the query whether the span was read from a `source`.
    """
    if is_read(selection, read):
        nothing = _section(name, title, Missing(what, ""))
        return Answer(headline=quiet, make_sections=lambda: [nothing])
    why = too_late(selection) or f"no {source} of this span was read."
    headline = Headline(
        sentence="Nothing is known about this span: it was not read.", mood="unsure", evidence=[capital(why)]
    )
    missing = _section(name, title, Missing(why, FILLED_BY_GOLD))
    return Answer(headline=headline, make_sections=lambda: [missing])


def is_read(selection: GoldSelection, read: str) -> bool:
    """Return whether something of the span was read, by a query such as `READ_AT_ALL`."""
    return bool(selection.rows(read)[0]["is_read"])


def _section(name: str, title: str, missing: Missing) -> Section:
    return Section(name=name, title=title, blocks=[missing])
