"""The meaning of metric series, independent of the names that exporter rules give them."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from transforms.frames import frame_of
from transforms.gold.metrics.names import KNOWN, known_names, metric_names

FACTS = (
    "cluster",
    "node",
    "broker_id",
    "series_id",
    "dialect",
    "meaning",
    "statistic",
    "time",
    "request",
    "direction",
    "topic",
    "partition",
)
"""The columns of `facts`. Columns that do not apply to a meaning are NULL."""

OTHERS = "kafka_example"
"""The dialect of a name that several rule files share, if no name identifies the node's dialect."""


def facts(series: DataFrame) -> DataFrame:
    """
    Return the series of `metric_series` with a known meaning, one row each.

    `series` must have all series of a node, because all its names together determine its dialect.
    `broker_id` is that of the node, or that of a label if one page exposes all brokers.
    """
    known = frame_of(series.sparkSession, known_names(), KNOWN)
    labels = F.col("labels")
    bean = F.lower(F.coalesce(labels["name"], F.lit("")))
    quantile = F.coalesce(labels["quantile"], F.lit(""))
    fits = [
        plain_name(F.col("name")) == F.col("known_name"),
        F.col("bean").isNull() | (F.col("bean") == bean),
        F.col("quantile").isNull() | (F.col("quantile") == quantile),
    ]
    of_label = F.when(F.col("broker_label").isNotNull(), labels[F.col("broker_label")].try_cast("int"))
    return (
        series.transform(with_node_dialect)
        .join(F.broadcast(known), on=fits, how="inner")
        .withColumn("partition", F.when(F.col("per_partition"), replica_of(labels)))
        .withColumn("request", F.coalesce("known_request", labels["request"]))
        .filter(~F.col("per_partition") | F.col("partition").isNotNull())
        .filter((F.col("meaning") != "request_time_ms") | F.col("request").isNotNull())
        .withColumn("topic", labels["topic"])
        .withColumn("broker_id", F.coalesce(of_label, F.col("broker_id")))
        .withColumn("dialect", _dialect())
        .dropDuplicates(["cluster", "series_id"])
        .select(*FACTS)
    )


def plain_name(name: Column) -> Column:
    """
    Return a metric name as in `conf/metric_names.toml`: lower case, without scraper prefix and `_total`.

    >>> names = spark.createDataFrame(
    ...     [("kafka_network_RequestMetrics_Count",), ("aws_msk_kafka_log_Log_Value",),
    ...      ("kafka_server_brokertopicmetrics_bytesin_total",), ("_total",), (None,)], "name string")
    >>> names.select(plain_name(F.col("name")).alias("plain_name")).show(truncate=False)
    +---------------------------------------+
    |plain_name                             |
    +---------------------------------------+
    |kafka_network_requestmetrics_count     |
    |kafka_log_log_value                    |
    |kafka_server_brokertopicmetrics_bytesin|
    |                                       |
    |NULL                                   |
    +---------------------------------------+
    <BLANKLINE>
    """
    prefixes = "|".join(one["prefix"] for one in metric_names()["dialects"] if "prefix" in one)
    return F.regexp_replace(F.lower(name), f"^({prefixes})|_total$", "")


def replica_of(labels: Column) -> Column:
    """
    Return the partition of the replica in the labels; NULL for a future replica of another log directory.

    >>> series = spark.sql('''SELECT * FROM VALUES
    ...     (map('topic', 't', 'partition', '3')), (map('topic', 't')),
    ...     (map('topic', 't', 'partition', '3', 'is_future', 'true')),
    ...     (map('topic', 't', 'partition', '3, is-future=true')), (NULL) AS t(labels)''')
    >>> series.select(replica_of(F.col("labels")).alias("partition")).show()
    +---------+
    |partition|
    +---------+
    |        3|
    |     NULL|
    |     NULL|
    |     NULL|
    |     NULL|
    +---------+
    <BLANKLINE>
    """
    is_future = F.coalesce(labels["is_future"], labels["is-future"], F.lit("false")) == "true"
    return F.when(~is_future & labels["topic"].isNotNull(), labels["partition"].try_cast("int"))


def with_node_dialect(series: DataFrame) -> DataFrame:
    """Add `node_dialect`: the rules that the node's exporter uses; NULL if no name identifies them."""
    node = Window.partitionBy("cluster", "node")
    name, dialects = F.lower("name"), metric_names()["dialects"]
    # The first matching dialect of the file applies.
    places = [F.when(_plain(name).rlike(one["mark"]), F.lit(at)) for at, one in enumerate(dialects)]
    place = F.min(F.coalesce(*places)).over(node)
    named = F.array(*(F.lit(one["name"]) for one in dialects))
    return series.withColumn("node_dialect", F.get(named, place))


def _dialect() -> Column:
    """Return the dialect. Amazon MSK differs only by the prefix of its scraper."""
    of_node = F.col("node_dialect")
    return F.when(of_node == "msk", of_node).otherwise(F.coalesce("known_dialect", of_node, F.lit(OTHERS)))


def _plain(name: Column) -> Column:
    return F.regexp_replace(name, "_total$", "")
