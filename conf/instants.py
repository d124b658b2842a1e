"""Instants and durations as users write them: one form for all commands."""

import re
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from conf.exit_codes import WrongUseError

UNITS_S = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
DURATION = re.compile(r"([0-9]{1,9})([smhdw])")

SINCE_HELP = "An instant (2026-11-01T08:00Z; UTC without a zone) or an age (36h, 7d)."
"""The help text of an option that takes an instant."""


class TimeRange(NamedTuple):
    """The instants of `--since` and `--until`; None: the option is missing."""

    since: datetime | None
    until: datetime | None


def duration(text: str) -> timedelta:
    """
    Return a duration such as `90s`, `10m`, `36h`, `7d` or `2w`.

    Raises:
        ValueError: the text is no duration.

    >>> print(duration("36h"))
    1 day, 12:00:00
    """
    found = DURATION.fullmatch(text.strip())
    if found is None:
        message = f"{text!r} is not a duration: write 90s, 10m, 36h, 7d or 2w"
        raise ValueError(message)
    try:
        return timedelta(seconds=int(found[1]) * UNITS_S[found[2]])
    except OverflowError as error:
        message = f"{text!r} is too long a duration"
        raise ValueError(message) from error


def seconds_of(option: str, text: str, former_s: float | None = None, *, is_positive: bool = False) -> float:
    """
    Return the seconds of an option that takes a duration; `former_s` is the value of its former name.

    Raises:
        WrongUseError: the text is no duration, or is 0 and must not be.

    >>> seconds_of("--for", "2m"), seconds_of("--for", "60s", 0.5)
    (120.0, 0.5)
    """
    if former_s is not None:
        return former_s
    try:
        seconds = duration(text).total_seconds()
    except ValueError as error:
        message = f"{option} {error}"
        raise WrongUseError(message) from error
    if is_positive and not seconds:
        message = f"{option} {text}: must be longer than 0"
        raise WrongUseError(message)
    return seconds


def instant(text: str, now: datetime | None = None) -> datetime:
    """
    Return an instant in UTC from ISO 8601 (without a zone: UTC) or from an age, counted back from `now`.

    Raises:
        ValueError: the text is neither; the message shows both forms.

    >>> print(instant("2026-11-01T08:00+01:00"))
    2026-11-01 07:00:00+00:00
    >>> print(instant("2h", datetime(2026, 11, 1, 8, tzinfo=UTC)))
    2026-11-01 06:00:00+00:00
    """
    wrong = f"{text!r} is neither an instant (2026-11-01T08:00Z) nor an age (30m, 36h, 7d)"
    try:
        if DURATION.fullmatch(text.strip()):
            return (now or datetime.now(UTC)) - duration(text)
        at = datetime.fromisoformat(text.strip())
        return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)
    except (ValueError, OverflowError) as error:
        raise ValueError(wrong) from error


def time_range(since: str | None, until: str | None, now: datetime | None = None) -> TimeRange:
    """
    Return the time range of `--since` and `--until`; both ages count back from `now`.

    Raises:
        WrongUseError: an option is wrong, or `--since` is not before `--until` (default: now).

    """
    now = now or datetime.now(UTC)
    found = TimeRange(_instant_of("--since", since, now), _instant_of("--until", until, now))
    if found.since and found.since >= (found.until or now):
        message = f"--since {since} is not before --until {until or 'now'}"
        raise WrongUseError(message)
    return found


def _instant_of(option: str, text: str | None, now: datetime) -> datetime | None:
    try:
        return None if text is None else instant(text, now)
    except ValueError as error:
        message = f"{option} {error}"
        raise WrongUseError(message) from error
