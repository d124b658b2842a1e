"""Columns that gold tables share."""

from pyspark.sql.types import BooleanType, IntegerType, StringType, TimestampType

from schemas.fields import column

WINDOW = [
    column("cluster", StringType(), "observed cluster"),
    column("window_start", TimestampType(), "start of the 10 s window, UTC; the end is 10 s later"),
]

SETTLED = [
    column("nodes_expected", IntegerType(), "brokers whose request log was seen around the window"),
    column("nodes_reporting", IntegerType(), "brokers whose request log has a line in the window"),
    column("is_settled", BooleanType(), "every expected broker has been read past the window's end"),
]

RUN = [
    column("client_id", StringType(), "client.id, a user's text"),
    column("software_version", StringType(), "client software version; NULL when unknown"),
    column("run", StringType(), "performance test that the client ran; NULL without"),
    column("arm", StringType(), "what that run tried; NULL without"),
]
