"""A1 compared with stock Kafka: its metric of each leader next to the same fetches without the wait."""

from collections.abc import Sequence

from answers.listing import Listing, broker, count, milliseconds
from schemas.rows import Row

WORST = (
    "total_p50",
    "total_p99",
    "remote_p50",
    "leader_local_p50",
    "leader_local_p99",
    "true_p50",
    "true_p99",
)


def compared(stock: Sequence[Row], fetches: Sequence[Row]) -> list[Row]:
    """
    Return stock Kafka's metric of each leader and the latency of its followers' fetches.

    Percentiles of several followers have no average, so a row has those of the worst follower, and the true
    median of the best one. `stock_*` is the last scrape, of about five minutes; NULL without scrapes.
    """
    followers = [row for row in fetches if row["kind"] == "follower"]
    scraped = {row["leader_id"]: row for row in stock}
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
        "true_p50_best_ms": min(_known(followers, "true_p50_ms"), default=None),
    }


def _worst(followers: Sequence[Row], name: str) -> float | None:
    return max(_known(followers, f"{name}_ms"), default=None)


def _known(rows: Sequence[Row], name: str) -> list[float]:
    return [row[name] for row in rows if row.get(name) is not None]


COMPARISON = Listing(
    name="dashboard-table",
    title="Why this differs from stock Kafka's metric",
    lead="Kafka's FetchFollower TotalTimeMs includes the wait in purgatory for new records, up to "
    "replica.fetch.wait.max.ms (500 ms by default): on a quiet cluster it reads about 500 ms on every "
    "broker, slow or not. Plumbline subtracts this wait from each request.",
    columns=(
        broker("leader", "leader_id"),
        milliseconds("Kafka's metric p99 ms", "stock_p99_ms", style="big dim"),
        milliseconds("request log total p99 ms", "total_p99_ms", style="dim", in_terminal=False),
        milliseconds("purgatory p50 ms", "remote_p50_ms", style="dim", in_terminal=False),
        milliseconds("leader's own work p99 ms", "leader_local_p99_ms"),
        milliseconds("true p50 ms, best follower", "true_p50_best_ms"),
        milliseconds("true p50 ms, worst follower", "true_p50_ms", style="big"),
        milliseconds("true p99 ms", "true_p99_ms"),
        count("fetches", "n"),
    ),
    about={
        "Kafka's metric p99 ms": (
            "kafka.network:type=RequestMetrics,name=TotalTimeMs,request=FetchFollower, last scrape."
        ),
        "leader's own work p99 ms": (
            "total - remote of each request: queues, work and send. It does not include the network."
        ),
        "true p50 ms, worst follower": (
            "KIP-736: elapsed at the follower - remote of each request; needs the follower's log."
        ),
    },
    notes=(
        "Percentiles are those of the worst follower of the leader; they are never averaged.",
        "total - remote lacks the work after the wait: a delayed fetch reads the log within remote.",
    ),
)
