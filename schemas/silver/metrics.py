"""Silver of metrics: what a scrape holds, labels stored once a series."""

from pyspark.sql.types import (
    DateType,
    DoubleType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructType,
    TimestampType,
)

from schemas.fields import ORIGIN, Table, column

METRIC_SCRAPES = Table(
    layer="silver",
    name="metric_scrapes",
    about="One row per scrape that was read: a series that a later scrape of its node lacks has ended.",
    key=("cluster", "position"),
    schema=StructType(
        [
            column("cluster", StringType(), "observed cluster"),
            column("broker_id", IntegerType(), "the number its node ends in; NULL for what is no broker"),
            column("logged_at", TimestampType(), "instant the scrape was asked for, UTC"),
            column("logged_date", DateType(), "UTC date of `logged_at`"),
            column("format", StringType(), "text (0.0.4) or openmetrics (1.0.0)"),
            column("bytes", LongType(), "size of the page, unpacked"),
            column("lines", LongType(), "lines of the page: samples + comments + rejected"),
            column("samples", LongType(), "lines that became samples"),
            column("comments", LongType(), "comments and blank lines"),
            column("rejected", LongType(), "lines that are in quarantine, each by itself"),
            *ORIGIN[1:],
        ]
    ),
    partition_by=("logged_date",),
)

METRIC_SERIES = Table(
    layer="silver",
    name="metric_series",
    about="One row per time series: its name and labels, stored once. A few may be there twice.",
    key=("cluster", "series_id"),
    schema=StructType(
        [
            column("cluster", StringType(), "observed cluster"),
            column("series_id", LongType(), "xxhash64 of cluster, node, name and the labels in order"),
            column("name", StringType(), "metric name, as it was exposed"),
            column("labels", MapType(StringType(), StringType()), "labels, unescaped"),
            column("node", StringType(), "node as the edge names it: broker-1"),
            column("broker_id", IntegerType(), "the number its node ends in; NULL for what is no broker"),
            column("type", StringType(), "counter, gauge...: of the page's TYPE line; NULL without"),
            column("first_at", TimestampType(), "its first sample that was read in the batch of this row"),
            column("parser_version", IntegerType(), "version of the parser that made the row"),
        ]
    ),
)

METRIC_SAMPLES = Table(
    layer="silver",
    name="metric_samples",
    about="One row per sample: a value of a series at an instant, bit for bit as it was exposed.",
    key=("series_id", "at"),
    schema=StructType(
        [
            column("cluster", StringType(), "observed cluster"),
            column("series_id", LongType(), "row of `metric_series`"),
            column("at", TimestampType(), "instant of the sample: its own, or the scrape's, UTC"),
            column("value", DoubleType(), "the value; NaN and infinities are kept as what they are"),
            column("sampled_date", DateType(), "UTC date of `at`"),
        ]
    ),
    partition_by=("sampled_date",),
    sort_by=("series_id", "at"),
)

METRICS = (METRIC_SCRAPES, METRIC_SERIES, METRIC_SAMPLES)
