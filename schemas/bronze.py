"""Schemas of the bronze tables: every record as received, with its origin. All tables share one schema."""

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DateType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from schemas.fields import Table, column

HEADERS = ArrayType(
    StructType([StructField("key", StringType()), StructField("value", BinaryType())]), containsNull=False
)

RAW = StructType(
    [
        column(
            "value",
            BinaryType(),
            "the line, scrape or document as received; compressed values stay compressed",
        ),
        column("key", BinaryType(), "Kafka record key; NULL when read from a file"),
        column(
            "headers",
            HEADERS,
            "Kafka record headers; NULL if every header has its own column, or when read from a file",
        ),
        column("topic", StringType(), "telemetry topic; NULL when read from a file"),
        column("partition", IntegerType(), "telemetry partition; NULL when read from a file"),
        column("offset", LongType(), "offset in the telemetry partition; NULL when read from a file"),
        column("timestamp", TimestampType(), "Kafka record timestamp; NULL when read from a file"),
        column("timestamp_type", IntegerType(), "0 = CreateTime, 1 = LogAppendTime"),
        column("cluster", StringType(), "observed cluster, from the record's headers"),
        column("node", StringType(), "node name set by the collector: broker-1"),
        column("kind", StringType(), "request-log, client-log, state-change, metrics, perf-test or cluster"),
        column("time_zone", StringType(), "IANA zone of the node, for log layouts with local time"),
        column("source", StringType(), "file path or URL on the node, for display"),
        column(
            "position", StringType(), "NODE/FINGERPRINT/OFFSET or NODE/scrape/EPOCH_NS; equal when re-sent"
        ),
        column(
            "chunk", StringType(), "number of this part of an oversized value, '2/3'; NULL for a whole value"
        ),
        column("content_encoding", StringType(), "gzip, or NULL when the value is plain"),
        column("ingested_at", TimestampType(), "time of the ingest batch"),
        column("ingest_date", DateType(), "UTC date of the Kafka timestamp; retention uses it"),
        column(
            "cluster_id",
            StringType(),
            "Kafka's id of the cluster; NULL if the edge does not know it",
        ),
    ]
)


def _bronze(name: str, about: str) -> Table:
    return Table(
        layer="bronze",
        name=name,
        about=about,
        schema=RAW,
        key=("topic", "partition", "offset"),
        partition_by=("ingest_date",),
    )


REQUEST_LOG = _bronze("request_log", "Lines of the brokers' request logs.")
CLIENT_LOG = _bronze("client_log", "Lines of NetworkClient logs: replica fetchers and clients.")
STATE_CHANGE = _bronze("state_change", "Lines of the brokers' state-change logs.")
METRICS = _bronze("metrics", "Whole scrapes of JMX exporters.")

PERF_TEST = _bronze(
    "perf_test", "Lines of producer performance tests, each with the instant at which it was read."
)

CLUSTER = _bronze("cluster", "JSON documents from polls of the observed cluster, with its throttle settings.")

BRONZE = (REQUEST_LOG, CLIENT_LOG, STATE_CHANGE, METRICS, PERF_TEST, CLUSTER)
