"""Why this differs from your dashboard: stock Kafka's metric beside the same fetches without the wait."""

from collections.abc import Sequence

from schemas.rows import Row
from serving.report.answers import present

WORST = (
    "total_p50",
    "total_p99",
    "remote_p50",
    "leader_local_p50",
    "leader_local_p99",
    "true_p50",
    "true_p99",
)


def beside_the_dashboard(stock: Sequence[Row], latency_summary: Sequence[Row]) -> list[Row]:
    """
    Set what stock Kafka says of each leader beside what its followers' fetches really took.

    A leader has several followers and a percentile of them all is not an average of theirs, so the worst
    follower is told, and of the true median the best one too. `stock_*` is the last scrape (about five
    minutes behind it); NULL without scrapes.
    """
    followers = [row for row in latency_summary if row["kind"] == "follower"]
    scraped = {row["leader_id"]: row for row in sorted(stock, key=lambda row: row["scraped_at"])}
    leaders = sorted({row["leader_id"] for row in followers} | set(scraped))
    return [
        _leader(leader, scraped.get(leader, {}), [row for row in followers if row["leader_id"] == leader])
        for leader in leaders
    ]


def _leader(leader: int, stock: Row, followers: Sequence[Row]) -> Row:
    return {
        "leader_id": leader,
        "stock_mean_ms": stock.get("mean_ms"),
        "stock_p50_ms": stock.get("p50_ms"),
        "stock_p99_ms": stock.get("p99_ms"),
        "n": sum(row["n"] for row in followers),
        **{f"{name}_ms": _worst(followers, name) for name in WORST},
        "true_p50_best_ms": min(present(row.get("true_p50_ms") for row in followers), default=None),
    }


def _worst(followers: Sequence[Row], name: str) -> float | None:
    return max(present(row.get(f"{name}_ms") for row in followers), default=None)
