"""
Reject a record whose instant cannot be true: one line of a wrong clock must not move "now".

A line is written before it is sent, so its instant is at most a clock difference after the instant of its
Kafka record. How long before it was written is no sign of an error: old files are back-filled.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np

from transforms.parse.record import Kept, Outcome, Quarantined, Record

HOUR_US = 3_600_000_000
AHEAD_US = HOUR_US
"""How far ahead of its Kafka record an instant may be, in microseconds; the default of the setting."""

OLDEST_US = 1_262_304_000_000_000
"""2010, before Kafka's first release: an older instant is that of a clock that was never set."""


def checked_instant(outcome: Outcome, record: Record, ahead_us: int = AHEAD_US) -> Outcome:
    """
    Return the outcome, or why the instant of a kept record cannot be true.

    A record without a Kafka timestamp, such as a line of a raw file, is only checked for its age. So is one
    whose own timestamp is too old to be true.

    >>> from typing import NamedTuple
    >>> Row = NamedTuple("Row", [("logged_at", int)])
    >>> year = 366 * 24 * HOUR_US
    >>> sent = Record(b"a line", timestamp=50 * year)
    >>> checked_instant(Kept({"requests": [Row(51 * year)]}), sent).reason
    'from_the_future'
    >>> checked_instant(Kept({"requests": [Row(0)]}), sent).reason
    'too_old'
    """
    if type(outcome) is not Kept:
        return outcome
    sent_at = record.timestamp
    if sent_at is not None and sent_at < OLDEST_US:
        sent_at = None
    for name, rows in outcome.rows.items():
        first, last = _ends(name, rows)
        if first is not None and first < OLDEST_US:
            return Quarantined("too_old", f"{_shown(first)} is before {_shown(OLDEST_US)}")
        if last is not None and sent_at is not None and last > sent_at + ahead_us:
            return Quarantined("from_the_future", f"{_shown(last)}, but sent at {_shown(sent_at)}")
    return outcome


def _ends(name: str, rows: Sequence[Any]) -> tuple[int | None, int | None]:
    """Return a record's first and last instant: all rows of a line have one instant, a run has three."""
    if not rows:
        return None, None
    if name == "metric_samples":
        at = rows[0].at
        return (at, at) if isinstance(at, int) else (int(np.min(at)), int(np.max(at)))
    if name == "runs":
        run = rows[0]
        known = [at for at in (run.logged_at, run.started_at, run.ended_at) if at is not None]
        return min(known, default=None), max(known, default=None)
    at = getattr(rows[0], "logged_at", None)
    return at, at


def _shown(at: int) -> str:
    return datetime.fromtimestamp(at // 1_000_000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
