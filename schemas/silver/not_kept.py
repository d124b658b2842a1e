"""Lines and records without rows in other silver tables: quarantined, skipped or lost to retention."""

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
    about="Lines that could not be read, with the reason and their bytes. Nothing is thrown away.",
    key=("cluster", "position"),
    partition_by=("quarantined_date",),
    schema=StructType(
        [
            *ORIGIN,
            column("kind", StringType(), "kind of telemetry"),
            column("chunk", StringType(), "part of one oversized value; NULL when whole"),
            column("reason", StringType(), "reason code, as listed in docs/quarantine.md"),
            column("detail", StringType(), "what exactly was found, for people"),
            column("value", BinaryType(), "the bytes as they came"),
            column("content_encoding", StringType(), "gzip, or NULL when the value is plain"),
            column("quarantined_date", DateType(), "UTC date of the bronze row"),
        ]
    ),
)

SKIPPED = Table(
    layer="silver",
    name="skipped",
    about="Lines that are not ours to parse, counted by logger: one row a batch, node, source and logger.",
    key=("batch_id", "kind", "cluster", "node", "source", "logger"),
    partition_by=("ingest_date",),
    schema=StructType(
        [
            column("batch_id", LongType(), "batch of the ingest query"),
            column("kind", StringType(), "kind of telemetry"),
            column("cluster", StringType(), "observed cluster"),
            column("node", StringType(), "node as the edge names it"),
            column("source", StringType(), "file path at the edge"),
            column("logger", StringType(), "logger that wrote the lines; NULL when the line names none"),
            column("reason", StringType(), "other_logger, not_a_request, not_a_figure, not_a_change, blank"),
            column("lines", LongType(), "how many"),
            column("parser_version", IntegerType(), "version of the parser"),
            column("ingest_date", DateType(), "UTC date of the bronze rows: retention goes by it"),
        ]
    ),
)

GAPS = Table(
    layer="silver",
    name="gaps",
    about="What a telemetry topic's retention took before it was read, accepted by `--accept-gap`.",
    key=("writer", "batch_id", "topic", "partition"),
    schema=StructType(
        [
            column("topic", StringType(), "telemetry topic"),
            column("partition", IntegerType(), "telemetry partition"),
            column("first_offset", LongType(), "first offset that was lost"),
            column("end_offset", LongType(), "first offset after the lost ones"),
            column(
                "lines", LongType(), "offsets lost: lines, and the markers of transactions if there were any"
            ),
            column("found_at", TimestampType(), "when the ingest found them gone"),
            column("reason", StringType(), "retention"),
            column("writer", StringType(), "query and id of its checkpoint, as in the Delta log"),
            column(
                "batch_id", LongType(), "batch of the query that stands for the gap; bronze has no row of it"
            ),
        ]
    ),
)
