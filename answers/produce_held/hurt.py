"""A7: the producers that a finding of the round trips hurt."""

from collections.abc import Sequence
from dataclasses import replace

from answers.formats import count, ms, printable
from answers.gold.reader import QueryBoundError
from answers.gold.selection import IN_SPAN, GoldSelection
from answers.produce_held import slowest
from answers.slow_links.culprits import Finding, is_accused
from schemas.rows import Row

HELD = f"""
    SELECT leader_id, follower_id, topic, sum(n_released + n_tie)::BIGINT AS n_completed,
           sum_ms(held_sum_ms) AS held_sum_ms
    FROM gold.produce_held WHERE {IN_SPAN} AND n_released > 0 GROUP BY ALL
    ORDER BY held_sum_ms DESC, topic, leader_id, follower_id"""
MOST_NAMED = 5


def topics(selection: GoldSelection, one: Finding) -> list[str]:
    """Return whose requests waited for the accused pairs: at most one sentence."""
    rows = _held(selection, one)
    if not rows:
        return []
    completed = sum(row["n_completed"] for row in rows)
    mean_ms = sum(row["held_sum_ms"] for row in rows) / completed
    waited = f"Producers: {count(completed)} acks=all requests waited {ms(mean_ms)} ms longer by the mean"
    return [f"{waited}. Topics: {_named([row['topic'] for row in rows])}."]


def clients(selection: GoldSelection, one: Finding) -> list[str]:
    """Return the clients of the worst window of the pair that held most; none without silver."""
    rows = _held(selection, one)
    if not rows:
        return []
    during, pair = _during(selection, one), (rows[0]["leader_id"], rows[0]["follower_id"])
    try:
        found = slowest.slowest(during, *pair)
    except QueryBoundError:
        return ["Which producers waited most is not listed: its worst window has too many requests."]
    if found is None:
        return []
    names = _named([row["client_id"] or "no client id" for row in found["clients"]])
    return [f"Producers that waited most in its worst window: {names}."]


def _held(selection: GoldSelection, one: Finding) -> list[Row]:
    rows = _during(selection, one).rows(HELD)
    return [row for row in rows if is_accused(one.row, row["follower_id"], row["leader_id"])]


def _during(selection: GoldSelection, one: Finding) -> GoldSelection:
    return replace(selection, since=one.since, until=one.named_until)


def _named(names: Sequence[str]) -> str:
    distinct = list(dict.fromkeys(map(printable, names)))
    more = len(distinct) - MOST_NAMED
    return ", ".join(distinct[:MOST_NAMED]) + (f" and {count(more)} more" if more > 0 else "")
