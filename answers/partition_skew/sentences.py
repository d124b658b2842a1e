"""A3 in words: how a producer's batches spread over partitions, and which partitioner this indicates."""

from collections.abc import Sequence
from dataclasses import dataclass

from answers import listing
from answers.clients import version_of, who, with_short_runs
from answers.formats import NONE, count, percent
from answers.listing import Column, Listing
from answers.partition_skew.spread import MIN_BATCHES
from schemas.rows import Row


@dataclass(frozen=True, slots=True)
class Claim:
    """What a proposal measured of a slow leader's share / the others', and the most that agrees with it."""

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


def measured(rows: Sequence[Row]) -> list[Row]:
    """Return the rows without topics of one partition, and only the runs of clients that have runs."""
    with_run = {row["client_id"] for row in rows if row["run"] is not None}
    can_be_uneven = [row for row in rows if row.get("partitions") != 1]
    return [row for row in can_be_uneven if row["run"] is not None or row["client_id"] not in with_run]


def listed(rows: Sequence[Row]) -> list[Row]:
    """Return the rows that are listed, with the short names of their runs."""
    return with_short_runs(measured(rows))


def headline(rows: Sequence[Row]) -> str:
    """Return the sentence that names slow leaders; empty if no leader is slow for a producer."""
    judged = [row for row in measured(rows) if (row["batches"] or 0) >= MIN_BATCHES]  # NULL without a log
    slow = [row for row in judged if row["slow_by"] is not None]
    if not slow:
        return ""
    brokers = sorted({row["slowest_leader_id"] for row in slow})
    least, most = (pick(slow, key=lambda row: row["slowest_ratio"]) for pick in (min, max))
    got = f"{least['slowest_ratio']:.2f} ({who(least)})"
    if most is not least:
        got += f" to {most['slowest_ratio']:.2f} ({who(most)})"
    named = f"Broker {brokers[0]} is" if len(brokers) == 1 else f"Brokers {_joined(brokers)} are"
    spreads = f"{len(slow)} of {len(judged)} producers' spreads"
    return f"{named} slow for {spreads} over partitions, and got {got} times the others' share."


def quiet(rows: Sequence[Row]) -> str:
    """Return the sentence of a page without a headline."""
    if not measured(rows):
        return "No producer to judge in this span."
    return "No producer's spread over partitions has a leader that is slow for it."


def sentences(rows: Sequence[Row]) -> list[str]:
    """Return a sentence for each producer and topic, in the order of the listing."""
    return [_of_producer(row) for row in listed(rows)]


def _of_producer(row: Row) -> str:
    run = f" ({row['run_name']})" if row["run"] else ""
    start = (
        f"{who(row)}{run} to {row['topic']}: {count(row['batches'])} batches to "
        f"{row['partitions']} partitions"
    )
    if row["slow_by"] is None:
        return f"{start}, the fullest has {percent(row['top_share'])} of the bytes; no leader is slow for it"
    partitioner = row["partitioner"]
    indicated = f"this indicates {partitioner}" if partitioner else "the partitioner is undecided"
    slow = SLOW_BY[row["slow_by"]].format(**row)
    claim = EXPECTED.get(partitioner)
    differs = (
        f"; {claim.says}, which does not show here" if claim and row["slowest_ratio"] > claim.at_most else ""
    )
    return (
        f"{start}; broker {row['slowest_leader_id']} is slow for it ({slow}) and gets "
        f"{row['slowest_ratio']:.2f}x the others' share: {indicated}{differs}"
    )


def _joined(ids: Sequence[int]) -> str:
    return " and ".join(", ".join(map(str, part)) for part in (ids[:-1], ids[-1:]))


def _chi_square(row: Row) -> str:
    if row["chi_square"] is None:
        return NONE
    return f"{row['chi_square']:,.2f} ({row['degrees_of_freedom']})"


PRODUCERS = Listing(
    name="skew-table",
    title="Partitions that a producer's records go to",
    lead="Batches that leaders appended (KIP-480, KIP-794). A partitioner chooses the partition of a "
    "batch; the batches for a slow leader fill up while they wait.",
    rows=listed,
    columns=(
        Column("client", who, is_text=True),
        listing.text("run", "run_name", whole="run"),
        listing.text("topic", "topic"),
        Column("version", version_of, is_text=True, in_terminal=False),
        listing.count("batches", "batches"),
        listing.decimal("fullest / mean", "max_over_mean"),
        Column("slow leader", lambda row: NONE if row["slow_by"] is None else str(row["slowest_leader_id"])),
        Column(
            "its share / others'",
            lambda row: NONE if row["slow_by"] is None else f"{row['slowest_ratio']:,.2f}",
        ),
        listing.decimal("its latency / others'", "slowest_latency_ratio", in_terminal=False),
        Column("partitioner", lambda row: row["partitioner"] or "undecided", "partitioner", is_text=True),
        listing.count("partitions", "partitions", in_terminal=False),
        listing.megabytes("MB", "bytes", in_terminal=False),
        listing.decimal("CV", "coefficient_of_variation", in_terminal=False),
        listing.decimal("Gini", "gini", in_terminal=False),
        listing.decimal("effective partitions", "effective_partitions", in_terminal=False),
        Column("\N{GREEK SMALL LETTER CHI}\N{SUPERSCRIPT TWO} (df)", _chi_square, in_terminal=False),
        listing.decimal("bytes per batch, max / min", "bytes_per_batch_ratio", in_terminal=False),
    ),
    about={
        "partitioner": "The partitioner that the share of the slow leader indicates.",
        "CV": "Standard deviation / mean of the bytes.",
        "effective partitions": (
            "The number of equally full partitions with the same concentration of bytes."
        ),
    },
)
