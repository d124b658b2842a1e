"""`silver.requests`: the completed requests of the brokers' request logs."""

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
        column(
            "topic_id",
            StringType(),
            "topic id, base64, as Kafka writes it; NULL for API versions without ids",
        ),
        column("topic_name", StringType(), "topic name; NULL for API versions with ids only"),
        column("partition", IntegerType(), "partition index"),
        column(
            "bytes",
            LongType(),
            "bytes of records that a FETCH returned or a PRODUCE sent; NULL for other APIs",
        ),
        column("error_code", IntegerType(), "error code of the partition in the response"),
        column("offset", LongType(), "fetchOffset of a FETCH request, baseOffset of a PRODUCE response"),
        column(
            "hinted_leader_id",
            IntegerType(),
            "KIP-951 currentLeader.leaderId; NULL if the response has no hint",
        ),
        column("hinted_leader_epoch", IntegerType(), "KIP-951 currentLeader.leaderEpoch"),
        column(
            "high_watermark",
            LongType(),
            "high watermark in a FETCH response; NULL if there is none, or for an error",
        ),
    ]
)

REQUESTS = Table(
    layer="silver",
    name="requests",
    about="One row per completed request of a broker (RequestChannel's request log).",
    key=("cluster", "position"),
    partition_by=("logged_date",),
    schema=StructType(
        [
            column("cluster", StringType(), "observed cluster"),
            column(
                "broker_id",
                IntegerType(),
                "broker that served the request: the number at the end of the node's name",
            ),
            *STAMP,
            column("started_at", TimestampType(), "when the broker read the request: logged_at - total_ms"),
            column("api", StringType(), "request API name: FETCH, PRODUCE, METADATA"),
            column("api_version", IntegerType(), "request API version"),
            column("client_id", StringType(), "client.id, which users choose; NULL if the client sent none"),
            column("correlation_id", IntegerType(), "correlation id"),
            column(
                "connection",
                StringType(),
                "connection id (ServerConnectionId) as written, with addresses; a hash with pseudonyms",
            ),
            column("session_id", IntegerType(), "fetch session id of the request; 0 = new or none"),
            column("session_epoch", IntegerType(), "fetch session epoch; -1 = no session, 0 = new session"),
            column("response_session_id", IntegerType(), "fetch session id of the response"),
            column("listener", StringType(), "listener name"),
            column(
                "kind",
                StringType(),
                "follower, consumer or raft for a FETCH; share for a SHARE_FETCH; other for all other APIs, "
                "and for a FETCH with a replica id that was refused or came over a listener of clients",
            ),
            column(
                "follower_id", IntegerType(), "replica id of the follower or raft voter; NULL for clients"
            ),
            column("replica_epoch", LongType(), "broker epoch of the follower (FETCH v15+)"),
            column("software_name", StringType(), "client software name; NULL if 'unknown'"),
            column("software_version", StringType(), "client software version; NULL if 'unknown'"),
            column("principal", StringType(), "principal, User:NAME"),
            column("is_forwarded", BooleanType(), "the request arrived in an Envelope request"),
            column("total_ms", DoubleType(), "from reading the request to the end of the send"),
            column("request_queue_ms", DoubleType(), "time in the request queue"),
            column("local_ms", DoubleType(), "time in KafkaApis on the leader"),
            column(
                "remote_ms",
                DoubleType(),
                "wait in purgatory (and for tiered reads); 0 for an immediate response",
            ),
            column("response_queue_ms", DoubleType(), "time in the response queue"),
            column("send_ms", DoubleType(), "send time, until the kernel accepted the bytes"),
            column(
                "throttle_ms",
                DoubleType(),
                "throttle time returned to the client (quota); not part of total_ms",
            ),
            column(
                "error_code", IntegerType(), "top-level error code of the response; NULL if the API has none"
            ),
            column(
                "partitions",
                ArrayType(REQUEST_PARTITION),
                "partitions of a FETCH, PRODUCE, ELECT_LEADERS or ALTER_PARTITION_REASSIGNMENTS; "
                "NULL otherwise",
            ),
            column(
                "topics_asked",
                ArrayType(StringType()),
                "requested topics of a METADATA; NULL = all topics, or another API",
            ),
            column(
                "topics_answered",
                IntegerType(),
                "number of topics in a METADATA response; NULL for other APIs",
            ),
            column(
                "response_bytes",
                LongType(),
                "size of a METADATA response on the wire, calculated from its contents; NULL for other APIs",
            ),
            column(
                "is_own_traffic",
                BooleanType(),
                "sent by Plumbline's own clients: by client id and principal",
            ),
            column(
                "quality_flags",
                ArrayType(StringType()),
                "warnings: parts_do_not_add_up, no_request_body, no_response_body, no_follower_clock...",
            ),
            *ORIGIN[1:],
        ]
    ),
)
