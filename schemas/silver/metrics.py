"""Silver tables of metrics: scrapes, series and samples. Labels are stored once per series."""

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
    about="One row per scrape. A series that is missing from a later scrape of its node has ended.",
    key=("cluster", "position"),
    schema=StructType(
        [
            column("cluster", StringType(), "observed cluster"),
            column(
                "broker_id",
                IntegerType(),
                "number at the end of the node's name; NULL if the node is not a broker",
            ),
            column("logged_at", TimestampType(), "instant at which the scrape was requested, UTC"),
            column("logged_date", DateType(), "UTC date of `logged_at`"),
            column("format", StringType(), "text (0.0.4) or openmetrics (1.0.0)"),
            column("bytes", LongType(), "uncompressed size of the page"),
            column("lines", LongType(), "lines of the page: samples + comments + rejected"),
            column("samples", LongType(), "lines that became samples"),
            column("comments", LongType(), "comments and blank lines"),
            column("rejected", LongType(), "lines in quarantine, one row each"),
            *ORIGIN[1:],
        ]
    ),
    partition_by=("logged_date",),
)

METRIC_SERIES = Table(
    layer="silver",
    name="metric_series",
    about="One row per time series: its name and labels. A series can occasionally have two rows.",
    key=("cluster", "series_id"),
    schema=StructType(
        [
            column("cluster", StringType(), "observed cluster"),
            column("series_id", LongType(), "xxhash64 of cluster, node, name and the labels in order"),
            column("name", StringType(), "metric name as exposed"),
            column("labels", MapType(StringType(), StringType()), "labels, unescaped"),
            column("node", StringType(), "node name set by the collector: broker-1"),
            column(
                "broker_id",
                IntegerType(),
                "number at the end of the node's name; NULL if the node is not a broker",
            ),
            column(
                "type", StringType(), "type in the page's TYPE line: counter, gauge; NULL if there is none"
            ),
            column("first_at", TimestampType(), "its first sample in the batch that wrote this row"),
            column("parser_version", IntegerType(), "version of the parser that wrote the row"),
        ]
    ),
)

METRIC_SAMPLES = Table(
    layer="silver",
    name="metric_samples",
    about="One row per sample: the value of a series at an instant, exactly as exposed.",
    key=("series_id", "at"),
    schema=StructType(
        [
            column("cluster", StringType(), "observed cluster"),
            column("series_id", LongType(), "row of `metric_series`"),
            column("at", TimestampType(), "the sample's own timestamp, or else the scrape's, UTC"),
            column("value", DoubleType(), "value, including NaN and infinities"),
            column("sampled_date", DateType(), "UTC date of `at`"),
        ]
    ),
    partition_by=("sampled_date",),
    sort_by=("series_id", "at"),
)

METRICS = (METRIC_SCRAPES, METRIC_SERIES, METRIC_SAMPLES)
