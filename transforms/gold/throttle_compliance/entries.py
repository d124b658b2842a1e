"""The partitions of request lines in Spark, for the tables of throttles and moves, which are not yet SQL."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def produced(requests: DataFrame, topics: DataFrame) -> DataFrame:
    """Return one row per partition of each PRODUCE, without duplicates and Plumbline's own traffic."""
    is_own = F.col("is_own_traffic").eqNullSafe(F.lit(True))
    sent = requests.filter((F.col("api") == "PRODUCE") & ~is_own & F.col("logged_at").isNotNull())
    return exploded(sent, topics).filter(F.col("bytes") > 0)


def exploded(requests: DataFrame, topics: DataFrame) -> DataFrame:
    """Return one row per partition of each request, with the topic's name and without duplicates."""
    return request_partitions(requests).transform(named_once, topics)


def request_partitions(requests: DataFrame) -> DataFrame:
    """Return one row per partition of each request line, with duplicates and without topic names for ids."""
    of_client = ("api", "client_id", "connection", "correlation_id")
    columns = ("cluster", "position", "logged_at", "started_at", *of_client)
    return requests.select(
        *columns,
        F.col("broker_id").alias("leader_id"),
        "software_version",
        "total_ms",
        "remote_ms",
        F.explode("partitions").alias("entry"),
    ).select(*columns, "leader_id", "software_version", "total_ms", "remote_ms", "entry.*")


def named_once(rows: DataFrame, topics: DataFrame) -> DataFrame:
    """Remove duplicates from rows of `request_partitions` and add the topic's name."""
    once = rows.dropDuplicates(["cluster", "position", "topic_id", "topic_name", "partition"])
    return once.transform(with_topic, topics)


def with_topic(rows: DataFrame, topics: DataFrame) -> DataFrame:
    """Add `topic`: the name in the row, else the newest name in `topics`, else the id."""
    names = topics.groupBy("cluster", "topic_id").agg(F.max_by("topic_name", "seen_at").alias("known_name"))
    joined = rows.join(F.broadcast(names), on=["cluster", "topic_id"], how="left")
    return joined.withColumn("topic", F.coalesce("topic_name", "known_name", "topic_id")).drop("known_name")
