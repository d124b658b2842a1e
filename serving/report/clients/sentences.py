"""What the report says about clients: which partition a record goes to, redirects, lookups. In sentences."""

from collections.abc import Mapping
from dataclasses import dataclass

from schemas.rows import Row
from serving.report.answers import Answers
from serving.report.clients.kip_951 import claims
from serving.report.clients.rows import (
    FEW,
    UNNAMED,
    in_order,
    measured,
    short_runs,
    version_of,
    who,
    with_redirects,
)
from serving.report.page_text import count, ms, percent


@dataclass(frozen=True, slots=True)
class Claim:
    """What a proposal says of a slow leader's share over the others', and what is more than that."""

    says: str
    at_most: float


EXPECTED = {
    "uniform": Claim("KIP-794 measured an even share of it (1.02 to 1.04)", 1.1),
    "adaptive": Claim("KIP-794 measured less than an even share of it (0.59 to 0.82)", 1.0),
}

SLOW_BY = {
    "leader_latency": "{slowest_latency_ratio:.1f}x the others' latency",
    "batch_size": "batches {slowest_batch_ratio:.1f}x the others'",
}


def sentences(answers: Answers) -> dict[str, list[str]]:
    """Say of each section what a person would read out of its figures, in the order of its rows."""
    skews, lookups = in_order(measured(answers.partition_skew_summary)), in_order(answers.metadata_lookup)
    of_skews, of_lookups = short_runs(skews), short_runs(lookups)
    return {
        "skew": [_of_skew(row, of_skews) for row in skews],
        "redirect": [*map(_of_redirects, with_redirects(answers)), *claims(answers.leader_redirect)],
        "lookups": [_of_lookups(row, of_lookups) for row in lookups],
    }


def _of_skew(row: Row, runs: Mapping[str | None, str]) -> str:
    of = f" ({runs[row['run']]})" if row["run"] else ""
    start = (
        f"{who(row)}{of} to {row['topic']}: {count(row['batches'])} batches to {row['partitions']} partitions"
    )
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


def _of_lookups(row: Row, runs: Mapping[str | None, str]) -> str:
    client = ", ".join([version_of(row), *([runs[row["run"]]] if row["run"] else [])])
    start = f"{row['client_id'] or UNNAMED} ({client}): {count(row['lookups'])} lookups"
    grows = ""
    if row["growth_exponent"] is not None:
        grows = f"; topics asked grow like new topics to the power of {row['growth_exponent']:.2f}"
    each = f", {row['topics_per_lookup']:.1f} topics each" if row["topics_per_lookup"] is not None else ""
    forgot = f"; {count(row['evicted_topics'])} topics were let go" if row["evicted_topics"] else ""
    return f"{start}{each}, {count(row['new_topics'])} new topics{grows}{forgot}"
