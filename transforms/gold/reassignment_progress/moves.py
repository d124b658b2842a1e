"""Moves of replicas (KIP-455): the requested targets, the copies they need, and their ends."""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from transforms.gold.entries import NO_ERROR
from transforms.gold.throttle_compliance.entries import with_topic

CALL_S = 30
"""The maximum time between the lines of a forwarded request at the broker and at the controller."""

BEGINS_WITHIN_S = 60
"""The maximum time to a new replica's first fetch. A target that does not catch up by then needs no copy."""

BEFORE_S = 5
"""Copies may begin this long before the line, which is written after the response."""

NEW_LEADER_ELECTED = 108
"""The controller's error for an accepted ISR change that moves a partition away from its leader."""

ALTER = "ALTER_PARTITION_REASSIGNMENTS"
MOVE = ("cluster", "moved_at")
PARTITION = ("cluster", "topic", "partition")


def calls(reassignments: DataFrame) -> DataFrame:
    """
    Return one row per partition of each accepted reassignment, until it is superseded or cancelled.

    `moved_at`, the instant of the request's first line, identifies the move.
    """
    key = ("cluster", "client_id", "correlation_id", "topic", "partition")
    again = Window.partitionBy(*key, "replicas").orderBy("logged_at", "position")
    since_s = F.unix_seconds("logged_at") - F.unix_seconds(F.lag("logged_at").over(again))
    of_partition = Window.partitionBy(*PARTITION).orderBy("moved_at")
    is_accepted = F.coalesce("error_code", F.lit(NO_ERROR)) == NO_ERROR
    return (
        reassignments.filter((F.col("api") == ALTER) & is_accepted & F.col("logged_at").isNotNull())
        .select(
            "cluster",
            F.col("topic_name").alias("topic"),
            F.col("partition_index").alias("partition"),
            *("logged_at", "position", "replicas", "client_id", "correlation_id", "principal"),
        )
        .withColumn("since_s", since_s)
        .filter(F.coalesce(F.col("since_s") > CALL_S, F.lit(True)))
        .select(*PARTITION, F.col("logged_at").alias("moved_at"), "replicas", "client_id", "principal")
        # The tool repeats the request to change a throttle; the move continues.
        .withColumn("is_again", F.col("replicas").eqNullSafe(F.lag("replicas").over(of_partition)))
        .filter(~F.col("is_again") | F.col("replicas").isNull())
        .drop("is_again")
        .withColumn("superseded_at", F.lead("moved_at").over(of_partition))
        .filter(F.col("replicas").isNotNull())
    )


def copies(called: DataFrame, begun: DataFrame, isr_changes: DataFrame, topics: DataFrame) -> DataFrame:
    """
    Return one row per replica that a move copies, with source, destination and end.

    `begun` are rows of `replicated` from the first `BEGINS_WITHIN_S` of the moves. Targets that catch up in
    this time are new. `first_lag_records` is the initial lag. `ended_at` is when the leader reported the
    replica in the ISR, or when the move was superseded; NULL until then.
    """
    is_taken = F.coalesce("error_code", F.lit(NO_ERROR)).isin(NO_ERROR, NEW_LEADER_ELECTED)
    accepted = is_taken & F.col("logged_at").isNotNull()
    columns = ("cluster", "topic_id", "topic_name", "partition_index", "logged_at", "isr")
    in_sync = with_topic(isr_changes.filter(accepted).select(*columns), topics)
    joined = (
        _begun(called, begun)
        .join(
            in_sync.select(
                F.col("cluster").alias("of_cluster"),
                F.col("topic").alias("of_topic"),
                F.col("partition_index").alias("of_partition"),
                F.col("logged_at").alias("told_at"),
                "isr",
            ),
            on=[
                F.col("cluster") == F.col("of_cluster"),
                F.col("topic") == F.col("of_topic"),
                F.col("partition") == F.col("of_partition"),
                F.col("told_at") > F.col("moved_at"),
                F.array_contains("isr", F.col("destination_id")),
            ],
            how="left",
        )
        .drop("of_cluster", "of_topic", "of_partition", "isr")
    )
    by = [name for name in joined.columns if name != "told_at"]
    first = joined.groupBy(*by).agg(F.min("told_at").alias("in_sync_at"))
    # F.least skips NULL and returns the earlier known instant.
    return first.withColumn("ended_at", F.least("in_sync_at", "superseded_at"))


def _begun(called: DataFrame, begun: DataFrame) -> DataFrame:
    seen = begun.filter("is_catching_up").select(
        F.col("cluster").alias("of_cluster"),
        F.col("topic").alias("of_topic"),
        F.col("partition").alias("of_partition"),
        "follower_id",
        "leader_id",
        "logged_at",
        (F.col("high_watermark") - F.col("offset")).alias("lag_records"),
    )
    earliest = F.col("moved_at") - F.make_dt_interval(secs=F.lit(BEFORE_S))
    latest = F.col("moved_at") + F.make_dt_interval(secs=F.lit(BEGINS_WITHIN_S))
    is_same = [
        F.col("cluster") == F.col("of_cluster"),
        F.col("topic") == F.col("of_topic"),
        F.col("partition") == F.col("of_partition"),
        F.array_contains("replicas", F.col("follower_id")),
        F.col("logged_at").between(earliest, F.least(latest, "superseded_at")),
    ]
    return (
        called.join(seen, on=is_same, how="inner")
        .withColumn("destination_id", F.col("follower_id"))
        .groupBy(*PARTITION, "moved_at", "superseded_at", "destination_id")
        .agg(
            F.min_by("leader_id", "logged_at").alias("source_id"),
            F.min_by("lag_records", "logged_at").alias("first_lag_records"),
            F.max(F.size("replicas")).alias("replication_factor"),
        )
    )
