"""`silver.topics`: the names of topic ids."""

from pyspark.sql.types import BooleanType, IntegerType, StringType, StructType, TimestampType

from schemas.fields import Table, column

TOPICS = Table(
    layer="silver",
    name="topics",
    about="Topic ids and names from METADATA and CREATE_TOPICS responses; joined on read. A new name is used "
    "in the gold windows from 5 minutes before its response to an hour after it, even if they were built "
    "before. Older windows have the id until `build-gold --since` builds them again.",
    key=("cluster", "topic_id", "topic_name", "position"),
    schema=StructType(
        [
            column("cluster", StringType(), "observed cluster"),
            column("topic_id", StringType(), "topic id, base64, as Kafka writes it"),
            column("topic_name", StringType(), "topic name"),
            column("is_internal", BooleanType(), "internal topic; NULL if the response does not say"),
            column("seen_at", TimestampType(), "logged_at of the response"),
            column("position", StringType(), "position of the line in its source"),
            column("parser_version", IntegerType(), "version of the parser that wrote the row"),
        ]
    ),
)
