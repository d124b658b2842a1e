"""`silver.leadership_changes`: lines of state-change logs."""

from pyspark.sql.types import IntegerType, LongType, StringType, StructType

from schemas.fields import ORIGIN, Table, column
from schemas.silver.columns import STAMP

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
