"""Silver: what one line says, typed. Each row is a pure function of one bronze row."""

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DateType,
    DoubleType,
    IntegerType,
    LongType,
    StringType,
    StructType,
    TimestampType,
)

from schemas.fields import ORIGIN, Table, column
from schemas.silver.metrics import METRICS
from schemas.silver.perf_test import PERF_TEST
from schemas.silver.throttles import CLUSTER_POLLS, MOVES

STAMP = [
    column("logged_at", TimestampType(), "instant written in the line, UTC, microseconds"),
    column("logged_mono_ns", LongType(), "monotonic nanoseconds of the node (log4j %N); NULL without"),
    column("clock_resolution_ms", DoubleType(), "resolution of `logged_at` as written: 1.0, 0.001 or less"),
    column("logged_date", DateType(), "UTC date of `logged_at`"),
]

REQUEST_PARTITION = StructType(
    [
        column("topic_id", StringType(), "topic id, base64, as Kafka writes it; NULL before the API had ids"),
        column("topic_name", StringType(), "topic name; NULL where the API carries ids only"),
        column("partition", IntegerType(), "partition index"),
        column("bytes", LongType(), "records in bytes: returned by a FETCH, sent by a PRODUCE; NULL without"),
        column("error_code", IntegerType(), "error code of the partition's answer"),
        column("offset", LongType(), "fetchOffset asked by a FETCH, baseOffset answered to a PRODUCE"),
        column("hinted_leader_id", IntegerType(), "KIP-951 currentLeader.leaderId; NULL without a hint"),
        column("hinted_leader_epoch", IntegerType(), "KIP-951 currentLeader.leaderEpoch"),
        column(
            "high_watermark", LongType(), "high watermark that a FETCH answered; NULL without, and of errors"
        ),
    ]
)

REQUESTS = Table(
    layer="silver",
    name="requests",
    about="One row per completed request seen by a broker (RequestChannel's request log).",
    key=("cluster", "position"),
    partition_by=("logged_date",),
    schema=StructType(
        [
            column("cluster", StringType(), "observed cluster"),
            column("broker_id", IntegerType(), "broker that served the request: the number its node ends in"),
            *STAMP,
            column("started_at", TimestampType(), "logged_at - total_ms: when the request was read"),
            column("api", StringType(), "request API name: FETCH, PRODUCE, METADATA"),
            column("api_version", IntegerType(), "request API version"),
            column("client_id", StringType(), "client.id, a user's text; NULL when the client sent none"),
            column("correlation_id", IntegerType(), "correlation id"),
            column("connection", StringType(), "ServerConnectionId as written"),
            column("session_id", IntegerType(), "fetch session id asked with; 0 = new or none"),
            column("session_epoch", IntegerType(), "fetch session epoch; -1 = sessionless, 0 = new"),
            column("response_session_id", IntegerType(), "fetch session id in the answer"),
            column("listener", StringType(), "listener name"),
            column("kind", StringType(), "follower, consumer or raft for a FETCH; other for every other API"),
            column("follower_id", IntegerType(), "replica id of a follower or raft voter; NULL for clients"),
            column("replica_epoch", LongType(), "broker epoch of the follower (FETCH v15+)"),
            column("software_name", StringType(), "client software name; NULL when 'unknown'"),
            column("software_version", StringType(), "client software version; NULL when 'unknown'"),
            column("principal", StringType(), "principal, User:NAME"),
            column("is_forwarded", BooleanType(), "arrived through an Envelope"),
            column("total_ms", DoubleType(), "start to send completion"),
            column("request_queue_ms", DoubleType(), "wait in the request queue"),
            column("local_ms", DoubleType(), "work in KafkaApis on the leader"),
            column(
                "remote_ms", DoubleType(), "wait in purgatory (and tiered reads); 0 for an immediate answer"
            ),
            column("response_queue_ms", DoubleType(), "wait in the response queue"),
            column("send_ms", DoubleType(), "until the kernel took the bytes"),
            column("throttle_ms", DoubleType(), "quota delay told to the client; not part of total_ms"),
            column(
                "error_code", IntegerType(), "top-level error code of the answer; NULL where the API has none"
            ),
            column(
                "partitions",
                ArrayType(REQUEST_PARTITION),
                "partitions of a FETCH or PRODUCE, of an ELECT_LEADERS or ALTER_PARTITION_REASSIGNMENTS; "
                "NULL otherwise",
            ),
            column(
                "topics_asked",
                ArrayType(StringType()),
                "topics of a METADATA; NULL = all topics or other API",
            ),
            column("topics_answered", IntegerType(), "topics in the answer of a METADATA; NULL otherwise"),
            column(
                "response_bytes",
                LongType(),
                "size of a METADATA's answer on the wire, worked out from what it holds; NULL otherwise",
            ),
            column("is_own_traffic", BooleanType(), "sent by Plumbline's own clients"),
            column(
                "quality_flags",
                ArrayType(StringType()),
                "doubts: parts_do_not_add_up, no_request_body, no_response_body, no_follower_clock...",
            ),
            *ORIGIN[1:],
        ]
    ),
)

