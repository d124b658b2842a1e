"""KIP-951's claim compared with redirects: clients that get the new leader in the error are faster."""

from collections.abc import Sequence
from math import floor
from statistics import median

from answers.clients import version_of
from answers.formats import count, ms, percent
from schemas.histogram import Z_95
from schemas.rows import Row

SMALLEST_MS = 0.001
LEAST = 6
"""The minimum number of values: the range of five contains the median with 93.75 % only."""

ENOUGH = 20
"""From this number on the interval is the middle 12 values; below, it is nearly the whole range."""

MANY = 20
"""When this many partitions move, the brokers are expected to be the bottleneck."""

NOT_THE_CLIENT = "the new leader was not ready, or waited for its followers"


def claims(events: Sequence[Row]) -> list[str]:
    """Return how each topic's redirects agree with the proposal, producers and consumers separate."""
    of_topic: dict[tuple[str, bool], list[Row]] = {}
    for row in events:
        if row["kind"] == "redirect" and row["broker_part_ms"] is not None:
            of_topic.setdefault((row["topic"], row["api"] != "PRODUCE"), []).append(row)
    return [line for _, rows in sorted(of_topic.items()) for line in _of_topic(rows)]


def _of_topic(rows: Sequence[Row]) -> list[str]:
    """Compare the redirects of one topic; empty without both kinds of clients."""
    topic, is_produce = f"{rows[0]['topic']} ({rows[0]['api']})", rows[0]["api"] == "PRODUCE"
    hinted = [row["redirect_ms"] for row in rows if row["hinted"]]
    plain: dict[str, list[float]] = {}
    for row in rows:
        if not row["hinted"]:
            plain.setdefault(version_of(row), []).append(row["redirect_ms"])
    if not hinted or not plain:
        return []
    lines = [f"{topic}: {_compared(hinted, times, version)}" for version, times in sorted(plain.items())]
    is_enough = min(len(hinted), max(map(len, plain.values()))) >= LEAST
    # A consumer mostly waits in its own long poll at the new leader, so its parts are not judged.
    return [*lines, *_brokers(topic, rows)] if is_produce and is_enough else lines


def _compared(hinted: Sequence[float], plain: Sequence[float], version: str) -> str:
    """Return whether hinted clients are faster, with the `n` of both."""
    with_it = f"{_typical(hinted)} with the new leader in the answer"
    return f"{with_it}, {_typical(plain)} without ({version}): {_verdict(hinted, plain)}"


def _verdict(hinted: Sequence[float], plain: Sequence[float]) -> str:
    theirs, others = median_interval(hinted), median_interval(plain)
    if theirs and others and theirs[1] < others[0]:
        return "as KIP-951 claims"
    is_enough = min(len(hinted), len(plain)) >= ENOUGH
    return "KIP-951's claim does not show here" if is_enough else "too few to tell"


def _brokers(topic: str, rows: Sequence[Row]) -> list[str]:
    """Return whether the brokers are the bottleneck; moves that no client noticed have no rows."""
    broker, client = (sum(row[part] for row in rows) for part in ("broker_part_ms", "client_part_ms"))
    met = len({row["partition"] for row in rows})
    start = (
        f"{topic}: clients met the moves of {met} partitions in {count(len(rows))} redirects; "
        f"{percent(broker / max(broker + client, SMALLEST_MS))} of the time is the brokers' part"
    )
    if broker > client:
        return [f"{start}, more than the clients' part: {NOT_THE_CLIENT}"]
    return [f"{start}, less than the clients' part"] if met >= MANY else []


def _typical(values: Sequence[float]) -> str:
    interval = median_interval(values)
    spread = f"; {ms(interval[0])} to {ms(interval[1])}" if interval else ""
    return f"{ms(median(values))} ms (n = {count(len(values))}{spread})"


def median_interval(values: Sequence[float]) -> tuple[float, float] | None:
    """
    Return an interval of at least 95 % of the median by order statistics, for any distribution.

    None for fewer than six values.

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
