"""Gold: the answers. Plain Delta (reader version 1), grain 10 s, histograms that add up."""

from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DoubleType,
    IntegerType,
    LongType,
    StringType,
    StructType,
    TimestampType,
)

from schemas.fields import HISTOGRAM, Table, column
from schemas.gold.clients import CLIENT_TABLES
from schemas.gold.leader_local_mean import METRIC_TABLES
from schemas.gold.reassignment_progress import REASSIGNMENT_PROGRESS
from schemas.gold.throttle_compliance import THROTTLE_COMPLIANCE

WINDOW = [
    column("cluster", StringType(), "observed cluster"),
    column("window_start", TimestampType(), "start of the 10 s window, UTC; the end is 10 s later"),
]

SETTLED = [
    column("nodes_expected", IntegerType(), "brokers whose request log was seen around the window"),
    column("nodes_reporting", IntegerType(), "brokers whose request log has a line in the window"),
    column("is_settled", BooleanType(), "every expected broker has been read past the window's end"),
]

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

RTT_ESTIMATE = [
    column("n", LongType(), "measured round trips"),
    column("blocks", LongType(), "200 ms stretches that hold one: what the interval counts as independent"),
    column("estimator", StringType(), "p10, p50 or NULL: which quantile rtt_ms is"),
    column("rtt_ms", DoubleType(), "p10 when n >= 30, else p50 when n >= 12, else NULL; p50 for ms clocks"),
    column("rtt_low_ms", DoubleType(), "lower end of the 95 % interval of rtt_ms, bucket width included"),
    column("rtt_high_ms", DoubleType(), "upper end of the 95 % interval of rtt_ms, bucket width included"),
    column("rtt_p10_ms", DoubleType(), "p10"),
    column("rtt_p50_ms", DoubleType(), "median"),
    column("rtt_p99_ms", DoubleType(), "p99"),
    column("rtt_sum_ms", DoubleType(), "sum, exact"),
    column("rtt_min_ms", DoubleType(), "minimum, exact; not an estimate of the link"),
    column("rtt_max_ms", DoubleType(), "maximum, exact"),
    column("rtt_hist", HISTOGRAM, "round trips, log buckets of ms"),
    column("relative_error", DoubleType(), "half width of a bucket: 0.01; never merge unequal ones"),
    column("clock_resolution_ms", DoubleType(), "coarsest clock that went in"),
]

PAIR = [
    column("follower_id", IntegerType(), "fetching broker"),
    column("leader_id", IntegerType(), "serving broker"),
    column("method", StringType(), "paired: both logs, no clock compared; passive: the leader's log alone"),
]

BROKER_RTT = Table(
    layer="gold",
    name="broker_rtt",
    about="A2: round trip of each ordered pair of brokers, from replica fetches.",
    key=("cluster", "window_start", "follower_id", "leader_id", "method"),
    schema=StructType([*WINDOW, *PAIR, *RTT_ESTIMATE, *SETTLED]),
)

BROKER_RTT_SUMMARY = Table(
    layer="gold",
    name="broker_rtt_summary",
    about="The round trips of each pair over a whole span: histograms of broker_rtt added up. Made on read.",
    key=("cluster", "follower_id", "leader_id", "method"),
    schema=StructType(
        [
            column("cluster", StringType(), "observed cluster"),
            column("since", TimestampType(), "start of the span"),
            column("until", TimestampType(), "end of the span"),
            *PAIR,
            column("windows", LongType(), "windows that went in"),
            *RTT_ESTIMATE,
        ]
    ),
)

BROKER_RTT_BASELINE = Table(
    layer="gold",
    name="broker_rtt_baseline",
    about="What is normal for a pair: its own quiet history over the trailing span, frozen per hour.",
    key=("cluster", "hour", "follower_id", "leader_id", "method"),
    schema=StructType(
        [
            column("cluster", StringType(), "observed cluster"),
            column("hour", TimestampType(), "the hour this baseline is used in"),
            column("history_since", TimestampType(), "start of the trailing span it was learnt from"),
            *PAIR,
            column("windows", LongType(), "settled windows that went in"),
            column("p10_ms", DoubleType(), "median over windows of p10; NULL below the minimum of windows"),
            column("p10_spread_ms", DoubleType(), "1.4826 x median absolute deviation of p10 over windows"),
            column("p50_ms", DoubleType(), "median over windows of p50; NULL below the minimum of windows"),
            column("p50_spread_ms", DoubleType(), "1.4826 x median absolute deviation of p50 over windows"),
        ]
    ),
)

