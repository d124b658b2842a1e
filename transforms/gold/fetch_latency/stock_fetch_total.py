"""Kafka's own metric of replica fetches, as existing dashboards show it: FetchFollower TotalTimeMs."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from schemas.gold.stock_fetch_total import STOCK_FETCH_TOTAL
from transforms.gold.metrics.scrape_columns import scraped_at, unpacked
from transforms.histogram import finite

STATISTICS = {"mean_ms": "Mean", "p50_ms": "50thPercentile", "p99_ms": "99thPercentile", "count": "Count"}


def stock_fetch_total(metrics: DataFrame) -> DataFrame:
    """Return one row per whole scrape that has FetchFollower's TotalTimeMs."""
    return samples(metrics).filter("has_metric").select(*STOCK_FETCH_TOTAL.schema.names)


def samples(metrics: DataFrame) -> DataFrame:
    """
    Return one row per scrape: the metric's statistics, `is_readable` and `has_metric`.

    A scrape that is not valid gzip or not whole is not readable. Each row depends on one scrape only, so a
    stream may call this; a re-sent scrape gives an equal row.
    """
    text = F.decode(unpacked(F.col("value"), F.col("content_encoding")), "UTF-8")
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
    Return one statistic of FetchFollower's TotalTimeMs from a scrape, with its labels in any order.

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
