"""When a follower holds produce back, and the sentence about it."""

from collections.abc import Sequence
from typing import NamedTuple

from answers.answer import Headline
from answers.formats import count, mb, ms, percent
from answers.next_steps.produce import of_held
from answers.next_steps.steps import NextStep
from answers.slow_links.accusation import Accusation
from answers.slow_links.culprits import Finding, clock, is_accused
from answers.slow_links.culprits import sentence as accused_of
from schemas.rows import Row

HOLDS_SHARE, HOLDS_MS, MIN_REQUESTS = 0.75, 2.0, 3
"""
A follower holds produce back in a window if it releases at least this share of the requests that its fetches
complete, these would be faster by at least this much without it, by the mean, and it releases this number.

The share is not of all of the leader's requests: with many brokers a follower has few of the partitions.
"""

HOLDS = (
    f"released >= greatest({HOLDS_SHARE} * completed, {MIN_REQUESTS}) AND held_ms >= {HOLDS_MS} * completed"
)
"""This condition in SQL, of the sums of a window."""

MIN_WINDOWS, RUN_SHARE = 3, 0.5
"""The minimum run of such windows, and the share over the whole run: one pause is no finding."""

MOST_APART_S = 20
"""The maximum distance of two such windows of a run: one other window may lie between them."""

LEAST_NAMED = 0.5
"""If fewer of the requests that waited have a follower, nothing is said about the followers."""

PARTS = ("busy", "serve", "network", "take")


class Held(NamedTuple):
    """A follower that holds produce back: its sums over the run of windows, and its leader's."""

    row: Row
    leader: Row
    is_open: bool  # the run goes on to the last window of the span with produce requests

    @property
    def part(self) -> str:
        """The largest part of the wait at the median."""
        return largest_part(self.row)

    @property
    def when(self) -> str:
        """The time of the run."""
        since = f"{clock(self.row['window_start'])}"
        return f"Since {since} UTC" if self.is_open else f"From {since} to {clock(self.row['until'])} UTC"


def waited(row: Row) -> int:
    """Return how many requests waited for replication and succeeded."""
    return int(row["n"] - row["n_not_held"] - row["n_failed"])


def is_holding(row: Row) -> bool:
    """Return whether a follower holds its leader's requests back over a whole run."""
    completed = row["n_released"] + row["n_tie"]
    is_most = row["n_released"] >= RUN_SHARE * completed
    return bool(is_most and (row["held_sum_ms"] or 0.0) >= HOLDS_MS * completed)


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
    wait, be, would = ("wait", "is", "would be") if held.is_open else ("waited", "was", "would have been")
    share = (row["n_released"] + row["n_tie"]) / waited(held.leader)
    of_part = f", {ms(row[f'{held.part}_p50_ms'])} ms of it {be} {words[held.part]}" if held.part else ""
    return (
        f"{held.when} {percent(share)} of the acks=all requests to broker {leader} that wait for replication "
        f"{wait} for follower {follower}: {ms(row['remote_p50_ms'])} ms at the median{of_part}. "
        f"Without it they {would} {ms(row['held_p50_ms'])} ms faster."
    )


def without(pairs: Sequence[Row]) -> Headline:
    """Return the sentence if no follower holds produce back: none does, or it is not known."""
    waiting, failed = sum(map(waited, pairs)), sum(row["n_failed"] for row in pairs)
    named = sum(row["n_released"] + row["n_tie"] for row in pairs)
    if not pairs:
        sentence, mood = "There is no produce request in this span.", "unsure"
    elif named < LEAST_NAMED * waiting:
        unknown = f"for {count(waiting - named)} of {count(waiting)} requests that waited, no fetch fits"
        sentence, mood = f"Not enough data to say who holds produce back: {unknown}.", "unsure"
    elif waiting:
        sentence, mood = "No follower holds produce back.", "unsure" if failed else "calm"
    elif failed:
        sentence, mood = "No produce request that waited for replication succeeded in this span.", "alarm"
    else:
        waits = "acks=all needs replicas to wait for"
        sentence, mood = f"No produce request waited for replication in this span: {waits}.", "calm"
    evidence = [f"{count(failed)} requests failed: they timed out or had too few replicas."] if failed else []
    return Headline(sentence=sentence, mood=mood, evidence=evidence)


def evidence(held: Held, accused: Accusation, throttles: Sequence[Row]) -> list[str]:
    """
    Return the figures behind the sentence, and what the other answers say of the same time.

    `throttles` are those of the run (`limits`).
    """
    row = held.row
    parts = ", ".join(f"{part} {ms(row[f'{part}_p50_ms'])}" for part in PARTS)
    released = (
        f"In that time the fetches of broker {row['follower_id']} released {count(row['n_released'])} "
        f"({percent(row['share_released'])}) of {count(waited(held.leader))} requests that waited; "
        f"held p50 {ms(row['held_p50_ms'])} ms, p99 {ms(row['held_p99_ms'])} ms."
    )
    return [
        released,
        f"Parts of the wait, medians in ms: {parts} (docs/questions/produce-held.md).",
        *_throttled(held, throttles),
        agreement(held, accused),
    ]


def _throttled(held: Held, throttles: Sequence[Row]) -> list[str]:
    """Return the throttles that can keep the follower away from its fetching."""
    if held.part != "busy":
        return []
    pair = {("follower", held.row["follower_id"]), ("leader", held.row["leader_id"])}
    return [
        f"Broker {row['broker_id']} had a replication throttle of {mb(row['limit_bytes_per_s'])} MB/s in "
        f"that time ({row['direction']}): it can keep broker {held.row['follower_id']} from fetching."
        for row in throttles
        if (row["direction"], row["broker_id"]) in pair and row["limit_bytes_per_s"] is not None
    ]


def findings_of(held: Held, accused: Accusation) -> list[Finding]:
    """Return the findings of the round trips in the time of the run; those of this pair come first."""
    row = held.row
    meanwhile = [
        one for one in accused.found if one.since < row["until"] and one.named_until > row["window_start"]
    ]
    return sorted(meanwhile, key=lambda one: not _is_of(held, one))


def _is_of(held: Held, one: Finding) -> bool:
    return is_accused(one.row, held.row["follower_id"], held.row["leader_id"])


def does_agree(held: Held, accused: Accusation) -> bool:
    """Return whether the round trips of that time accuse the pair too."""
    return any(_is_of(held, one) for one in findings_of(held, accused))


def agreement(held: Held, accused: Accusation) -> str:
    """Return whether the culprit of the round trips is the follower that holds produce back."""
    found = findings_of(held, accused)
    if not found:
        usual = "By their round trips, no broker and no link was slow in that time"
        is_way = held.part in {"network", "own_append"}
        return f"{usual} against its own history." if is_way else f"{usual}: the network is not the cause."
    said = accused.headline.sentence if found[0] is accused.chief else accused_of(found[0])
    return f"The round trips {'agree' if _is_of(held, found[0]) else 'do not agree'}: {said}"


def steps(held: Held) -> list[NextStep]:
    """Return what to check."""
    return of_held(held.part, held.row["follower_id"], held.row["leader_id"])
