"""Gold of A1 without a request log: the mean time a request spent at its leader, from metrics alone."""

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

from schemas.fields import Table, column

OF_NODE = [
    column("node", StringType(), "node as the edge names it: broker-1"),
    column("broker_id", IntegerType(), "broker that served the requests"),
    column("request", StringType(), "request type as the beans name it: Produce, FetchFollower, Metadata"),
]

MEANS = [
    column("n", LongType(), "requests: change of TotalTimeMs' Count"),
    column("n_remote", LongType(), "change of RemoteTimeMs' Count; another bean, read a moment apart"),
    column(
        "n_apart_from",
        LongType(),
        "requests that one of the beans had counted at the scrape before and the other had not",
    ),
    column("n_apart_to", LongType(), "the same at the later scrape"),
    column("total_sum_ms", DoubleType(), "change of Count x Mean of TotalTimeMs; NULL without a Mean"),
    column("remote_sum_ms", DoubleType(), "change of Count x Mean of RemoteTimeMs; NULL without a Mean"),
    column(
        "remote_square_sum", DoubleType(), "change of the sum of squares that StdDev of RemoteTimeMs tells"
    ),
    column("total_mean_ms", DoubleType(), "mean of total, exact"),
    column("remote_mean_ms", DoubleType(), "mean wait in purgatory, exact"),
    column(
        "doubt_ms",
        DoubleType(),
        "how far their difference can be off since the two beans are read a moment apart",
    ),
    column(
        "leader_local_mean_ms",
        DoubleType(),
        "total_mean_ms - remote_mean_ms: the leader's own work. A mean; no percentile can be had. "
        "NULL where `reason` says why",
    ),
    column(
        "reason",
        StringType(),
        "why there is no mean: no_mean, reset, too_few, counts_differ or below_resolution; NULL where it is",
    ),
]

LEADER_LOCAL_MEAN = Table(
    layer="gold",
    name="leader_local_mean",
    about="A1 without a request log: the exact mean of leader_local between two scrapes, by broker and "
    "request type, and beside it what the request log says of the same time. Anchor: the later scrape.",
    key=("cluster", "window_start", "node", "request"),
    schema=StructType(
        [
            column("cluster", StringType(), "observed cluster"),
            column(
                "window_start", TimestampType(), "start of the 10 s window that the later scrape lies in, UTC"
            ),
            *OF_NODE,
            column("from_at", TimestampType(), "since when: the scrape before, or the start of the process"),
            column("to_at", TimestampType(), "until when: the scrape in the window; the last of several"),
            *MEANS,
            column("is_reset", BooleanType(), "the broker began anew between the scrapes"),
            column(
                "log_n", LongType(), "requests that the request log has between the two; NULL without one"
            ),
            column("log_sum_ms", DoubleType(), "their total - remote, summed"),
        ]
    ),
)

LEADER_LOCAL_MEAN_SUMMARY = Table(
    layer="gold",
    name="leader_local_mean_summary",
    about="The mean of leader_local over a whole span, from sums: metrics beside request log. Made on read.",
    key=("cluster", "node", "request"),
    schema=StructType(
        [
            column("cluster", StringType(), "observed cluster"),
            *OF_NODE,
            column("since", TimestampType(), "start of the first interval"),
            column("until", TimestampType(), "end of the last one"),
            column("intervals", LongType(), "windows that went in"),
            column("resets", LongType(), "of these, with a restart"),
            *MEANS,
            column("log_n", LongType(), "requests of the log, in the windows that it holds: 80 % and more"),
            column("log_leader_local_mean_ms", DoubleType(), "their mean of total - remote"),
            column(
                "difference_ms",
                DoubleType(),
                "over these windows: the metrics' mean - the log's; NULL where one is missing or the log has "
                "over 5 % more or fewer requests, so is not of the same ones",
            ),
            column(
                "is_within",
                BooleanType(),
                "the difference is at most 0.5 ms or 2 % of the log's, whichever is more",
            ),
        ]
    ),
)

MISSING_METRICS = Table(
    layer="gold",
    name="missing_metrics",
    about="What a node's metrics cannot answer since its exporter's rules drop it. Made on read.",
    key=("cluster", "node", "answer"),
    schema=StructType(
        [
            column("cluster", StringType(), "observed cluster"),
            column("node", StringType(), "node as the edge names it"),
            column("dialect", StringType(), "whose rules the node goes by: a name of conf/metric_names.toml"),
            column("answer", StringType(), "what cannot be had: leader_local_mean, throttle_bean..."),
            column("missing", ArrayType(StringType()), "which facts are not among its series"),
            column("advice", StringType(), "what to do, for people"),
            column("rule", StringType(), "YAML to put before all other rules; NULL where no rule helps"),
        ]
    ),
)

METRIC_TABLES = (LEADER_LOCAL_MEAN,)
METRIC_SUMMARIES = (LEADER_LOCAL_MEAN_SUMMARY, MISSING_METRICS)
