"""`gold.broker_rtt`: round-trip times of broker pairs, per window and over a time range."""

from pyspark.sql.types import DoubleType, IntegerType, LongType, StringType, StructType, TimestampType

from schemas.fields import HISTOGRAM, Table, column
from schemas.gold.columns import SETTLED, WINDOW

MIN_N_P10 = 30
MIN_N_P50 = 12
"""The minimum number of round trips for p10, and for p50, as the estimate."""

COARSE_MS = 1.0
"""The resolution of a coarse clock. It distorts low quantiles, but not the median."""

RTT_ESTIMATE = [
    column("n", LongType(), "measured round trips"),
    column(
        "blocks", LongType(), "200 ms blocks with a round trip; the interval treats blocks as independent"
    ),
    column("estimator", StringType(), "quantile of rtt_ms: p10, p50 or NULL"),
    column("rtt_ms", DoubleType(), "p10 if n >= 30, else p50 if n >= 12, else NULL; p50 for ms clocks"),
    column("rtt_low_ms", DoubleType(), "lower end of the 95 % interval of rtt_ms, bucket width included"),
    column("rtt_high_ms", DoubleType(), "upper end of the 95 % interval of rtt_ms, bucket width included"),
    column("rtt_p10_ms", DoubleType(), "p10"),
    column("rtt_p50_ms", DoubleType(), "median"),
    column("rtt_p99_ms", DoubleType(), "p99"),
    column("rtt_sum_ms", DoubleType(), "exact sum"),
    column("rtt_min_ms", DoubleType(), "exact minimum; not an estimate of the link"),
    column("rtt_max_ms", DoubleType(), "exact maximum"),
    column("rtt_hist", HISTOGRAM, "round trips, log buckets of ms"),
    column(
        "relative_error",
        DoubleType(),
        "half width of a bucket, 0.01; merge only histograms with the same value",
    ),
    column("clock_resolution_ms", DoubleType(), "resolution of the coarsest clock used"),
]

PAIR = [
    column("follower_id", IntegerType(), "fetching broker"),
    column("leader_id", IntegerType(), "serving broker"),
    column(
        "method",
        StringType(),
        "paired: from both logs, without comparing clocks; passive: from the leader's log only",
    ),
]

BROKER_RTT = Table(
    layer="gold",
    name="broker_rtt",
    about="A2: round-trip time of each ordered pair of brokers, from replica fetches.",
    key=("cluster", "window_start", "follower_id", "leader_id", "method"),
    schema=StructType([*WINDOW, *PAIR, *RTT_ESTIMATE, *SETTLED]),
)

BROKER_RTT_SUMMARY = Table(
    layer="gold",
    name="broker_rtt_summary",
    about="Round-trip times of each pair over a time range, from merged histograms. Computed on read.",
    key=("cluster", "follower_id", "leader_id", "method"),
    is_stored=False,
    schema=StructType(
        [
            column("cluster", StringType(), "observed cluster"),
            column("since", TimestampType(), "start of the time range"),
            column("until", TimestampType(), "end of the time range"),
            *PAIR,
            column("windows", LongType(), "number of windows"),
            *(field for field in RTT_ESTIMATE if field.dataType != HISTOGRAM),
        ]
    ),
)
