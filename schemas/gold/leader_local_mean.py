"""Gold tables of A1 without a request log: the mean time of a request at its leader, from metrics only."""

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

NODE = [
    column("node", StringType(), "node name set by the collector: broker-1"),
    column("broker_id", IntegerType(), "broker that served the requests"),
    column("request", StringType(), "request type in the MBean names: Produce, FetchFollower, Metadata"),
]

MEANS = [
    column("n", LongType(), "requests: increase of the Count of TotalTimeMs"),
    column(
        "n_remote",
        LongType(),
        "increase of the Count of RemoteTimeMs, a separate MBean that is read slightly earlier or later",
    ),
    column(
        "n_apart_from",
        LongType(),
        "difference of the two Counts at the previous scrape",
    ),
    column("n_apart_to", LongType(), "difference of the two Counts at the later scrape"),
    column("total_sum_ms", DoubleType(), "increase of Count x Mean of TotalTimeMs; NULL without a Mean"),
    column("remote_sum_ms", DoubleType(), "increase of Count x Mean of RemoteTimeMs; NULL without a Mean"),
    column("remote_square_sum", DoubleType(), "increase of the sum of squares, from StdDev of RemoteTimeMs"),
    column("total_mean_ms", DoubleType(), "exact mean of total"),
    column("remote_mean_ms", DoubleType(), "exact mean of the wait in purgatory"),
    column(
        "doubt_ms",
        DoubleType(),
        "maximum error of the difference of the means: the MBeans are read at different times",
    ),
    column(
        "leader_local_mean_ms",
        DoubleType(),
        "total_mean_ms - remote_mean_ms, the leader's own work. Metrics give no percentiles of it. "
        "NULL if there is a `reason`",
    ),
    column(
        "reason",
        StringType(),
        "why there is no mean: no_mean, reset, too_few, counts_differ or below_resolution; else NULL",
    ),
]

LEADER_LOCAL_MEAN = Table(
    layer="gold",
    name="leader_local_mean",
    about="A1 without a request log: the exact mean of leader_local between two scrapes, by broker and "
    "request type, with the request log's figures for comparison. Window: by the later scrape.",
    key=("cluster", "window_start", "node", "request"),
    schema=StructType(
        [
            column("cluster", StringType(), "observed cluster"),
            column("window_start", TimestampType(), "start of the 10 s window of the later scrape, UTC"),
            *NODE,
            column(
                "from_at",
                TimestampType(),
                "start of the interval: the previous scrape, or the start of the process",
            ),
            column("to_at", TimestampType(), "end of the interval: the last scrape in the window"),
            *MEANS,
            column("is_reset", BooleanType(), "the broker restarted between the scrapes"),
            column(
                "log_n", LongType(), "requests in the request log between the scrapes; NULL without a log"
            ),
            column("log_sum_ms", DoubleType(), "sum of their total - remote"),
        ]
    ),
)

LEADER_LOCAL_MEAN_SUMMARY = Table(
    layer="gold",
    name="leader_local_mean_summary",
    about="Mean of leader_local over a time range, by metrics and by the log. Computed on read.",
    key=("cluster", "node", "request"),
    is_stored=False,
    schema=StructType(
        [
            column("cluster", StringType(), "observed cluster"),
            *NODE,
            column("since", TimestampType(), "start of the first interval"),
            column("until", TimestampType(), "end of the last interval"),
            column("intervals", LongType(), "number of windows"),
            column("resets", LongType(), "windows with a restart"),
            *MEANS,
            column(
                "log_n",
                LongType(),
                "requests in the log, in windows where the log has at least 80 % of the requests",
            ),
            column("log_leader_local_mean_ms", DoubleType(), "mean of their total - remote"),
            column("covered_n", LongType(), "requests by metrics in these windows"),
            column("covered_leader_local_mean_ms", DoubleType(), "their mean, from metrics"),
            column(
                "difference_ms",
                DoubleType(),
                "mean from metrics minus mean from the log, in these windows; NULL if one is missing, or if "
                "the numbers of requests differ by more than 5 %",
            ),
            column(
                "is_within",
                BooleanType(),
                "the difference is at most 0.5 ms or 2 % of the log's mean, whichever is larger",
            ),
        ]
    ),
)

MISSING_METRICS = Table(
    layer="gold",
    name="missing_metrics",
    about="Figures that a node lacks because its exporter's rules drop metrics. Computed on read.",
    key=("cluster", "node", "answer"),
    is_stored=False,
    schema=StructType(
        [
            column("cluster", StringType(), "observed cluster"),
            column("node", StringType(), "node name set by the collector"),
            column(
                "dialect",
                StringType(),
                "the rules that the node's exporter uses: a name in conf/metric_names.toml",
            ),
            column("answer", StringType(), "figure that is unavailable: leader_local_mean, throttle_bean..."),
            column("missing", ArrayType(StringType()), "facts that are missing from its series"),
            column("advice", StringType(), "what to do, as text"),
            column(
                "rule", StringType(), "YAML of the rule to add before all other rules; NULL if no rule helps"
            ),
        ]
    ),
)
