"""`silver.topics`: names of topic ids."""

from pyspark.sql.types import BooleanType, IntegerType, StringType, StructType, TimestampType

from schemas.fields import Table, column

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
