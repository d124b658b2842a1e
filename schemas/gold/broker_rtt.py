"""`gold.broker_rtt`: round trips of broker pairs, per window and over a span."""

from pyspark.sql.types import DoubleType, IntegerType, LongType, StringType, StructType, TimestampType

from schemas.fields import HISTOGRAM, Table, column
from schemas.gold.columns import SETTLED, WINDOW

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
