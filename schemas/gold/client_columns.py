"""Columns that the gold tables about clients share."""

from pyspark.sql.types import (
    StringType,
    TimestampType,
)

from schemas.fields import column

WINDOW = [
    column("cluster", StringType(), "observed cluster"),
    column("window_start", TimestampType(), "start of the 10 s window, UTC; the end is 10 s later"),
]

RUN = [
    column("client_id", StringType(), "client.id, a user's text"),
    column("software_version", StringType(), "client software version; NULL when unknown"),
    column("run", StringType(), "performance test that the client ran; NULL without"),
    column("arm", StringType(), "what that run tried; NULL without"),
]
