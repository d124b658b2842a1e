"""`silver.leadership_changes`: lines of state-change logs."""

from pyspark.sql.types import IntegerType, LongType, StringType, StructType

from schemas.fields import ORIGIN, Table, column
from schemas.silver.columns import STAMP

LEADERSHIP_CHANGES = Table(
    layer="silver",
    name="leadership_changes",
    about="One row per state-change log line in which a broker becomes leader or follower of a partition.",
    key=("cluster", "position"),
    partition_by=("logged_date",),
    schema=StructType(
        [
            column("cluster", StringType(), "observed cluster"),
            column("broker_id", IntegerType(), "broker that logged the change"),
            *STAMP,
            column("role", StringType(), "new role of the broker: leader or follower"),
            column("topic_name", StringType(), "topic name"),
            column("topic_id", StringType(), "topic id, base64; NULL for followers, whose lines have no id"),
            column("partition_index", IntegerType(), "partition index"),
            column("leader_id", IntegerType(), "new leader"),
            column("leader_epoch", IntegerType(), "new leader epoch"),
            column("partition_epoch", IntegerType(), "partition epoch"),
            column("first_offset", LongType(), "log end offset of the broker at the change"),
            column("previous_leader_id", IntegerType(), "previous leader; NULL if there was none"),
            column("previous_leader_epoch", IntegerType(), "previous leader epoch; -1 if there was none"),
            *ORIGIN[1:],
        ]
    ),
)
