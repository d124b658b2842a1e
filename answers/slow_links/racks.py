"""A2: the racks of brokers, and the round trips of each pair of racks."""

from collections.abc import Iterable, Mapping, Sequence
from statistics import median

from answers.gold.selection import GoldSelection
from answers.listing import Listing, count, milliseconds, text
from answers.slow_links.round_trips import METHODS
from schemas.rows import Row

RackPair = tuple[str, str | None, str | None]
"""Method, rack of the follower, rack of the leader."""

# A broker whose newest row has no rack is in none, so NULL must win over an older rack.
NEWEST = """
    SELECT broker_id, arg_max_null(rack, (logged_at, position)) AS rack FROM silver.brokers
    WHERE cluster = $cluster GROUP BY broker_id ORDER BY broker_id"""


def racks(selection: GoldSelection) -> dict[int, str]:
    """
    Return the newest known rack of each broker of the cluster; empty if no rack is known.

    It ignores the span of the selection. Silver has one row per broker, rack and day, so the read is small.
    """
    return {row["broker_id"]: row["rack"] for row in selection.rows(NEWEST) if row["rack"] is not None}


def by_rack(brokers: Iterable[int], racks: Mapping[int, str]) -> list[int]:
    """
    Return the brokers ordered by rack and id; brokers without a known rack are last.

    >>> by_rack([1, 2, 3, 4], {1: "b", 2: "a", 4: "a"})
    [2, 4, 1, 3]
    """
    return sorted(brokers, key=lambda broker: (broker not in racks, racks.get(broker, ""), broker))


def rack_pairs(rows: Sequence[Row], racks: Mapping[int, str]) -> list[Row]:
    """
    Return one row per method and ordered pair of racks, from `broker_rtt_summary`; empty without racks.

    A rack is NULL for brokers whose rack is unknown. The figures are over `rtt_ms` of the broker pairs that
    have one (`measured_pairs`): each pair counts once, and no percentile is averaged.
    """
    if not racks:
        return []
    groups: dict[RackPair, list[Row]] = {}
    for row in rows:
        key = row["method"], racks.get(row["follower_id"]), racks.get(row["leader_id"])
        groups.setdefault(key, []).append(row)
    return [_rack_pair(key, groups[key]) for key in sorted(groups, key=_order)]


def _rack_pair(key: RackPair, pairs: Sequence[Row]) -> Row:
    measured = [row for row in pairs if row["rtt_ms"] is not None]
    rtt_ms = [row["rtt_ms"] for row in measured]
    return {
        **dict(zip(("method", "follower_rack", "leader_rack"), key, strict=True)),
        "pairs": len(pairs),
        "measured_pairs": len(measured),
        "median_of_pairs_ms": median(rtt_ms) if rtt_ms else None,
        "max_of_pairs_ms": max(rtt_ms, default=None),
        "n": sum(row["n"] for row in measured),
    }


def _order(key: RackPair) -> tuple[int, bool, str, bool, str]:
    method, follower, leader = key
    return METHODS.index(method), follower is None, follower or "", leader is None, leader or ""


RACK_PAIRS = Listing(
    name="rack-pair-table",
    title="Pairs of racks",
    lead="Brokers in the follower's rack fetch from brokers in the leader's rack.",
    columns=(
        text("follower's rack", "follower_rack"),
        text("leader's rack", "leader_rack"),
        text("method", "method"),
        milliseconds("median of the pairs ms", "median_of_pairs_ms", style="strong"),
        milliseconds("slowest pair ms", "max_of_pairs_ms"),
        count("pairs", "pairs"),
        count("measured", "measured_pairs"),
        count("n", "n"),
    ),
    about={
        "follower's rack": (
            "The newest `broker.rack` in a METADATA response or in a poll of the cluster; a dash if unknown."
        ),
        "median of the pairs ms": (
            "The median of the RTT of the measured broker pairs. Each pair counts once, whatever its n. The "
            "RTT of a pair is a percentile; their median is not a percentile of all round trips."
        ),
        "slowest pair ms": "The largest RTT of the measured broker pairs.",
        "measured": "Broker pairs with enough round trips for an RTT.",
        "n": "Round trips of the measured pairs.",
    },
)
