"""Gold about where records go: which partition a producer chooses (KIP-794)."""

from pyspark.sql.types import (
    ArrayType,
    DoubleType,
    IntegerType,
    LongType,
    StringType,
    StructType,
    TimestampType,
)

from schemas.fields import HISTOGRAM, Table, column
from schemas.gold.columns import RUN, WINDOW

PARTITION = [
    column("topic", StringType(), "topic name; its id where no METADATA answer told the name"),
    column("partition", IntegerType(), "partition index; NULL when only the node is known"),
    column("leader_id", IntegerType(), "broker that took the batches"),
]

SENT = [
    column("batches", LongType(), "producer batches appended; the same batch sent again is counted once"),
    column("bytes", LongType(), "bytes of these batches as appended"),
    column("records", LongType(), "records in the batches counted: base offset to the next base offset"),
    column("batches_counted", LongType(), "batches whose records are known: the next base offset was seen"),
    column("retried", LongType(), "batches that were sent again though appended before"),
    column("followed", LongType(), "batches behind another one of the client on the topic, by arrival"),
    column("repeats", LongType(), "of these, those to the same partition as the one before"),
    column("largest_batch_bytes", LongType(), "bytes of the largest batch"),
    column("produce_n", LongType(), "PRODUCE requests that held the partition"),
    column("produce_sum_ms", DoubleType(), "sum of their totals at the leader, exact"),
    column("produce_p50_ms", DoubleType(), "median of their totals at the leader"),
    column("produce_p99_ms", DoubleType(), "p99 of their totals at the leader"),
    column("produce_hist", HISTOGRAM, "their totals at the leader, log buckets of ms"),
    column("bytes_per_batch", DoubleType(), "bytes / batches"),
    column("records_per_batch", DoubleType(), "records / batches counted"),
    column("share", DoubleType(), "of the bytes that the client sent to the topic"),
]

PARTITION_SKEW = Table(
    layer="gold",
    name="partition_skew",
    about="A3: how a producer's batches fall to the partitions of a topic (KIP-480, KIP-794). "
    "Anchor: logged_at at the leader.",
    key=("cluster", "window_start", "topic", "partition", "leader_id", "client_id", "run"),
    schema=StructType([*WINDOW, *PARTITION, *RUN, *SENT]),
)

PARTITION_SKEW_SPAN = Table(
    layer="gold",
    name="partition_skew_span",
    about="Batches by partition over a whole span: partition_skew added up, partitions without any too. "
    "Made on read.",
    key=("cluster", "topic", "partition", "client_id", "run", "method"),
    schema=StructType(
        [
            WINDOW[0],
            column("since", TimestampType(), "start of the span"),
            column("until", TimestampType(), "end of the span"),
            column("method", StringType(), "request_log; client_metrics: bytes by node, requests and all"),
            *PARTITION,
            *RUN,
            *SENT,
        ]
    ),
)

PARTITION_SKEW_SUMMARY = Table(
    layer="gold",
    name="partition_skew_summary",
    about="How even a producer's batches fall over a whole span, and which partitioner that speaks for. "
    "Made on read.",
    key=("cluster", "topic", "client_id", "run", "method"),
    schema=StructType(
        [
            WINDOW[0],
            column("since", TimestampType(), "start of the span"),
            column("until", TimestampType(), "end of the span"),
            column("method", StringType(), "request_log; client_metrics: bytes by node, requests and all"),
            PARTITION[0],
            *RUN,
            column("partitions", IntegerType(), "partitions of the topic that anyone produced to"),
            column("batches", LongType(), "producer batches"),
            column("bytes", LongType(), "bytes"),
            column("records", LongType(), "records in the batches counted"),
            column("max_over_mean", DoubleType(), "bytes of the fullest partition over the mean; 1 is even"),
            column("coefficient_of_variation", DoubleType(), "standard deviation of bytes over their mean"),
            column("gini", DoubleType(), "Gini coefficient of bytes: 0 is even, 1 - 1/n is all in one"),
            column("top_share", DoubleType(), "share of the fullest partition"),
            column("effective_partitions", DoubleType(), "1 / sum(share^2): so many even ones"),
            column("chi_square", DoubleType(), "of batches against an even spread; the batch is the unit"),
            column("degrees_of_freedom", IntegerType(), "of chi_square: partitions - 1"),
            column(
                "repeat_ratio",
                DoubleType(),
                "batches to the same partition as the one before, over those that chance alone would give",
            ),
            column(
                "bytes_per_batch_ratio",
                DoubleType(),
                "highest bytes per batch of a partition over the lowest",
            ),
            column("slowest_leader_id", IntegerType(), "leader that is slowest for the client"),
            column(
                "slow_by",
                StringType(),
                "leader_latency: by its own log; batch_size: for the client alone; NULL: none stands out",
            ),
            column("slowest_ratio", DoubleType(), "its mean share over the mean share of the others"),
            column("slowest_batches_ratio", DoubleType(), "its batches a partition over the others' mean"),
            column(
                "slowest_stay_ratio",
                DoubleType(),
                "bytes of a stay on it (batches in a row) over its largest batch, times 1 - 1/partitions: by "
                "chance a stay follows a stay",
            ),
            column(
                "slowest_fill",
                DoubleType(),
                "its bytes per batch over its largest batch; 1 where all are full",
            ),
            column("slowest_latency_ratio", DoubleType(), "its p50 produce latency over the others' median"),
            column("slowest_batch_ratio", DoubleType(), "its bytes per batch over the others' median"),
            column(
                "share_per_ms", DoubleType(), "slope of share against the leader's latency, windows pooled"
            ),
            column(
                "share_per_ms_low", DoubleType(), "lower end of its 95 % interval, windows left out in turn"
            ),
            column("share_per_ms_high", DoubleType(), "upper end of its 95 % interval"),
            column("windows", IntegerType(), "windows that went into the slope"),
            column(
                "partitioner",
                StringType(),
                "which one the pattern speaks for: sticky, uniform, adaptive; NULL: undecided, or keys",
            ),
            column("quality_flags", ArrayType(StringType()), "doubts: bytes_do_not_add_up, retried_batches"),
        ]
    ),
)
