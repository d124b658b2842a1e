"""Silver tables of replication throttles and reassignments (KIP-73, KIP-455)."""

from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DateType,
    IntegerType,
    LongType,
    StringType,
    StructType,
    TimestampType,
)

from schemas.fields import ORIGIN, Table, column

REQUEST_LOG, POLL = "request_log", "poll"
"""Values of `throttle_changes.told_by`: a change in a broker's request log, and a setting read by a poll."""

THROTTLED_REPLICA = StructType(
    [
        column("partition", IntegerType(), "partition index"),
        column("broker_id", IntegerType(), "broker whose replica is throttled"),
    ]
)

LINE = [
    column("cluster", StringType(), "observed cluster"),
    column("broker_id", IntegerType(), "broker or controller that logged the request; NULL for a poll"),
    column("logged_at", TimestampType(), "instant of the line or the poll, UTC"),
    column("logged_date", DateType(), "UTC date of `logged_at`"),
]

THROTTLE_CHANGES = Table(
    layer="silver",
    name="throttle_changes",
    about="One row per throttle setting in a request or a poll. The broker that receives a request and the "
    "controller it forwards to both log it, so a forwarded change has two equal rows.",
    key=("cluster", "position", "resource", "resource_name", "config", "operation"),
    partition_by=("logged_date",),
    schema=StructType(
        [
            *LINE,
            column("resource", StringType(), "broker or topic"),
            column(
                "resource_name",
                StringType(),
                "broker id or topic name; NULL: the default of all brokers, or in a poll all other topics",
            ),
            column(
                "config",
                StringType(),
                "config name: leader.replication.throttled.rate, follower.replication.throttled.replicas...",
            ),
            column("operation", StringType(), "set, delete, append or subtract"),
            column("value", StringType(), "value as written; NULL for delete"),
            column("rate_bytes_per_s", LongType(), "value of a rate; NULL for a list or delete"),
            column(
                "replicas", ArrayType(THROTTLED_REPLICA), "value of a list; NULL for `*`, a rate or delete"
            ),
            column(
                "is_wildcard", BooleanType(), "the list is `*`, which means all replicas; NULL for a rate"
            ),
            column(
                "error_code",
                IntegerType(),
                "error code of the resource in the response; NULL if there is none",
            ),
            column(
                "is_applied",
                BooleanType(),
                "the response has no error and the request is no dry run; NULL if no response was logged",
            ),
            column("told_by", StringType(), "source of the row: request_log or poll"),
            *ORIGIN[1:],
        ]
    ),
)

REASSIGNMENTS = Table(
    layer="silver",
    name="reassignments",
    about="One row per partition of an ALTER_PARTITION_REASSIGNMENTS request or a "
    "LIST_PARTITION_REASSIGNMENTS response.",
    key=("cluster", "position", "topic_name", "partition_index"),
    partition_by=("logged_date",),
    schema=StructType(
        [
            *LINE,
            column("api", StringType(), "ALTER_PARTITION_REASSIGNMENTS or LIST_PARTITION_REASSIGNMENTS"),
            column("client_id", StringType(), "client.id of the requester"),
            column("correlation_id", IntegerType(), "correlation id; a forwarded request keeps it"),
            column("principal", StringType(), "principal, User:NAME"),
            column("topic_name", StringType(), "topic name"),
            column("partition_index", IntegerType(), "partition index"),
            column(
                "replicas",
                ArrayType(IntegerType()),
                "target replicas, in a LIST the current ones; NULL: cancelled",
            ),
            column("adding_replicas", ArrayType(IntegerType()), "brokers still to be added; only for LIST"),
            column("removing_replicas", ArrayType(IntegerType()), "brokers to be removed; only for LIST"),
            column("error_code", IntegerType(), "error code of the whole response, else of the partition"),
            *ORIGIN[1:],
        ]
    ),
)

ISR_CHANGES = Table(
    layer="silver",
    name="isr_changes",
    about="One row per partition of an ALTER_PARTITION: a leader reports a new ISR to the controller. "
    "A reassigned replica is complete when it joins the ISR.",
    key=("cluster", "position", "topic_id", "topic_name", "partition_index"),
    partition_by=("logged_date",),
    schema=StructType(
        [
            *LINE,
            column("topic_id", StringType(), "topic id, base64; NULL before version 2 of the API"),
            column("topic_name", StringType(), "topic name; NULL since version 2 of the API"),
            column("partition_index", IntegerType(), "partition index"),
            column("leader_id", IntegerType(), "leader, which sent the request"),
            column("leader_epoch", IntegerType(), "leader epoch"),
            column(
                "partition_epoch", IntegerType(), "partition epoch in the response; NULL if there is none"
            ),
            column("isr", ArrayType(IntegerType()), "new ISR, in ascending order"),
            column("error_code", IntegerType(), "error code of the whole response, else of the partition"),
            *ORIGIN[1:],
        ]
    ),
)

CLUSTER_POLLS = Table(
    layer="silver",
    name="cluster_polls",
    about="One row per poll of a cluster's throttle settings; `throttle_changes` has the settings.",
    key=("cluster", "position"),
    partition_by=("logged_date",),
    schema=StructType(
        [
            column("cluster", StringType(), "observed cluster"),
            column("logged_at", TimestampType(), "instant of the poll, UTC"),
            column("logged_date", DateType(), "UTC date of `logged_at`"),
            column("brokers", IntegerType(), "number of polled brokers"),
            column(
                "topics",
                IntegerType(),
                "number of topics with lists; NULL if the poll did not request topics",
            ),
            *ORIGIN[1:],
        ]
    ),
)

MOVES = (THROTTLE_CHANGES, REASSIGNMENTS, ISR_CHANGES)
