"""`gold.data_quality`: counts of lines read, kept, quarantined and skipped."""

from pyspark.sql.types import BooleanType, LongType, StringType, StructType, TimestampType

from schemas.fields import Table, column

DATA_QUALITY = Table(
    layer="gold",
    name="data_quality",
    about="Counts of lines per kind, node and source file: lines_read = kept + quarantined + skipped + "
    "duplicates. Each count is independent.",
    lacks={
        "build": "it counts the lines of all time, not of windows",
        "question": "it is about the pipeline; docs/quality.md explains it",
    },
    key=("cluster", "kind", "node", "source"),
    schema=StructType(
        [
            column("cluster", StringType(), "observed cluster"),
            column("kind", StringType(), "kind of telemetry"),
            column("node", StringType(), "node name set by the collector"),
            column("source", StringType(), "file path or URL on the node"),
            column("lines_read", LongType(), "rows of bronze"),
            column("kept", LongType(), "lines with rows in silver, by distinct position"),
            column("quarantined", LongType(), "lines in quarantine; re-sent lines count once"),
            column("skipped", LongType(), "lines without a parser"),
            column("duplicates", LongType(), "re-sent lines: same node, file and position"),
            column("first_logged_at", TimestampType(), "earliest timestamp of a kept line"),
            column(
                "last_logged_at",
                TimestampType(),
                "latest timestamp of a kept line, which shows how recent the node's data is",
            ),
            column("is_balanced", BooleanType(), "the other four counts add up to lines_read"),
        ]
    ),
)
