"""Partition skew without a request log, and coarser: what a client's own metrics tell of each node."""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from schemas.gold.partition_skew import PARTITION_SKEW_SPAN
from transforms.gold.partition_skew.table import ratio
from transforms.gold.runs.perf_runs import run_settings

METHOD = "client_metrics"
UNKNOWN = "?"
"""The topic of a run that did not tell it."""

NODE = r"^node-(\d+)$"
"""`node--1` and below are bootstrap connections: no records go there."""


def partition_skew_metrics(metrics: DataFrame, runs: DataFrame) -> DataFrame:
    """
    Give bytes by node out of `producer-node-metrics:outgoing-byte-total`, requests and all.

    `leader_id` is the node, `partition` NULL: the client's metrics do not tell partitions apart.
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
    is_its = [F.col(name).eqNullSafe(F.col(f"of_{name}")) for name in ("cluster", "run", "arm")]
    of_all = F.sum("bytes").over(Window.partitionBy("cluster", "run", "arm", "client_id"))
    known = {
        "method": F.lit(METHOD),
        "software_version": F.col("client_version"),
        "topic": F.coalesce("topic", F.lit(UNKNOWN)),
        "share": ratio(F.col("bytes"), of_all),
    }
    rows = sent.join(topics, on=is_its, how="left").withColumns(known)
    return rows.select(
        *(
            (F.col(field.name) if field.name in rows.columns else F.lit(None))
            .cast(field.dataType)
            .alias(field.name)
            for field in PARTITION_SKEW_SPAN.schema.fields
        )
    )
