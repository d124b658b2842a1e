"""Client requests by partition and their results, one row per try."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from transforms.gold.partition_skew.produced import NO_ERROR, exploded

NOT_LEADER, FENCED_EPOCH = 6, 74
LOST = (NOT_LEADER, FENCED_EPOCH)
"""The errors of an old leader: 6 for a producer, usually 74 for a consumer."""

OF_PARTITION = ("cluster", "api", "client_id", "topic", "partition")


def is_refused() -> Column:
    """Return whether the broker refused a PRODUCE or FETCH because it is not the leader of a partition."""
    has_error = F.exists("partitions", lambda part: part["error_code"].isin(*LOST))
    return F.col("api").isin("PRODUCE", "FETCH") & F.coalesce(has_error, F.lit(False))


def attempts(requests: DataFrame, topics: DataFrame) -> DataFrame:
    """Return all tries of the clients that received an error of an old leader, one row per partition."""
    client_requests = asked_by_clients(requests)
    lost = client_requests.filter(is_refused()).select("cluster", "api", "client_id").distinct()
    near = client_requests.join(F.broadcast(lost), on=["cluster", "api", "client_id"], how="left_semi")
    return exploded(near, topics).transform(to_tries)


def asked_by_clients(requests: DataFrame) -> DataFrame:
    """Return the requests of producers and consumers, without Plumbline's own traffic."""
    is_own = F.col("is_own_traffic").eqNullSafe(F.lit(True))
    is_client = (F.col("api") == "PRODUCE") | (F.col("kind") == "consumer")
    return requests.filter(is_client & ~is_own & F.col("logged_at").isNotNull())


def to_tries(rows: DataFrame) -> DataFrame:
    """Return the result of each partition in a response, from rows of `produced.exploded`."""
    waited_us = F.when(F.col("api") == "FETCH", F.round(F.col("remote_ms") * 1_000).cast("bigint"))
    done_us = F.unix_micros("logged_at") - F.coalesce(waited_us, F.lit(0))
    return rows.filter(F.col("error_code").isNotNull()).select(
        *OF_PARTITION,
        "leader_id",
        "connection",
        "correlation_id",
        "software_version",
        F.col("started_at").alias("arrived_at"),
        F.col("logged_at").alias("answered_at"),
        F.timestamp_micros(done_us).alias("done_at"),
        "position",
        "error_code",
        F.col("error_code").isin(*LOST).alias("is_lost"),
        (F.col("error_code") == NO_ERROR).alias("is_served"),
        F.col("hinted_leader_id"),
        F.col("hinted_leader_epoch"),
    )
