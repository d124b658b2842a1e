"""When a follower holds produce back, and the sentence about it."""

from collections.abc import Sequence
from typing import NamedTuple

from answers.formats import count, ms, percent
from answers.next_steps.produce import of_held
from answers.next_steps.steps import NextStep
from answers.slow_links.accusation import Accusation
from answers.slow_links.culprits import clock
from schemas.rows import Row

MIN_REQUESTS = 30
"""The minimum number of requests that a follower released in these windows."""

HOLDS_SHARE, HOLDS_MS = 0.5, 2.0
"""
A follower holds produce back in a window if it releases at least this share of the requests that wait, and
these would be faster by at least this much without it. Below that, attribution is uncertain.
"""

PARTS = ("busy", "serve", "network", "take")


class Held(NamedTuple):
    """A follower that holds produce back: its sums over the windows in which it does, and its leader's."""

    row: Row
    leader: Row

    @property
    def part(self) -> str:
        """The largest part of the wait at the median."""
        return largest_part(self.row)

    @property
    def waited(self) -> int:
        """How many of the leader's requests waited in these windows."""
        return int(self.leader["n"] - self.leader["n_not_held"] - self.leader["n_failed"])


def is_holding(row: Row) -> bool:
    """Return whether a follower holds enough requests back in its windows."""
    held_ms = (row["held_sum_ms"] or 0.0) / max(row["n_released"] + row["n_tie"], 1)
    return bool(row["n_released"] >= MIN_REQUESTS and held_ms >= HOLDS_MS)


def largest_part(row: Row) -> str:
    """Return the largest part of the wait at the median; `own_append` if it is most of the network."""
    known = {part: row[f"{part}_p50_ms"] for part in PARTS if row[f"{part}_p50_ms"] is not None}
    if not known:
        return ""
    part = max(known, key=lambda name: known[name])
    own_ms, trip_ms = row["own_append_p50_ms"], row["round_trip_p50_ms"]
    return "own_append" if part == "network" and own_ms is not None and own_ms > trip_ms else part


def sentence(held: Held) -> str:
    """Return the sentence about a follower that holds produce back."""
    row, follower, leader = held.row, held.row["follower_id"], held.row["leader_id"]
    words = {
        "busy": f"broker {follower} being away from its fetching",
        "serve": f"broker {leader} answering the fetch of follower {follower}",
        "network": f"the network path to follower {follower}",
        "own_append": f"the append of follower {follower}",
        "take": f"broker {leader} handling the fetch of follower {follower}",
    }
    of_part = f" {ms(row[f'{held.part}_p50_ms'])} ms of it is {words[held.part]}." if held.part else ""
    return (
        f"Half of the acks=all requests to broker {leader} wait {ms(held.leader['remote_p50_ms'])} ms for "
        f"replication;{of_part} Without follower {follower} they would be {ms(row['held_p50_ms'])} ms faster."
    )


def quiet(pairs: Sequence[Row]) -> str:
    """Return the sentence if no follower holds produce back."""
    if any(row["n"] > row["n_not_held"] for row in pairs):
        return "No follower holds produce back."
    return "No produce request waited for replication in this span: acks=all needs replicas to wait for."


def evidence(held: Held, accused: Accusation) -> list[str]:
    """Return the figures behind the sentence, and whether the round trips agree with it."""
    row = held.row
    parts = ", ".join(f"{part} {ms(row[f'{part}_p50_ms'])}" for part in PARTS)
    share, span = (
        row["n_released"] / held.waited,
        f"{clock(row['window_start'])} to {clock(row['until'])} UTC",
    )
    released = (
        f"In {row['windows']} windows of 10 s, {span}, the fetches of broker {row['follower_id']} released "
        f"{count(row['n_released'])} ({percent(share)}) of {count(held.waited)} requests that waited; "
        f"held p50 {ms(row['held_p50_ms'])} ms, p99 {ms(row['held_p99_ms'])} ms."
    )
    return [
        released,
        f"Parts of the wait, medians in ms: {parts}.",
        agreement(held, accused),
    ]


def agreement(held: Held, accused: Accusation) -> str:
    """Return whether the culprit of the round trips is the follower that holds produce back."""
    if accused.chief is None:
        usual = "By their round trips, no broker and no link is slow"
        is_way = held.part in {"network", "own_append"}
        return f"{usual} against its own history." if is_way else f"{usual}: the network is not the cause."
    if accused.is_of(held.row):
        return f"The round trips agree: {accused.headline.sentence}"
    return f"The round trips do not agree: {accused.headline.sentence}"


def steps(held: Held) -> list[NextStep]:
    """Return what to check."""
    return of_held(held.part, held.row["follower_id"], held.row["leader_id"])
