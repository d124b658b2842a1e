"""Lines and records without rows in other silver tables: quarantined, skipped, or lost in Kafka."""

from enum import StrEnum

from pyspark.sql.types import (
    BinaryType,
    DateType,
    IntegerType,
    LongType,
    StringType,
    StructType,
    TimestampType,
)

from schemas.fields import ORIGIN, Table, column

QUARANTINE = Table(
    layer="silver",
    name="quarantine",
    about="Lines that could not be parsed, with the reason and their bytes. No line is discarded.",
    key=("cluster", "position"),
    partition_by=("quarantined_date",),
    schema=StructType(
        [
            *ORIGIN,
            column("kind", StringType(), "kind of telemetry"),
            column(
                "chunk", StringType(), "number of this part of an oversized value; NULL for a whole value"
            ),
            column("reason", StringType(), "reason code, as listed in docs/quarantine.md"),
            column("detail", StringType(), "details of the error, for display; NULL with pseudonyms"),
            column("value", BinaryType(), "bytes as received; NULL with pseudonyms: bronze has them"),
            column("content_encoding", StringType(), "gzip, or NULL when the value is plain"),
            column("quarantined_date", DateType(), "UTC date of the bronze row"),
        ]
    ),
)

SKIPPED = Table(
    layer="silver",
    name="skipped",
    about="Counts of lines without a parser: one row per batch, node, source and logger.",
    key=("batch_id", "kind", "cluster", "node", "source", "logger"),
    partition_by=("ingest_date",),
    schema=StructType(
        [
            column("batch_id", LongType(), "batch of the ingest query"),
            column("kind", StringType(), "kind of telemetry"),
            column("cluster", StringType(), "observed cluster"),
            column("node", StringType(), "node name set by the collector"),
            column("source", StringType(), "file path on the node"),
            column("logger", StringType(), "logger of the lines; NULL if the lines have none"),
            column("reason", StringType(), "other_logger, not_a_request, not_a_figure, not_a_change, blank"),
            column("lines", LongType(), "number of lines"),
            column("parser_version", IntegerType(), "version of the parser"),
            column("ingest_date", DateType(), "UTC date of the bronze rows; retention uses it"),
        ]
    ),
)


class Loss(StrEnum):
    """Why Kafka no longer has records that ingest has not read."""

    RETENTION = "retention"  # by time, by size, or DeleteRecords
    COMPACTION = "compaction"  # or the offset is a marker of a transaction
    UNCLEAN_ELECTION = "unclean_leader_election"  # or the broker lost its log: the topic has the same id
    RECREATION = "topic_recreation"  # the topic was deleted, and created again with the same name


GAPS = Table(
    layer="silver",
    name="gaps",
    about="Records that Kafka lost before ingest read them: accepted with `--accept-gap`, or noticed.",
    key=("writer", "batch_id", "topic", "partition", "first_offset"),
    schema=StructType(
        [
            column("topic", StringType(), "telemetry topic"),
            column("partition", IntegerType(), "telemetry partition"),
            column("first_offset", LongType(), "first lost offset"),
            column(
                "end_offset",
                LongType(),
                "first offset after the lost ones; NULL if their number is unknown: the log that had them is "
                "gone",
            ),
            column("lines", LongType(), "lost offsets: lines, and transaction markers if there were any"),
            column("found_at", TimestampType(), "when ingest detected the gap"),
            column(
                "reason", StringType(), "retention, compaction, unclean_leader_election or topic_recreation"
            ),
            column("writer", StringType(), "query and checkpoint id, as in the Delta log"),
            column(
                "batch_id",
                LongType(),
                "batch of the query that covers the gap; bronze has no row of these offsets. NULL if ingest "
                "could not continue",
            ),
        ]
    ),
)
