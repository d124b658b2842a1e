"""Gold about clients: which partition a record goes to, how a moved leader is found, what metadata costs."""

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

WINDOW = [
    column("cluster", StringType(), "observed cluster"),
    column("window_start", TimestampType(), "start of the 10 s window, UTC; the end is 10 s later"),
]

RUN = [
    column("client_id", StringType(), "client.id, a user's text"),
    column("software_version", StringType(), "client software version; NULL when unknown"),
    column("run", StringType(), "performance test that the client ran; NULL without"),
    column("arm", StringType(), "what that run tried; NULL without"),
]

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

LOOKUPS = [
    column("lookups", LongType(), "METADATA requests"),
    column("all_topics_lookups", LongType(), "of these, for all topics of the cluster"),
    column("topics_asked", LongType(), "topics asked for, summed over lookups"),
    column("topics_asked_most", LongType(), "topics of the largest lookup"),
    column("topics_answered", LongType(), "topics in the answers"),
    column("response_bytes", LongType(), "size of the answers on the wire, worked out from what they hold"),
    column("lookups_after_error", LongType(), "within 1 s of an answer 6 or 74 to the client"),
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

REDIRECT, DISCONNECT = "redirect", "disconnect"
"""`leader_redirect.kind`: an old leader that answers with an error, and one that is dead."""

LEADER_REDIRECT = Table(
    layer="gold",
    name="leader_redirect",
    about="A5: how long a client is lost when a leader moves (KIP-951) or dies, one row an event. "
    "Anchor: the logged_at of the old leader's first error, or of a dead one's last answer.",
    key=("cluster", "kind", "errored_at", "topic", "partition", "connection"),
    schema=StructType(
        [
            *WINDOW,
            column("topic", StringType(), "topic name; its id where no METADATA answer told the name"),
            column("partition", IntegerType(), "partition index"),
            column("api", StringType(), "PRODUCE or FETCH"),
            column(
                "kind",
                StringType(),
                "redirect: the old leader answered with an error; disconnect: it was dead",
            ),
            *RUN,
            column("connection", StringType(), "connection to the old leader, as the broker names it"),
            column("old_leader_id", IntegerType(), "broker that answered with the first error, or that died"),
            column(
                "new_leader_id", IntegerType(), "broker that served the first success; NULL if none was seen"
            ),
            column("leader_epoch", IntegerType(), "epoch of the new leader as hinted; NULL without a hint"),
            column(
                "error_code",
                IntegerType(),
                "first error: 6 NOT_LEADER_OR_FOLLOWER, 74 FENCED_LEADER_EPOCH; NULL of a disconnect",
            ),
            column(
                "hinted",
                BooleanType(),
                "the first error carried the new leader (KIP-951); NULL of a disconnect",
            ),
            column(
                "errored_at",
                TimestampType(),
                "when the old leader answered with the first error, or a dead one for the last time; its "
                "clock is that of the row",
            ),
            column("tried_at", TimestampType(), "arrival of the first request at the new leader"),
            column(
                "succeeded_at",
                TimestampType(),
                "when the new leader had served a request: its answer; of a FETCH less the wait in purgatory",
            ),
            column(
                "leads_from",
                TimestampType(),
                "when the new leader began to lead, its state-change log; NULL without",
            ),
            column("redirect_ms", DoubleType(), "errored_at to first success: succeeded_at - errored_at"),
            column(
                "client_part_ms",
                DoubleType(),
                "errored_at to first try at the new leader, less blocked_ms",
            ),
            column(
                "broker_part_ms",
                DoubleType(),
                "blocked_ms, and first try to first success there, replication too",
            ),
            column(
                "blocked_ms",
                DoubleType(),
                "of the time until the first try, that in which the new leader held earlier requests of the "
                "connection: it reads one at a time",
            ),
            column(
                "not_ready_ms",
                DoubleType(),
                "of it, until the new leader began to lead: leads_from - tried_at",
            ),
            column(
                "clock_bound_ms",
                DoubleType(),
                "how far the two brokers' clocks may still be apart; NULL where no fetch between them tells",
            ),
            column(
                "moved_by", StringType(), "who asked for the move: API, client id, principal; NULL: nobody"
            ),
            column(
                "metadata_requests",
                LongType(),
                "METADATA requests of the client between errored_at and success",
            ),
            column("errors_at_old_leader", LongType(), "requests answered with an error by the old leader"),
            column("errors_at_new_leader", LongType(), "errors of the new leader: it was not ready yet"),
        ]
    ),
)

LEADER_REDIRECT_SUMMARY = Table(
    layer="gold",
    name="leader_redirect_summary",
    about="Leader redirects by client version over a whole span, disconnects counted apart. Made on read.",
    key=("cluster", "api", "software_version"),
    schema=StructType(
        [
            WINDOW[0],
            column("api", StringType(), "PRODUCE or FETCH"),
            column("software_version", StringType(), "client software version; NULL when unknown"),
            column("n", LongType(), "redirects that ended in a success"),
            column("unfinished", LongType(), "redirects without a success in reach"),
            column("redirect_p50_ms", DoubleType(), "median of first error to first success"),
            column("redirect_p99_ms", DoubleType(), "p99 of the same; NULL below 100 redirects"),
            column("redirect_max_ms", DoubleType(), "longest"),
            column(
                "client_part_p50_ms",
                DoubleType(),
                "median of what the client needed until its first try there",
            ),
            column("broker_part_p50_ms", DoubleType(), "median of first try to first success there"),
            column(
                "hinted_share", DoubleType(), "share of redirects whose first error carried the new leader"
            ),
            column("wasted_requests", LongType(), "requests answered with an error by an old leader"),
            column("disconnects", LongType(), "events whose old leader was dead"),
            column("disconnect_p50_ms", DoubleType(), "median of its last answer to first success"),
            column("disconnect_max_ms", DoubleType(), "longest"),
        ]
    ),
)

METADATA_LOOKUP = Table(
    layer="gold",
    name="metadata_lookup",
    about="A6: what metadata lookups cost a client (KIP-526). Anchor: logged_at at the broker.",
    key=("cluster", "window_start", "client_id", "software_version", "run"),
    schema=StructType(
        [
            *WINDOW,
            *RUN,
            *LOOKUPS,
            column(
                "topics", ArrayType(LongType()), "the topics asked for, each once: xxhash64 of name or id"
            ),
        ]
    ),
)

METADATA_LOOKUP_SUMMARY = Table(
    layer="gold",
    name="metadata_lookup_summary",
    about="What metadata lookups cost a client over a whole span. Made on read.",
    key=("cluster", "client_id", "software_version", "run"),
    schema=StructType(
        [
            WINDOW[0],
            *RUN,
            column("since", TimestampType(), "start of the first window with a lookup"),
            column("until", TimestampType(), "end of the last one"),
            *LOOKUPS,
            column("new_topics", LongType(), "topics that the client asked for in no window before"),
            column(
                "evicted_topics", LongType(), "topics that a later refresh left out (metadata.max.idle.ms)"
            ),
            column("lookups_per_new_topic", DoubleType(), "lookups / new topics"),
            column(
                "topics_per_lookup", DoubleType(), "topics asked / lookups, those for all topics left out"
            ),
            column("bytes_per_1000_new_topics", DoubleType(), "1000 * response bytes / new topics"),
            column(
                "growth_exponent",
                DoubleType(),
                "topics asked in total ~ new topics^x: 2 where each one asks for all, 1 where for itself; "
                "NULL below 5 windows with new topics or 16 of them",
            ),
        ]
    ),
)

CLIENT_SUMMARIES = (
    PARTITION_SKEW_SPAN,
    PARTITION_SKEW_SUMMARY,
    LEADER_REDIRECT_SUMMARY,
    METADATA_LOOKUP_SUMMARY,
)

CLIENT_TABLES = (PARTITION_SKEW, LEADER_REDIRECT, METADATA_LOOKUP)
