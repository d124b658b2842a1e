"""Partition skew without a request log: the bytes of each node from a client's own metrics."""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from schemas.gold.partition_skew import PARTITION_SKEW_SPAN
from transforms.gold.partition_skew.ratios import ratio
from transforms.gold.runs.perf_runs import run_settings

METHOD = "client_metrics"
UNKNOWN = "?"
"""The topic of a run whose topic is unknown."""

NODE = r"^node-(\d+)$"
"""`node--1` and lower ids are bootstrap connections, which carry no records."""


def partition_skew_metrics(metrics: DataFrame, runs: DataFrame) -> DataFrame:
    """
    Return the bytes by node from `producer-node-metrics:outgoing-byte-total`, which include all requests.

    `leader_id` is the node. `partition` is NULL, because client metrics have no partitions.
    """
    node = F.regexp_extract(F.col("tags")["node-id"], NODE, 1).try_cast("int")
    is_bytes = (F.col("metric_group") == "producer-node-metrics") & (F.col("metric") == "outgoing-byte-total")
    sent = (
        metrics.filter(is_bytes & F.col("value").isNotNull())
        .dropDuplicates(["cluster", "position"])
        .withColumn("leader_id", node)
        .filter(F.col("leader_id").isNotNull())
        .groupBy(
            "cluster",
            "run",
            "arm",
            "client_version",
            F.col("tags")["client-id"].alias("client_id"),
            "leader_id",
        )
        .agg(F.max("value").cast("bigint").alias("bytes"), F.max("logged_at").alias("until"))
    )
    topics = run_settings(runs).select(
        F.col("cluster").alias("of_cluster"),
        F.col("run").alias("of_run"),
        F.col("arm").alias("of_arm"),
        F.coalesce("topic_name", F.lit(UNKNOWN)).alias("topic"),
    )
    is_same = [F.col(name).eqNullSafe(F.col(f"of_{name}")) for name in ("cluster", "run", "arm")]
    of_all = F.sum("bytes").over(Window.partitionBy("cluster", "run", "arm", "client_id"))
    known = {
        "method": F.lit(METHOD),
        "software_version": F.col("client_version"),
        "topic": F.coalesce("topic", F.lit(UNKNOWN)),
        "share": ratio(F.col("bytes"), of_all),
    }
    rows = sent.join(topics, on=is_same, how="left").withColumns(known)
    return rows.select(
        *(
            (F.col(field.name) if field.name in rows.columns else F.lit(None))
            .cast(field.dataType)
            .alias(field.name)
            for field in PARTITION_SKEW_SPAN.schema.fields
        )
    )
