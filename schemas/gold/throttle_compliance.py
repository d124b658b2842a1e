"""Gold about throttles (KIP-73): is replication kept to its limit."""

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

WHOM = [
    column("broker_id", IntegerType(), "broker whose traffic is throttled"),
    column("direction", StringType(), "leader: sent to followers; follower: fetched from leaders"),
    column("limit_bytes_per_s", LongType(), "rate in force; NULL without one"),
    column("limited_from", TimestampType(), "since when it has been in force; NULL without one"),
]

THROTTLE_COMPLIANCE = Table(
    layer="gold",
    name="throttle_compliance",
    about="A4: what a broker sent to followers or fetched from leaders while a throttle was set or a replica "
    "caught up. A window in which the limit was changed has a row for each. Anchor: the leader's logged_at. "
    "Bytes are NULL where there is no request log, beans and counters where there are no scrapes.",
    key=("cluster", "window_start", "broker_id", "direction", "limited_from"),
    schema=StructType(
        [
            *WINDOW,
            *WHOM,
            column("on_from", TimestampType(), "since when, in the window, the limit or a list was on"),
            column("on_until", TimestampType(), "until when, in the window, the limit or a list was on"),
            column("busy_until", TimestampType(), "last instant in the window at which a replica was copied"),
            column("is_listed", BooleanType(), "a list names a replica of the broker in this direction"),
            column("throttled_bytes", LongType(), "records of listed replicas: what the quota counts"),
            column("catching_up_bytes", LongType(), "of these, to replicas that were not in sync: held back"),
            column("in_sync_bytes", LongType(), "of these, to replicas in sync: counted and never held back"),
            column("unlisted_bytes", LongType(), "records to replicas that catch up and that no list names"),
            column("throttled_by_s", ArrayType(LongType()), "throttled_bytes of each second of the window"),
            column("catching_up_by_s", ArrayType(LongType()), "catching_up_bytes of each second"),
            column("answers", LongType(), "FETCH answers that held throttled bytes"),
            column("largest_answer_bytes", LongType(), "most throttled bytes that one answer held"),
            column("peers", ArrayType(IntegerType()), "brokers at the other end of these"),
            column("moving_partitions", LongType(), "copies under way at the end; 0: all were done in it"),
            column("lagging_replicas", LongType(), "replicas known to be behind at the window's end"),
            column("lag_records", LongType(), "how far these were behind together, in offsets"),
            column("inbound_bytes", LongType(), "produced into the partitions that were being moved"),
            column("bean_max_bytes_per_s", DoubleType(), "highest reading of the broker's own byte-rate"),
            column("bean_sum_bytes_per_s", DoubleType(), "sum of its readings"),
            column("bean_n", LongType(), "number of its readings"),
            column("reassignment_bytes", DoubleType(), "increase of the counter of reassignments' bytes"),
            column("replication_bytes", DoubleType(), "increase of the counter of all replication's bytes"),
            column("counter_s", DoubleType(), "seconds that the increases are of"),
        ]
    ),
)

THROTTLE_COMPLIANCE_SUMMARY = Table(
    layer="gold",
    name="throttle_compliance_summary",
    about="Is replication kept to its throttle: a verdict a broker, direction and limit over a whole span. "
    "Made on read; docs/throttles.md derives every rule.",
    key=("cluster", "broker_id", "direction", "limited_from"),
    schema=StructType(
        [
            WINDOW[0],
            column("since", TimestampType(), "start of the first window"),
            column("until", TimestampType(), "end of the last window"),
            *WHOM,
            column(
                "state",
                StringType(),
                "compliant, over_limit, ineffective, stuck, left_over, none or not_enough_data",
            ),
            column("cause", StringType(), "why it is not compliant, one word; NULL when it is"),
            column("why", StringType(), "the same with its figures, for people"),
            column("measured_by", StringType(), "request_log or counters: what the state was judged by"),
            column("rate_bytes_per_s", DoubleType(), "throttled bytes over whole periods of the quota "
                   "(11 s and more) behind the first one of each stretch of traffic; NULL without one"),
            column("rate_low_bytes_per_s", DoubleType(), "low end of its 95 % interval; NULL below n = 3"),
            column("rate_high_bytes_per_s", DoubleType(), "high end of its 95 % interval"),
            column("n", LongType(), "whole periods of the quota behind the first"),
            column("utilisation", DoubleType(), "rate over limit"),
            column("best_window_bytes_per_s", DoubleType(), "highest mean over any 11 s"),
            column("best_later_bytes_per_s", DoubleType(), "the same behind the first window"),
            column("first_window_bytes_per_s", DoubleType(), "highest mean over a first 11 s"),
            column("first_window_overshoot", DoubleType(), "that over the limit, less 1; 0 when below"),
            column("bean_bytes_per_s", DoubleType(), "mean of the broker's own byte-rate while copying"),
            column("bean_max_bytes_per_s", DoubleType(), "highest reading of it"),
            column("counter_bytes_per_s", DoubleType(), "increase of the reassignments' counter over time, "
                   "behind the first window"),
            column("catching_up_bytes", LongType(), "throttled bytes to replicas that were not in sync"),
            column("in_sync_bytes", LongType(), "throttled bytes to replicas in sync: never held back"),
            column("unlisted_bytes", LongType(), "bytes to replicas that catch up and that no list names"),
            column("largest_answer_bytes", LongType(), "most throttled bytes that one answer held"),
            column("inbound_bytes_per_s", DoubleType(), "produced into the copies on the move"),
            column("passed_bytes_per_s", DoubleType(), "what catches up got in the same whole windows"),
            column("lag_first_records", LongType(), "how far replicas were behind after the first window"),
            column("lag_last_records", LongType(), "how far they were behind at the last look"),
            column("lag_slope_records_per_s", DoubleType(), "its change, by least squares; < 0: it falls"),
            column("moving_s", LongType(), "seconds from first to last byte of catching up, pauses left out"),
            column("idle_after_s", DoubleType(), "seconds the limit or list stayed on behind the last move"),
        ]
    ),
)  # fmt: skip