SHAPE = StructType(
    [
        column("culprit", StringType(), "broker, follower_side, leader_side or link"),
        column("broker_id", IntegerType(), "the broker, for broker and side shapes"),
        column("follower_id", IntegerType(), "the follower, for follower_side and link"),
        column("leader_id", IntegerType(), "the leader, for leader_side and link"),
    ]
)

BROKER_RTT_CULPRIT = Table(
    layer="gold",
    name="broker_rtt_culprit",
    about="Who is slow: the shape that explains the window's round trips best, once the evidence is enough.",
    key=("cluster", "window_start"),
    schema=StructType(
        [
            *WINDOW,
            column(
                "culprit",
                StringType(),
                "none, broker, follower_side, leader_side, link, ambiguous or not_enough_data",
            ),
            column("broker_id", IntegerType(), "the slow broker, for broker and side shapes"),
            column("follower_id", IntegerType(), "the slow follower (side) or the link's follower"),
            column("leader_id", IntegerType(), "the slow leader (side) or the link's leader"),
            column("effect_ms", DoubleType(), "how much slower the accused pairs are in this window"),
            column("effect_low_ms", DoubleType(), "lower end of its 95 % interval"),
            column("effect_high_ms", DoubleType(), "upper end of its 95 % interval"),
            column("since", TimestampType(), "start of the first window of the evidence; NULL for none"),
            column("evidence", DoubleType(), "accumulated log likelihood ratio against none (CUSUM)"),
            column("runner_up", SHAPE, "the next best shape"),
            column("runner_up_margin", DoubleType(), "evidence by which the named shape beats the runner-up"),
            column("tied", ArrayType(SHAPE), "for ambiguous: the shapes that cannot be told apart"),
            column("method", StringType(), "paired or passive: the round trips that were judged"),
            column(
                "baseline", StringType(), "own: each pair's quiet history; peers: the pairs of this window"
            ),
            column("pairs_seen", IntegerType(), "ordered pairs with enough round trips in the window"),
            column("pairs_expected", IntegerType(), "ordered pairs of the brokers around the window"),
            *SETTLED,
        ]
    ),
)

STOCK_FETCH_TOTAL = Table(
    layer="gold",
    name="stock_fetch_total",
    about="What stock Kafka's own metric says: FetchFollower TotalTimeMs of each broker, as scraped.",
    key=("cluster", "scraped_at", "leader_id"),
    schema=StructType(
        [
            column("cluster", StringType(), "observed cluster"),
            column("scraped_at", TimestampType(), "instant of the scrape, UTC"),
            column("leader_id", IntegerType(), "broker that was scraped"),
            column("mean_ms", DoubleType(), "Mean, over the broker's life"),
            column("p50_ms", DoubleType(), "50thPercentile, about the last five minutes, whole ms inside"),
            column("p99_ms", DoubleType(), "99thPercentile, about the last five minutes"),
            column("count", LongType(), "Count, over the broker's life"),
        ]
    ),
)

DATA_QUALITY = Table(
    layer="gold",
    name="data_quality",
    about="Every line accounted for: lines_read = kept + quarantined + skipped + duplicates, each counted "
    "by itself, per kind, node and source file.",
    key=("cluster", "kind", "node", "source"),
    schema=StructType(
        [
            column("cluster", StringType(), "observed cluster"),
            column("kind", StringType(), "kind of telemetry"),
            column("node", StringType(), "node as the edge names it"),
            column("source", StringType(), "file path or URL at the edge"),
            column("lines_read", LongType(), "rows of bronze"),
            column("kept", LongType(), "distinct positions in silver"),
            column("quarantined", LongType(), "rows of quarantine, re-sent ones counted once"),
            column("skipped", LongType(), "lines of other loggers"),
            column("duplicates", LongType(), "lines sent again: same node, file and position"),
            column("first_logged_at", TimestampType(), "earliest instant of a kept line"),
            column("last_logged_at", TimestampType(), "latest instant of a kept line: how fresh the node is"),
            column("is_balanced", BooleanType(), "the four counts add up to lines_read"),
        ]
    ),
)

BROKER_TABLES = (
    FETCH_LATENCY,
    BROKER_RTT,
    BROKER_RTT_BASELINE,
    BROKER_RTT_CULPRIT,
    STOCK_FETCH_TOTAL,
    DATA_QUALITY,
)

GOLD = (*BROKER_TABLES, *CLIENT_TABLES, *METRIC_TABLES, THROTTLE_COMPLIANCE, REASSIGNMENT_PROGRESS)
