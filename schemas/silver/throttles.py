"""Silver about replication throttles and moves of replicas (KIP-73, KIP-455): what a cluster was told."""

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
"""`throttle_changes.told_by`: an alteration that a broker logged, and a configuration as it was read."""

THROTTLED_REPLICA = StructType(
    [
        column("partition", IntegerType(), "partition index"),
        column("broker_id", IntegerType(), "broker whose replica is throttled"),
    ]
)

LINE = [
    column("cluster", StringType(), "observed cluster"),
    column("broker_id", IntegerType(), "broker or controller that logged it; NULL of a poll"),
    column("logged_at", TimestampType(), "instant of the line, or of the poll, UTC"),
    column("logged_date", DateType(), "UTC date of `logged_at`"),
]

THROTTLE_CHANGES = Table(
    layer="silver",
    name="throttle_changes",
    about="One row per throttle setting that was altered or polled. A forwarded request is logged by the "
    "broker that got it and by the controller: both lines have their rows, and say the same.",
    key=("cluster", "position", "resource", "resource_name", "config", "operation"),
    partition_by=("logged_date",),
    schema=StructType(
        [
            *LINE,
            column("resource", StringType(), "broker or topic"),
            column(
                "resource_name",
                StringType(),
                "broker id or topic name; NULL: the default of all brokers, of a poll all other topics",
            ),
            column(
                "config",
                StringType(),
                "leader.replication.throttled.rate, follower.replication.throttled.replicas...",
            ),
            column("operation", StringType(), "set, delete, append or subtract"),
            column("value", StringType(), "value as written; NULL of a delete"),
            column("rate_bytes_per_s", LongType(), "value of a rate; NULL of a list and of a delete"),
            column("replicas", ArrayType(THROTTLED_REPLICA), "value of a list; NULL of `*`, rate and delete"),
            column("is_wildcard", BooleanType(), "the list is `*`: every replica; NULL of a rate"),
            column("error_code", IntegerType(), "error code of the resource's answer; NULL without one"),
            column(
                "is_applied", BooleanType(), "answered without error, and no dry run; NULL: no answer seen"
            ),
            column("told_by", StringType(), "request_log or poll"),
            *ORIGIN[1:],
        ]
    ),
)

REASSIGNMENTS = Table(
    layer="silver",
    name="reassignments",
    about="One row per partition of an ALTER_PARTITION_REASSIGNMENTS, and of the answer to a "
    "LIST_PARTITION_REASSIGNMENTS: what moves where.",
    key=("cluster", "position", "topic_name", "partition_index"),
    partition_by=("logged_date",),
    schema=StructType(
        [
            *LINE,
            column("api", StringType(), "ALTER_PARTITION_REASSIGNMENTS or LIST_PARTITION_REASSIGNMENTS"),
            column("client_id", StringType(), "client.id of whoever asked"),
            column("correlation_id", IntegerType(), "correlation id; the same where it was forwarded"),
            column("principal", StringType(), "principal, User:NAME"),
            column("topic_name", StringType(), "topic name"),
            column("partition_index", IntegerType(), "partition index"),
            column("replicas", ArrayType(IntegerType()), "target, of a list: all now; NULL: cancelled"),
            column("adding_replicas", ArrayType(IntegerType()), "brokers still to be added; of a list alone"),
            column("removing_replicas", ArrayType(IntegerType()), "brokers to be removed; of a list alone"),
            column("error_code", IntegerType(), "error code of the partition's answer, else of the whole"),
            *ORIGIN[1:],
        ]
    ),
)

ISR_CHANGES = Table(
    layer="silver",
    name="isr_changes",
    about="One row per partition of an ALTER_PARTITION: a leader tells the controller who is in sync. "
    "A replica that was added and comes in sync has been moved.",
    key=("cluster", "position", "topic_id", "topic_name", "partition_index"),
    partition_by=("logged_date",),
    schema=StructType(
        [
            *LINE,
            column("topic_id", StringType(), "topic id, base64; NULL before version 2 of the API"),
            column("topic_name", StringType(), "topic name; NULL since version 2 of the API"),
            column("partition_index", IntegerType(), "partition index"),
            column("leader_id", IntegerType(), "leader, the broker that asked"),
            column("leader_epoch", IntegerType(), "leader epoch"),
            column("partition_epoch", IntegerType(), "partition epoch that the answer gives; NULL without"),
            column("isr", ArrayType(IntegerType()), "brokers in sync from now on, in ascending order"),
            column("error_code", IntegerType(), "error code of the partition's answer, else of the whole"),
            *ORIGIN[1:],
        ]
    ),
)

CLUSTER_POLLS = Table(
    layer="silver",
    name="cluster_polls",
    about="One row per poll of a cluster's throttle settings; what it found stands in `throttle_changes`.",
    key=("cluster", "position"),
    partition_by=("logged_date",),
    schema=StructType(
        [
            column("cluster", StringType(), "observed cluster"),
            column("logged_at", TimestampType(), "instant of the poll, UTC"),
            column("logged_date", DateType(), "UTC date of `logged_at`"),
            column("brokers", IntegerType(), "brokers that were asked"),
            column("topics", IntegerType(), "topics with lists; NULL where topics were not asked for"),
            *ORIGIN[1:],
        ]
    ),
)

MOVES = (THROTTLE_CHANGES, REASSIGNMENTS, ISR_CHANGES)
