"""What stock Kafka's own metric says of replica fetches: the number on today's dashboards."""

import gzip
import zlib

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType

from schemas.gold import STOCK_FETCH_TOTAL
from transforms.histogram import finite

STATISTICS = {"mean_ms": "Mean", "p50_ms": "50thPercentile", "p99_ms": "99thPercentile", "count": "Count"}


def stock_fetch_total(metrics: DataFrame) -> DataFrame:
    """Read FetchFollower's TotalTimeMs from whole scrapes; a scrape without it gives no row."""
    return samples(metrics).filter("has_metric").select(*STOCK_FETCH_TOTAL.schema.names)


def samples(metrics: DataFrame) -> DataFrame:
    """
    Return one row a scrape: what the metric said, `is_readable`, and whether it held the metric at all.

    A gzip scrape that does not unpack and a part of a scrape that is not whole are not readable. Needs no
    other row, so a stream may call it; a re-sent scrape gives an equal row.
    """
    text = F.decode(plain(F.col("value"), F.col("content_encoding")), "UTF-8")
    return (
        metrics.withColumn("text", F.when(F.col("chunk").isNull(), text))
        .withColumn("leader_id", F.regexp_extract("node", r"(\d+)$", 1).try_cast("int"))
        .withColumn("scraped_at", F.coalesce(scraped_at(F.col("position")), F.col("timestamp")))
        .withColumns({name: statistic(F.col("text"), word) for name, word in STATISTICS.items()})
        .withColumn("count", F.col("count").cast("bigint"))
        .withColumn("is_readable", F.col("text").isNotNull())
        .withColumn("has_metric", F.col("is_readable") & F.coalesce(*STATISTICS).isNotNull())
        .select(*STOCK_FETCH_TOTAL.schema.names, "is_readable", "has_metric")
    )


def statistic(text: Column, word: str) -> Column:
    """
    Return one statistic of FetchFollower's TotalTimeMs from a scrape, whatever the order of its labels.

    >>> scrapes = spark.createDataFrame([
    ...     ('kafka_network_RequestMetrics_Mean{name="TotalTimeMs",request="FetchFollower"} 501.5',),
    ...     ('kafka_network_RequestMetrics_Mean{request="FetchFollower",name="TotalTimeMs",} 5.0E2',),
    ...     ('kafka_network_RequestMetrics_Mean{name="TotalTimeMs",request="Fetch"} 1.0',),
    ...     ('kafka_network_RequestMetrics_Mean{name="TotalTimeMs",request="FetchFollower"} NaN',),
    ...     (None,)], "text string")
    >>> scrapes.select(statistic(F.col("text"), "Mean").alias("mean_ms")).show()
    +-------+
    |mean_ms|
    +-------+
    |  501.5|
    |  500.0|
    |   NULL|
    |   NULL|
    |   NULL|
    +-------+
    <BLANKLINE>
    """
    labels = r'(?=[^}]*\bname="TotalTimeMs")(?=[^}]*\brequest="FetchFollower")[^}]*'
    pattern = rf"(?m)^kafka_network_RequestMetrics_{word}\{{{labels}\}}\s+(\S+)"
    return finite(F.regexp_extract(text, pattern, 1).try_cast("double"))


def scraped_at(position: Column) -> Column:
    """
    Return the instant of a scrape from its position, `NODE/scrape/EPOCH_NS`; NULL for any other position.

    >>> rows = spark.createDataFrame(
    ...     [("broker-1/scrape/1795252768987716710",), ("broker-1/ab/12",), (None,)], "p string")
    >>> rows.select(scraped_at(F.col("p")).alias("scraped_at")).show(truncate=False)
    +--------------------------+
    |scraped_at                |
    +--------------------------+
    |2026-11-21 09:19:28.987716|
    |NULL                      |
    |NULL                      |
    +--------------------------+
    <BLANKLINE>
    """
    nanoseconds = F.regexp_extract(position, r"/scrape/(\d+)$", 1).try_cast("bigint")
    return F.timestamp_micros(F.floor(nanoseconds / F.lit(1_000)).cast("bigint"))


def plain(value: Column, content_encoding: Column) -> Column:
    """
    Return the bytes of a scrape unpacked; NULL when they say they are gzip and are not.

    >>> import gzip
    >>> rows = spark.createDataFrame(
    ...     [(b"up 1", None), (gzip.compress(b"up 1"), "gzip"), (b"up 1", "gzip"), (None, "gzip")],
    ...     "value binary, content_encoding string")
    >>> rows.select(plain(F.col("value"), F.col("content_encoding")).cast("string").alias("text")).show()
    +----+
    |text|
    +----+
    |up 1|
    |up 1|
    |NULL|
    |NULL|
    +----+
    <BLANKLINE>
    """
    # A pickled UDF: Spark has no gunzip, Arrow would need pandas, and a scrape is one row in ten seconds.
    unpack = F.udf(_unpacked, BinaryType())
    is_gzip = F.coalesce(content_encoding, F.lit("")) == "gzip"
    return F.when(is_gzip, unpack(F.when(is_gzip, value))).otherwise(value)


def _unpacked(value: bytes | None) -> bytes | None:
    if value is None:
        return None
    try:
        return gzip.decompress(value)
    except (OSError, EOFError, zlib.error):
        return None
