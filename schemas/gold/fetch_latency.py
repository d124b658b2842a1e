"""`gold.fetch_latency`: the latency of fetches without the wait in purgatory."""

from pyspark.sql.types import DoubleType, IntegerType, LongType, StringType, StructType

from schemas.fields import HISTOGRAM, Table, column
from schemas.gold.columns import SETTLED, WINDOW

FETCH_LATENCY = Table(
    layer="gold",
    name="fetch_latency",
    about="A1: fetch latency without the wait in purgatory (KIP-736). The wait is subtracted per request, "
    "not per percentile. Window: by started_at + total at the leader. "
    "The histogram of all fetches minus that of delayed fetches is that of immediate fetches.",
    key=("cluster", "window_start", "leader_id", "kind", "follower_id", "client_id"),
    schema=StructType(
        [
            *WINDOW,
            column("leader_id", IntegerType(), "broker that served the fetches"),
            column("kind", StringType(), "follower, consumer, share (a SHARE_FETCH) or raft"),
            column("follower_id", IntegerType(), "fetching replica; NULL for consumers and share consumers"),
            column(
                "client_id",
                StringType(),
                "client.id of the fetcher; `others`: all but the 1,000 busiest clients",
            ),
            column("n", LongType(), "fetches"),
            column(
                "n_delayed",
                LongType(),
                "fetches that waited (remote_ms > 0): in purgatory, or for a share coordinator",
            ),
            column("n_true", LongType(), "fetches with a line in the follower's log"),
            column("total_p50_ms", DoubleType(), "median of total, as dashboards show it"),
            column("total_p99_ms", DoubleType(), "p99 of total"),
            column("remote_p50_ms", DoubleType(), "median of the wait in purgatory"),
            column("remote_p99_ms", DoubleType(), "p99 of the wait in purgatory"),
            column("leader_local_p50_ms", DoubleType(), "median of total - remote, the leader's own work"),
            column("leader_local_p99_ms", DoubleType(), "p99 of total - remote"),
            column(
                "true_p50_ms",
                DoubleType(),
                "median of elapsed at the follower - remote; NULL without the follower's log",
            ),
            column("true_p99_ms", DoubleType(), "p99 of elapsed at the follower - remote"),
            *[
                column(f"{metric}_{stat}_ms", DoubleType(), f"exact {stat} of {metric}")
                for metric in ("total", "remote", "leader_local", "true")
                for stat in ("sum", "min", "max")
            ],
            column("total_hist", HISTOGRAM, "total, log buckets of ms"),
            column("remote_hist", HISTOGRAM, "wait in purgatory, log buckets of ms"),
            column("leader_local_hist", HISTOGRAM, "total - remote, log buckets of ms"),
            column("true_hist", HISTOGRAM, "elapsed at the follower - remote, log buckets of ms"),
            column("leader_local_delayed_hist", HISTOGRAM, "total - remote, only delayed fetches"),
            column("true_delayed_hist", HISTOGRAM, "elapsed - remote, only delayed fetches"),
            column(
                "relative_error",
                DoubleType(),
                "half width of a bucket, 0.01; merge only histograms with the same value",
            ),
            *SETTLED,
        ]
    ),
)
