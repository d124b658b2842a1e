"""`gold.fetch_latency`: how slow fetches are without the wait in purgatory."""

from pyspark.sql.types import DoubleType, IntegerType, LongType, StringType, StructType

from schemas.fields import HISTOGRAM, Table, column
from schemas.gold.columns import SETTLED, WINDOW

FETCH_LATENCY = Table(
    layer="gold",
    name="fetch_latency",
    about="A1: how slow a fetch is once the wait in purgatory is taken out (KIP-736), per request, never per "
    "percentile. Anchor: started_at + total at the leader. "
    "Immediate fetches = all - delayed: the histograms subtract exactly.",
    key=("cluster", "window_start", "leader_id", "kind", "follower_id", "client_id"),
    schema=StructType(
        [
            *WINDOW,
            column("leader_id", IntegerType(), "broker that served the fetches"),
            column("kind", StringType(), "follower, consumer or raft"),
            column("follower_id", IntegerType(), "fetching replica; NULL for consumers"),
            column("client_id", StringType(), "client.id of the fetcher"),
            column("n", LongType(), "fetches"),
            column("n_delayed", LongType(), "of these, fetches that waited in purgatory (remote_ms > 0)"),
            column("n_true", LongType(), "fetches whose follower's log was there"),
            column("total_p50_ms", DoubleType(), "median of total: what a dashboard shows"),
            column("total_p99_ms", DoubleType(), "p99 of total"),
            column("remote_p50_ms", DoubleType(), "median wait in purgatory"),
            column("remote_p99_ms", DoubleType(), "p99 wait in purgatory"),
            column("leader_local_p50_ms", DoubleType(), "median of total - remote: the leader's own work"),
            column("leader_local_p99_ms", DoubleType(), "p99 of total - remote"),
            column(
                "true_p50_ms",
                DoubleType(),
                "median of elapsed at the follower - remote; NULL without its log",
            ),
            column("true_p99_ms", DoubleType(), "p99 of elapsed at the follower - remote"),
            *[
                column(f"{metric}_{stat}_ms", DoubleType(), f"{stat} of {metric}, exact")
                for metric in ("total", "remote", "leader_local", "true")
                for stat in ("sum", "min", "max")
            ],
            column("total_hist", HISTOGRAM, "total, log buckets of ms"),
            column("remote_hist", HISTOGRAM, "wait in purgatory, log buckets of ms"),
            column("leader_local_hist", HISTOGRAM, "total - remote, log buckets of ms"),
            column("true_hist", HISTOGRAM, "elapsed at the follower - remote, log buckets of ms"),
            column("leader_local_delayed_hist", HISTOGRAM, "total - remote of delayed fetches only"),
            column("true_delayed_hist", HISTOGRAM, "elapsed - remote of delayed fetches only"),
            column("relative_error", DoubleType(), "half width of a bucket: 0.01; never merge unequal ones"),
            *SETTLED,
        ]
    ),
)
