"""
A next step and its command. Ids, rates and names of the finding are filled in.

Words in capitals are to be replaced: HOST:PORT is any broker, BROKER_3_HOST is the host of broker 3,
MOVE.json is the file of a reassignment, SETTINGS.toml has the settings of the warehouse. Gold has no
addresses of brokers.
"""

import shlex
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from schemas.rows import iso

SERVERS = "--bootstrap-server HOST:PORT"
SETTINGS = "--conf SETTINGS.toml"

MARGIN = timedelta(minutes=10)
"""The time before and after an incident that its report shows, for comparison."""


class NextStep(NamedTuple):
    """One thing to check or to do, and the command for it."""

    text: str
    command: str | None = None


def look_closer(cluster: str, since: datetime | None, until: datetime | None) -> NextStep:
    """Return the command that reports the time of an incident; without `until` up to now."""
    words = [f"plumbline report {SETTINGS} --cluster={quoted(cluster)}"]
    words += [f"--since {iso(since - MARGIN)}"] if since else []
    words += [f"--until {iso(until + MARGIN)}"] if until else []
    return NextStep("Look closer: the report of this time, with all figures.", " ".join(words))


def with_settings(step: NextStep, conf: Sequence[str]) -> NextStep:
    """Return a step with these settings files in its command; without any, it keeps the placeholder."""
    if step.command is None or not conf:
        return step
    return step._replace(
        command=step.command.replace(SETTINGS, " ".join(f"--conf {quoted(path)}" for path in conf))
    )


def quoted(text: str) -> str:
    r"""
    Return a text as one word of a shell command, on one line.

    >>> print(quoted("it's <b>"), quoted("two\nlines"))
    'it'"'"'s <b>' $'two\x0alines'
    """
    return shlex.quote(text) if text.isprintable() else f"$'{''.join(map(_escaped, text))}'"


def _escaped(sign: str) -> str:
    """Return a character inside the quotes `$'...'` of bash."""
    if sign in "\\'":
        return f"\\{sign}"
    return sign if sign.isprintable() else "".join(f"\\x{byte:02x}" for byte in sign.encode(errors="replace"))
