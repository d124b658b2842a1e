"""Context of a leader redirect: metadata lookups, start of the new leader, requester of the move."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from transforms.gold.leader_redirect.client_tries import OF_PARTITION
from transforms.gold.partition_skew.produced import NO_ERROR
from transforms.windows import seconds

FOUND_WITHIN_S = 60
"""The maximum duration of an event. A longer one has no end."""

MOVES_LEADERS = ("ELECT_LEADERS", "ALTER_PARTITION_REASSIGNMENTS")

EVENT = (*OF_PARTITION, "errored_at", "old_leader_id")


def with_lookups(events: DataFrame, requests: DataFrame) -> DataFrame:
    """Add `metadata_requests`: those of the client, to any broker, between the error and the success."""
    lookups = (
        requests.filter(F.col("api") == "METADATA")
        .select("cluster", "client_id", F.col("started_at").alias("sought_at"), "position")
        .dropDuplicates(["cluster", "position"])
        .withColumnsRenamed({"cluster": "of_cluster", "client_id": "of_client", "position": "asked_in"})
    )
    on = [
        F.col("cluster") == F.col("of_cluster"),
        F.col("client_id") == F.col("of_client"),
        F.col("sought_at").between(F.col("errored_at"), F.col("succeeded_at")),
    ]
    counted = F.count("asked_in").alias("metadata_requests")
    return events.join(lookups, on=on, how="left").groupBy(*events.columns).agg(counted)


def with_change(events: DataFrame, changes: DataFrame) -> DataFrame:
    """Add `leads_from`: the last start of the new leader before the success, by its state-change log."""
    began = changes.filter(F.col("role") == "leader").select(
        F.col("cluster").alias("of_cluster"),
        F.col("topic_name").alias("of_topic"),
        F.col("partition_index").alias("of_partition"),
        F.col("broker_id").alias("of_leader"),
        F.unix_micros("logged_at").alias("began_us"),
    )
    began_at = F.timestamp_micros(F.col("began_us") - F.col("offset_us"))
    is_same = [
        F.col("cluster") == F.col("of_cluster"),
        F.col("topic") == F.col("of_topic"),
        F.col("partition") == F.col("of_partition"),
        F.col("new_leader_id") == F.col("of_leader"),
        began_at <= F.col("succeeded_at"),
        began_at >= F.col("errored_at") - seconds(FOUND_WITHIN_S),
    ]
    last = F.max(began_at).alias("leads_from")
    return events.join(began, on=is_same, how="left").groupBy(*events.columns).agg(last)


def with_mover(events: DataFrame, requests: DataFrame) -> DataFrame:
    """Add `moved_by`: the client of the last election or reassignment of the partition before the event."""
    moves = (
        requests.filter(F.col("api").isin(*MOVES_LEADERS) & F.col("started_at").isNotNull())
        .select(
            "cluster", "api", "client_id", "principal", "started_at", F.explode("partitions").alias("entry")
        )
        .filter(F.coalesce("entry.error_code", F.lit(NO_ERROR)) == NO_ERROR)
        .select(
            F.col("cluster").alias("of_cluster"),
            F.col("entry.topic_name").alias("of_topic"),
            F.col("entry.partition").alias("of_partition"),
            F.struct(
                F.col("started_at").alias("at"),
                F.concat_ws(" ", "api", F.coalesce("client_id", F.lit("?")), "principal").alias("who"),
            ).alias("move"),
        )
    )
    is_same = [
        F.col("cluster") == F.col("of_cluster"),
        F.col("topic") == F.col("of_topic"),
        F.col("partition") == F.col("of_partition"),
        F.col("move.at") <= F.col("errored_at"),
        F.col("move.at") >= F.col("errored_at") - seconds(FOUND_WITHIN_S),
    ]
    moved = (
        events.join(moves, on=is_same, how="left").groupBy(*events.columns).agg(F.max("move").alias("move"))
    )
    return moved.withColumn("moved_by", F.col("move.who")).drop("move")
