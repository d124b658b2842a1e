"""Columns that gold tables share."""

from pyspark.sql.types import BooleanType, IntegerType, StringType, TimestampType

from schemas.fields import column

WINDOW = [
    column("cluster", StringType(), "observed cluster"),
    column("window_start", TimestampType(), "start of the 10 s window, UTC"),
]

SETTLED = [
    column("nodes_expected", IntegerType(), "brokers with request-log lines around the window"),
    column("nodes_reporting", IntegerType(), "brokers with request-log lines in the window"),
    column(
        "is_settled", BooleanType(), "the logs of all expected brokers have been read past the window's end"
    ),
]

RUN = [
    column(
        "client_id",
        StringType(),
        "client.id, which users choose; `others`: but for the 1,000 busiest",
    ),
    column("software_version", StringType(), "client software version; NULL if unknown"),
    column("run", StringType(), "performance test of the client; NULL if there is none"),
    column("arm", StringType(), "variant that the run tests; NULL if there is none"),
]
