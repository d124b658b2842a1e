"""`silver.requests`: completed requests."""

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

from schemas.fields import ORIGIN, Table, column
from schemas.silver.columns import STAMP

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
