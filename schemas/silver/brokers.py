"""`silver.brokers`: the rack of each broker."""

from pyspark.sql.types import DateType, IntegerType, StringType, StructType, TimestampType

from schemas.fields import Table, column

BROKERS = Table(
    layer="silver",
    name="brokers",
    about="Racks of brokers, from METADATA responses and polls. One row per broker, rack and UTC date, the "
    "first one that was read: a rack that changes back on the same date has no second row.",
    key=("cluster", "broker_id", "position"),
    partition_by=("logged_date",),
    schema=StructType(
        [
            column("cluster", StringType(), "observed cluster"),
            column("broker_id", IntegerType(), "broker"),
            column("rack", StringType(), "`broker.rack`, which users choose; NULL if the broker has none"),
            column("reported_by", StringType(), "source of the row: request_log or poll"),
            column("logged_at", TimestampType(), "instant of the response or the poll, UTC"),
            column("logged_date", DateType(), "UTC date of `logged_at`"),
            column("position", StringType(), "position of the line or the poll in its source"),
            column("parser_version", IntegerType(), "version of the parser that wrote the row"),
        ]
    ),
)
