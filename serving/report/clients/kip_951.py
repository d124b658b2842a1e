"""What KIP-951 promises, held against the redirects that were seen: who is told the new leader is quicker."""

from collections.abc import Sequence
from math import floor
from statistics import median

from schemas.histogram import Z_95
from schemas.rows import Row
from serving.report.clients.rows import version_of
from serving.report.page_text import count, ms, percent

SMALLEST_MS = 0.001
LEAST = 6
"""Of fewer values not even the lowest and the highest hold their median with 95 %: of five with 93.75 %."""

ENOUGH = 20
"""Of so many the interval spans the middle 12; of fewer it spans nearly all, and to overlap tells nothing."""

MANY = 20
"""With so many partitions on the move one expects the brokers to be what is waited for."""

NOT_THE_CLIENT = "the new leader was not ready, or waited for its followers"


def claims(events: Sequence[Row]) -> list[str]:
    """Hold each topic's redirects against what the proposal says, producers and consumers apart."""
    of_topic: dict[tuple[str, bool], list[Row]] = {}
    for row in events:
        if row["kind"] == "redirect" and row["broker_part_ms"] is not None:
            of_topic.setdefault((row["topic"], row["api"] != "PRODUCE"), []).append(row)
    return [line for _, rows in sorted(of_topic.items()) for line in _of_topic(rows)]


def _of_topic(rows: Sequence[Row]) -> list[str]:
    """Compare typical redirects on one topic; without both kinds of clients there is nothing to compare."""
    topic, is_produce = f"{rows[0]['topic']} ({rows[0]['api']})", rows[0]["api"] == "PRODUCE"
    told = [row["redirect_ms"] for row in rows if row["hinted"]]
    untold: dict[str, list[float]] = {}
    for row in rows:
        if not row["hinted"]:
            untold.setdefault(version_of(row), []).append(row["redirect_ms"])
    if not told or not untold:
        return []
    lines = [f"{topic}: {_compared(told, times, version)}" for version, times in sorted(untold.items())]
    is_enough = min(len(told), max(map(len, untold.values()))) >= LEAST
    # A consumer's wait is as a rule its own long poll at the new leader: no part of it is judged.
    return [*lines, *_brokers(topic, rows)] if is_produce and is_enough else lines


def _compared(told: Sequence[float], untold: Sequence[float], version: str) -> str:
    """Say whether who is told is quicker, not quicker, or too seldom seen; `n` of both stand in it."""
    with_it = f"{_typical(told)} with the new leader in the answer"
    return f"{with_it}, {_typical(untold)} without ({version}): {_verdict(told, untold)}"


def _verdict(told: Sequence[float], untold: Sequence[float]) -> str:
    theirs, others = median_interval(told), median_interval(untold)
    if theirs and others and theirs[1] < others[0]:
        return "as KIP-951 claims"
    is_enough = min(len(told), len(untold)) >= ENOUGH
    return "KIP-951's claim does not show here" if is_enough else "too few to tell"


def _brokers(topic: str, rows: Sequence[Row]) -> list[str]:
    """Say whether the brokers are what is waited for; moves that no client met are not in the rows."""
    broker, client = (sum(row[part] for row in rows) for part in ("broker_part_ms", "client_part_ms"))
    met = len({row["partition"] for row in rows})
    start = (
        f"{topic}: clients met the moves of {met} partitions in {count(len(rows))} redirects; "
        f"{percent(broker / max(broker + client, SMALLEST_MS))} of the time is the brokers' own"
    )
    if broker > client:
        return [f"{start}, it swamps the clients' part: {NOT_THE_CLIENT}"]
    return [f"{start}: it does not swamp the clients' part"] if met >= MANY else []


def _typical(values: Sequence[float]) -> str:
    interval = median_interval(values)
    spread = f"; {ms(interval[0])} to {ms(interval[1])}" if interval else ""
    return f"{ms(median(values))} ms (n = {count(len(values))}{spread})"


def median_interval(values: Sequence[float]) -> tuple[float, float] | None:
    """
    Give an interval of at least 95 % of the median by order statistics, whatever the distribution.

    None where there is no such interval: of fewer than six values.

    >>> median_interval([float(n) for n in range(1, 31)])
    (9.0, 22.0)
    >>> median_interval([1.0, 2.0, 3.0, 4.0, 5.0]) is None
    True
    """
    ordered, n = sorted(values), len(values)
    if n < LEAST:
        return None
    rank = max(1, floor((n - Z_95 * n**0.5) / 2))
    return ordered[rank - 1], ordered[n - rank]
