"""Columns that silver tables share."""

from pyspark.sql.types import DateType, DoubleType, LongType, TimestampType

from schemas.fields import column

STAMP = [
    column("logged_at", TimestampType(), "timestamp of the line, UTC, microseconds"),
    column(
        "logged_mono_ns",
        LongType(),
        "monotonic clock of the node in ns (log4j %N); NULL if the layout has none",
    ),
    column("clock_resolution_ms", DoubleType(), "resolution of `logged_at` as written: 1.0, 0.001 or less"),
    column("logged_date", DateType(), "UTC date of `logged_at`"),
]
