"""Gold tables of replication throttles (KIP-73)."""

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
from schemas.gold.columns import WINDOW

LIMIT = [
    column("broker_id", IntegerType(), "broker whose traffic is throttled"),
    column(
        "direction", StringType(), "leader: bytes sent to followers; follower: bytes fetched from leaders"
    ),
    column("limit_bytes_per_s", LongType(), "rate in force; NULL without one"),
    column("limited_from", TimestampType(), "start of the rate in force; NULL without one"),
]

THROTTLE_COMPLIANCE = Table(
    layer="gold",
    name="throttle_compliance",
    about="A4: replication traffic of each broker while a throttle is set or a replica catches up. A window "
    "in which the limit changes has a row for each limit. Window: by the leader's logged_at. Bytes are "
    "NULL without a request log; bean and counter columns are NULL without scrapes.",
    key=("cluster", "window_start", "broker_id", "direction", "limited_from"),
    schema=StructType(
        [
            *WINDOW,
            *LIMIT,
            column("on_from", TimestampType(), "start of the limit or list within the window"),
            column("on_until", TimestampType(), "end of the limit or list within the window"),
            column("busy_until", TimestampType(), "last instant of copying in the window"),
            column("is_listed", BooleanType(), "a list names a replica of the broker in this direction"),
            column("throttled_bytes", LongType(), "bytes of listed replicas, which the quota counts"),
            column(
                "catching_up_bytes",
                LongType(),
                "throttled bytes to replicas outside the ISR, which the quota delays",
            ),
            column(
                "in_sync_bytes",
                LongType(),
                "throttled bytes to replicas in the ISR, which the quota counts and never delays",
            ),
            column("unlisted_bytes", LongType(), "bytes to replicas that catch up and are on no list"),
            column("throttled_by_s", ArrayType(LongType()), "throttled_bytes of each second of the window"),
            column("catching_up_by_s", ArrayType(LongType()), "catching_up_bytes of each second"),
            column("answers", LongType(), "FETCH responses with throttled bytes"),
            column("largest_answer_bytes", LongType(), "most throttled bytes in one response"),
            column("peers", ArrayType(IntegerType()), "brokers at the other end of these fetches"),
            column(
                "moving_partitions",
                LongType(),
                "unfinished copies at the end of the window; 0: all finished in the window",
            ),
            column("lagging_replicas", LongType(), "lagging replicas at the end of the window"),
            column("lag_records", LongType(), "total lag of these replicas, in offsets"),
            column("inbound_bytes", LongType(), "bytes produced to the partitions that were being moved"),
            column("bean_max_bytes_per_s", DoubleType(), "highest sample of the broker's byte-rate MBean"),
            column("bean_sum_bytes_per_s", DoubleType(), "sum of its samples"),
            column("bean_n", LongType(), "number of its samples"),
            column("reassignment_bytes", DoubleType(), "increase of the counter of reassignment bytes"),
            column("replication_bytes", DoubleType(), "increase of the counter of all replication bytes"),
            column("counter_s", DoubleType(), "duration of these increases in seconds"),
        ]
    ),
)

THROTTLE_COMPLIANCE_SUMMARY = Table(
    layer="gold",
    name="throttle_compliance_summary",
    about="Whether replication stays below its throttle: one verdict per broker, direction and limit over a "
    "time range. Computed on read; docs/throttles.md explains the rules.",
    key=("cluster", "broker_id", "direction", "limited_from"),
    is_stored=False,
    schema=StructType(
        [
            WINDOW[0],
            column("since", TimestampType(), "start of the first window"),
            column("until", TimestampType(), "end of the last window"),
            *LIMIT,
            column(
                "state",
                StringType(),
                "verdict: compliant, over_limit, ineffective, stuck, left_over, none or not_enough_data",
            ),
            column("cause", StringType(), "cause of the state, one word; NULL if it needs none"),
            column("why", StringType(), "explanation with figures, as text"),
            column("measured_by", StringType(), "source of the judged rate: request_log or counters"),
            column(
                "rate_bytes_per_s",
                DoubleType(),
                "mean rate over whole quota periods (11 s or more), "
                "without the first one of each stretch of traffic; NULL without periods",
            ),
            column("rate_low_bytes_per_s", DoubleType(), "lower end of its 95 % interval; NULL if n < 3"),
            column("rate_high_bytes_per_s", DoubleType(), "upper end of its 95 % interval"),
            column("n", LongType(), "whole quota periods after the first"),
            column("utilisation", DoubleType(), "rate / limit"),
            column("best_window_bytes_per_s", DoubleType(), "highest mean rate over any 11 s"),
            column(
                "best_later_bytes_per_s",
                DoubleType(),
                "highest mean rate over any 11 s after the first window",
            ),
            column(
                "first_window_bytes_per_s", DoubleType(), "highest mean rate over the first 11 s of a stretch"
            ),
            column("first_window_overshoot", DoubleType(), "first window / limit - 1; 0 if below the limit"),
            column("bean_bytes_per_s", DoubleType(), "mean of the broker's byte-rate MBean during copying"),
            column("bean_max_bytes_per_s", DoubleType(), "highest sample of it"),
            column(
                "counter_bytes_per_s",
                DoubleType(),
                "rate of the counter of reassignment bytes, after the first window",
            ),
            column("catching_up_bytes", LongType(), "throttled bytes to replicas outside the ISR"),
            column(
                "in_sync_bytes",
                LongType(),
                "throttled bytes to replicas in the ISR, which the quota never delays",
            ),
            column("unlisted_bytes", LongType(), "bytes to replicas that catch up and are on no list"),
            column("largest_answer_bytes", LongType(), "most throttled bytes in one response"),
            column(
                "inbound_bytes_per_s",
                DoubleType(),
                "bytes produced per second to the partitions that were being moved",
            ),
            column(
                "passed_bytes_per_s",
                DoubleType(),
                "bytes per second to catching-up replicas in the same windows",
            ),
            column("lag_first_records", LongType(), "lag after the first window"),
            column("lag_last_records", LongType(), "lag in the last window"),
            column(
                "lag_slope_records_per_s",
                DoubleType(),
                "slope of the lag (least squares); negative: the lag falls",
            ),
            column("moving_s", LongType(), "seconds of catching up, without pauses"),
            column(
                "idle_after_s", DoubleType(), "seconds that the limit or list stayed set after the last move"
            ),
        ]
    ),
)
