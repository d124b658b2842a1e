"""`gold.data_quality`: counts of lines read, kept, quarantined and skipped."""

from pyspark.sql.types import BooleanType, LongType, StringType, StructType, TimestampType

from schemas.fields import Table, column

DATA_QUALITY = Table(
    layer="gold",
    name="data_quality",
    about="Every line accounted for: lines_read = kept + quarantined + skipped + duplicates, each counted "
    "by itself, per kind, node and source file.",
    key=("cluster", "kind", "node", "source"),
    schema=StructType(
        [
            column("cluster", StringType(), "observed cluster"),
            column("kind", StringType(), "kind of telemetry"),
            column("node", StringType(), "node as the edge names it"),
            column("source", StringType(), "file path or URL at the edge"),
            column("lines_read", LongType(), "rows of bronze"),
            column("kept", LongType(), "distinct positions in silver"),
            column("quarantined", LongType(), "rows of quarantine, re-sent ones counted once"),
            column("skipped", LongType(), "lines of other loggers"),
            column("duplicates", LongType(), "lines sent again: same node, file and position"),
            column("first_logged_at", TimestampType(), "earliest instant of a kept line"),
            column("last_logged_at", TimestampType(), "latest instant of a kept line: how fresh the node is"),
            column("is_balanced", BooleanType(), "the four counts add up to lines_read"),
        ]
    ),
)
