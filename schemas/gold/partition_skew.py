"""Gold tables of producer batches by partition (KIP-794)."""

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
    column(
        "topic",
        StringType(),
        "topic name; the topic id if no METADATA response has the name; `others`: requests without a "
        "response, but for the 10,000 partitions with most batches",
    ),
    column("partition", IntegerType(), "partition index; NULL if only the node is known, and for `others`"),
    column("leader_id", IntegerType(), "broker that appended the batches"),
]

SENT = [
    column("batches", LongType(), "appended producer batches; a retried batch counts once"),
    column("bytes", LongType(), "bytes of these batches"),
    column("records", LongType(), "records of batches_counted: from a base offset to the next one"),
    column(
        "batches_counted",
        LongType(),
        "batches with a known number of records, because the next base offset was seen",
    ),
    column("retried", LongType(), "retried batches that had been appended before"),
    column("followed", LongType(), "batches with a previous batch of the client on the topic, by arrival"),
    column("repeats", LongType(), "batches to the same partition as the previous batch"),
    column("largest_batch_bytes", LongType(), "bytes of the largest batch"),
    column("produce_n", LongType(), "PRODUCE requests with the partition"),
    column("produce_sum_ms", DoubleType(), "exact sum of their totals at the leader"),
    column("produce_p50_ms", DoubleType(), "median of their totals at the leader"),
    column("produce_p99_ms", DoubleType(), "p99 of their totals at the leader"),
    column("produce_hist", HISTOGRAM, "their totals at the leader, log buckets of ms"),
    column("bytes_per_batch", DoubleType(), "bytes / batches"),
    column("records_per_batch", DoubleType(), "records / batches_counted"),
    column("share", DoubleType(), "share of the bytes that the client sent to the topic"),
]

PARTITION_SKEW = Table(
    layer="gold",
    name="partition_skew",
    about="A3: the distribution of a producer's batches over partitions (KIP-480, KIP-794). "
    "Window: by logged_at at the leader.",
    key=("cluster", "window_start", "topic", "partition", "leader_id", "client_id", "run"),
    schema=StructType([*WINDOW, *PARTITION, *RUN, *SENT]),
)

PARTITION_SKEW_SPAN = Table(
    layer="gold",
    name="partition_skew_span",
    about="Batches by partition over a time range, including partitions without batches. Computed on read.",
    key=("cluster", "topic", "partition", "client_id", "run", "method"),
    is_stored=False,
    schema=StructType(
        [
            WINDOW[0],
            column("since", TimestampType(), "start of the time range"),
            column("until", TimestampType(), "end of the time range"),
            column(
                "method",
                StringType(),
                "source: request_log, or client_metrics (outgoing bytes by node, which include all requests)",
            ),
            *PARTITION,
            *RUN,
            *(field for field in SENT if field.dataType != HISTOGRAM),
        ]
    ),
)

PARTITION_SKEW_SUMMARY = Table(
    layer="gold",
    name="partition_skew_summary",
    about="The evenness of a producer's batches over a time range, and the partitioner that it indicates. "
    "Computed on read.",
    key=("cluster", "topic", "client_id", "run", "method"),
    is_stored=False,
    schema=StructType(
        [
            WINDOW[0],
            column("since", TimestampType(), "start of the time range"),
            column("until", TimestampType(), "end of the time range"),
            column(
                "method",
                StringType(),
                "source: request_log, or client_metrics (outgoing bytes by node, which include all requests)",
            ),
            PARTITION[0],
            *RUN,
            column("partitions", IntegerType(), "partitions of the topic with batches of any producer"),
            column("batches", LongType(), "producer batches"),
            column("bytes", LongType(), "bytes"),
            column("records", LongType(), "records of the batches with a known number of records"),
            column("max_over_mean", DoubleType(), "bytes of the largest partition / mean; 1 is even"),
            column("coefficient_of_variation", DoubleType(), "standard deviation of bytes / their mean"),
            column(
                "gini",
                DoubleType(),
                "Gini coefficient of bytes; 0 is even, 1 - 1/n means one partition has all bytes",
            ),
            column("top_share", DoubleType(), "share of the largest partition"),
            column(
                "effective_partitions",
                DoubleType(),
                "1 / sum(share^2): the equivalent number of equal partitions",
            ),
            column(
                "chi_square", DoubleType(), "chi-square statistic of batches against an even distribution"
            ),
            column("degrees_of_freedom", IntegerType(), "degrees of freedom of chi_square: partitions - 1"),
            column(
                "repeat_ratio",
                DoubleType(),
                "batches to the same partition as the previous batch / the number expected by chance",
            ),
            column(
                "bytes_per_batch_ratio",
                DoubleType(),
                "highest bytes per batch of a partition / the lowest",
            ),
            column("slowest_leader_id", IntegerType(), "slowest leader for the client"),
            column(
                "slow_by",
                StringType(),
                "leader_latency: by the leader's log; batch_size: only for this client; NULL: no slow leader",
            ),
            column("slowest_ratio", DoubleType(), "mean share of its partitions / mean share of the others"),
            column("slowest_batches_ratio", DoubleType(), "its batches per partition / mean of the others"),
            column(
                "slowest_stay_ratio",
                DoubleType(),
                "bytes of a stay on it (consecutive batches) / its largest batch * (1 - 1/partitions): "
                "by chance one stay can follow another",
            ),
            column(
                "slowest_fill",
                DoubleType(),
                "its bytes per batch / its largest batch; 1 if all batches are full",
            ),
            column(
                "slowest_latency_ratio", DoubleType(), "its median produce latency / median of the others"
            ),
            column("slowest_batch_ratio", DoubleType(), "its bytes per batch / median of the others"),
            column(
                "share_per_ms", DoubleType(), "slope of share against the leader's latency, over all windows"
            ),
            column(
                "share_per_ms_low",
                DoubleType(),
                "lower end of the 95 % interval of share_per_ms (jackknife over windows)",
            ),
            column("share_per_ms_high", DoubleType(), "upper end of the 95 % interval of share_per_ms"),
            column("windows", IntegerType(), "number of windows of the slope"),
            column(
                "partitioner",
                StringType(),
                "partitioner that the pattern indicates: sticky, uniform, adaptive; NULL: undecided, or keys",
            ),
            column(
                "quality_flags", ArrayType(StringType()), "warnings: bytes_do_not_add_up, retried_batches"
            ),
        ]
    ),
)