CLIENT_EVENTS = Table(
    layer="silver",
    name="client_events",
    about="One row per request sent or response received, from NetworkClient at DEBUG. Paired in gold.",
    key=("cluster", "position"),
    partition_by=("logged_date",),
    schema=StructType(
        [
            column("cluster", StringType(), "observed cluster"),
            column(
                "node_id", IntegerType(), "the number the node ends in; NULL for a client that is no broker"
            ),
            *STAMP,
            column("direction", StringType(), "sent or received"),
            column(
                "component", StringType(), "ReplicaFetcher, RaftManager, Producer...: the line's own prefix"
            ),
            column("follower_id", IntegerType(), "replicaId of a ReplicaFetcher line"),
            column("fetcher_id", IntegerType(), "fetcherId of a ReplicaFetcher line"),
            column("destination_id", IntegerType(), "node the request went to or the answer came from"),
            column("api", StringType(), "request API name"),
            column("api_version", IntegerType(), "request API version"),
            column("client_id", StringType(), "client.id"),
            column("correlation_id", IntegerType(), "correlation id; starts anew with each fetcher thread"),
            column("session_id", IntegerType(), "fetch session id: asked with (sent) or answered (received)"),
            column("session_epoch", IntegerType(), "fetch session epoch of a sent FETCH"),
            *ORIGIN[1:],
        ]
    ),
)

TOPICS = Table(
    layer="silver",
    name="topics",
    about="Topic ids and names as METADATA and CREATE_TOPICS answers told them; joined on read.",
    key=("cluster", "topic_id", "topic_name", "position"),
    schema=StructType(
        [
            column("cluster", StringType(), "observed cluster"),
            column("topic_id", StringType(), "topic id, base64, as Kafka writes it"),
            column("topic_name", StringType(), "topic name"),
            column("is_internal", BooleanType(), "internal topic; NULL where the answer does not say"),
            column("seen_at", TimestampType(), "logged_at of the answer"),
            column("position", StringType(), "place of the line at the edge"),
            column("parser_version", IntegerType(), "version of the parser that made the row"),
        ]
    ),
)

LEADERSHIP_CHANGES = Table(
    layer="silver",
    name="leadership_changes",
    about="One row per line in which a broker begins to lead or to follow a partition (state-change log).",
    key=("cluster", "position"),
    partition_by=("logged_date",),
    schema=StructType(
        [
            column("cluster", StringType(), "observed cluster"),
            column("broker_id", IntegerType(), "broker that learnt of it"),
            *STAMP,
            column("role", StringType(), "what the broker begins to be: leader or follower"),
            column("topic_name", StringType(), "topic name"),
            column("topic_id", StringType(), "topic id, base64; NULL in the lines of followers"),
            column("partition_index", IntegerType(), "partition index"),
            column("leader_id", IntegerType(), "who leads from now on"),
            column("leader_epoch", IntegerType(), "leader epoch that begins"),
            column("partition_epoch", IntegerType(), "partition epoch"),
            column("first_offset", LongType(), "log end offset of the broker at the change"),
            column("previous_leader_id", IntegerType(), "who led before; NULL when nobody did"),
            column("previous_leader_epoch", IntegerType(), "leader epoch before; -1 when there was none"),
            *ORIGIN[1:],
        ]
    ),
)

QUARANTINE = Table(
    layer="silver",
    name="quarantine",
    about="Lines that could not be read, with the reason and their bytes. Nothing is thrown away.",
    key=("cluster", "position"),
    partition_by=("quarantined_date",),
    schema=StructType(
        [
            *ORIGIN,
            column("kind", StringType(), "kind of telemetry"),
            column("chunk", StringType(), "part of one oversized value; NULL when whole"),
            column("reason", StringType(), "reason code, as listed in docs/quarantine.md"),
            column("detail", StringType(), "what exactly was found, for people"),
            column("value", BinaryType(), "the bytes as they came"),
            column("content_encoding", StringType(), "gzip, or NULL when the value is plain"),
            column("quarantined_date", DateType(), "UTC date of the bronze row"),
        ]
    ),
)

SKIPPED = Table(
    layer="silver",
    name="skipped",
    about="Lines that are not ours to parse, counted by logger: one row a batch, node, source and logger.",
    key=("batch_id", "kind", "cluster", "node", "source", "logger"),
    partition_by=("ingest_date",),
    schema=StructType(
        [
            column("batch_id", LongType(), "batch of the ingest query"),
            column("kind", StringType(), "kind of telemetry"),
            column("cluster", StringType(), "observed cluster"),
            column("node", StringType(), "node as the edge names it"),
            column("source", StringType(), "file path at the edge"),
            column("logger", StringType(), "logger that wrote the lines; NULL when the line names none"),
            column("reason", StringType(), "other_logger, not_a_request, not_a_figure, not_a_change, blank"),
            column("lines", LongType(), "how many"),
            column("parser_version", IntegerType(), "version of the parser"),
            column("ingest_date", DateType(), "UTC date of the bronze rows: retention goes by it"),
        ]
    ),
)

GAPS = Table(
    layer="silver",
    name="gaps",
    about="What a telemetry topic's retention took before it was read, accepted by `--accept-gap`.",
    key=("writer", "batch_id", "topic", "partition"),
    schema=StructType(
        [
            column("topic", StringType(), "telemetry topic"),
            column("partition", IntegerType(), "telemetry partition"),
            column("first_offset", LongType(), "first offset that was lost"),
            column("end_offset", LongType(), "first offset after the lost ones"),
            column(
                "lines", LongType(), "offsets lost: lines, and the markers of transactions if there were any"
            ),
            column("found_at", TimestampType(), "when the ingest found them gone"),
            column("reason", StringType(), "retention"),
            column("writer", StringType(), "query and id of its checkpoint, as in the Delta log"),
            column(
                "batch_id", LongType(), "batch of the query that stands for the gap; bronze has no row of it"
            ),
        ]
    ),
)

SILVER = (
    REQUESTS,
    CLIENT_EVENTS,
    TOPICS,
    LEADERSHIP_CHANGES,
    *PERF_TEST,
    *METRICS,
    *MOVES,
    CLUSTER_POLLS,
    QUARANTINE,
    SKIPPED,
    GAPS,
)
