"""What the report says about clients: which partition a record goes to, redirects, lookups. In sentences."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor
from statistics import median

from reports.answers import Answers, Row
from reports.page_text import count, ms, percent

FEW = 5
"""So few events have no typical one."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What a proposal says of a slow leader's share over the others', and what is more than that."""

    says: str
    at_most: float


EXPECTED = {
    "uniform": Claim("KIP-794 measured an even share of it (1.02 to 1.04)", 1.1),
    "adaptive": Claim("KIP-794 measured less than an even share of it (0.59 to 0.82)", 1.0),
}

Z_95, SMALLEST_MS = 1.959964, 0.001
MANY = 20
"""With so many partitions on the move one expects the brokers to be what is waited for."""

UNNAMED = "an unnamed client"
NOT_THE_CLIENT = "the new leader was not ready, or waited for its followers"
SLOW_BY = {
    "leader_latency": "{slowest_latency_ratio:.1f}x the others' latency",
    "batch_size": "batches {slowest_batch_ratio:.1f}x the others'",
}


def sentences(answers: Answers) -> dict[str, list[str]]:
    """Say of each section what a person would read out of its figures."""
    return {
        "skew": [_of_skew(row) for row in measured(answers.partition_skew_summary)],
        "redirect": [*map(_of_redirects, with_redirects(answers)), *_claims(answers.leader_redirect)],
        "lookups": [_of_lookups(row) for row in answers.metadata_lookup],
    }


def measured(rows: Sequence[Row]) -> list[Row]:
    """Leave out topics of one partition, and what a client sent outside its runs, where it has any."""
    with_run = {row["client_id"] for row in rows if row["run"] is not None}
    can_be_uneven = [row for row in rows if row.get("partitions") != 1]
    return [row for row in can_be_uneven if row["run"] is not None or row["client_id"] not in with_run]


def with_redirects(answers: Answers) -> list[Row]:
    """Keep the versions whose leaders moved: not those that met dead ones alone."""
    return [row for row in answers.leader_redirect_summary if row["n"] or row["unfinished"]]


def with_disconnects(answers: Answers) -> list[Row]:
    """Keep the versions whose leaders died."""
    return [row for row in answers.leader_redirect_summary if row["disconnects"]]


def who(row: Row) -> str:
    """Name a client: the arm of its run where there is one, else its client id."""
    named: str = row["arm"] or row["client_id"] or UNNAMED
    return named


def version_of(row: Row) -> str:
    """Name what a client is."""
    told: str = row["software_version"] or "of unknown version"
    return told


def _of_skew(row: Row) -> str:
    start = f"{who(row)} to {row['topic']}: {count(row['batches'])} batches to {row['partitions']} partitions"
    if row["slow_by"] is None:
        return f"{start}, the fullest has {percent(row['top_share'])} of the bytes; no leader is slow for it"
    spoken = f"it speaks for {row['partitioner']}" if row["partitioner"] else "the partitioner is undecided"
    slow = SLOW_BY[row["slow_by"]].format(**row)
    claim = EXPECTED.get(row["partitioner"])
    differs = (
        f"; {claim.says}, which does not show here" if claim and row["slowest_ratio"] > claim.at_most else ""
    )
    return (
        f"{start}; broker {row['slowest_leader_id']} is slow for it ({slow}) and gets "
        f"{row['slowest_ratio']:.2f}x the others' share: {spoken}{differs}"
    )


def _of_redirects(row: Row) -> str:
    start = f"{version_of(row)} ({row['api']}): {count(row['n'])} redirects"
    if row["n"] < FEW or row["redirect_p50_ms"] is None:
        return f"{start}, not enough data"
    tail = f", p99 {ms(row['redirect_p99_ms'])} ms" if row["redirect_p99_ms"] is not None else ""
    return (
        f"{start}, p50 {ms(row['redirect_p50_ms'])} ms{tail}; the client's part "
        f"{ms(row['client_part_p50_ms'])} ms, the broker's {ms(row['broker_part_p50_ms'])} ms; "
        f"{percent(row['hinted_share'])} hinted, {count(row['wasted_requests'])} requests wasted"
    )


def _claims(events: Sequence[Row]) -> list[str]:
    """Hold each topic's redirects against what KIP-951 promises: who is told the new leader is quicker."""
    of_topic: dict[tuple[str, bool], list[Row]] = {}
    for row in events:
        if row["kind"] == "redirect" and row["broker_part_ms"] is not None:
            of_topic.setdefault((row["topic"], row["api"] != "PRODUCE"), []).append(row)
    return [line for _, rows in sorted(of_topic.items()) for line in _claim(rows)]


def _claim(rows: Sequence[Row]) -> list[str]:
    """Compare typical redirects on one topic; without both kinds of clients there is nothing to compare."""
    topic, is_produce = f"{rows[0]['topic']} ({rows[0]['api']})", rows[0]["api"] == "PRODUCE"
    told = [row["redirect_ms"] for row in rows if row["hinted"]]
    untold: dict[str, list[float]] = {}
    for row in rows:
        if not row["hinted"]:
            untold.setdefault(version_of(row), []).append(row["redirect_ms"])
    lines = []
    for version, times in sorted(untold.items()):
        if min(len(told), len(times)) >= FEW:
            is_quicker = median_interval(told)[1] < median_interval(times)[0]
            claim = "as KIP-951 claims" if is_quicker else "KIP-951's claim does not show here"
            without = f"{_typical(times)} without ({version})"
            lines.append(f"{topic}: {_typical(told)} with the new leader in the answer, {without}: {claim}")
    if not lines or not is_produce:  # a consumer's wait is as a rule its own long poll at the new leader
        return lines
    broker, client = (sum(row[part] for row in rows) for part in ("broker_part_ms", "client_part_ms"))
    of_brokers = f"{percent(broker / max(broker + client, SMALLEST_MS))} of the time is the brokers' own"
    moved = len({row["partition"] for row in rows})
    if broker > client:
        lines.append(f"{topic}: {of_brokers}, it swamps the clients' part: {NOT_THE_CLIENT}")
    elif moved >= MANY:
        lines.append(f"{topic}: {moved} partitions moved, {of_brokers}: it does not swamp the clients' part")
    return lines


def _typical(values: Sequence[float]) -> str:
    low, high = median_interval(values)
    return f"{ms(median(values))} ms ({ms(low)} to {ms(high)})"


def median_interval(values: Sequence[float]) -> tuple[float, float]:
    """
    Give an interval of at least 95 % of the median by order statistics, whatever the distribution.

    >>> median_interval([float(n) for n in range(1, 31)])
    (9.0, 22.0)
    """
    ordered, n = sorted(values), len(values)
    rank = max(1, floor((n - Z_95 * n**0.5) / 2))
    return ordered[rank - 1], ordered[n - rank]


def _of_lookups(row: Row) -> str:
    start = f"{row['client_id'] or UNNAMED} ({version_of(row)}): {count(row['lookups'])} lookups"
    grows = ""
    if row["growth_exponent"] is not None:
        grows = f"; topics asked grow like new topics to the power of {row['growth_exponent']:.2f}"
    each = f", {row['topics_per_lookup']:.1f} topics each" if row["topics_per_lookup"] is not None else ""
    forgot = f"; {count(row['evicted_topics'])} topics were let go" if row["evicted_topics"] else ""
    return f"{start}{each}, {count(row['new_topics'])} new topics{grows}{forgot}"


def by_client(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Group rows by who they are of."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(who(row), []).append(row)
    return groups
