"""Producer batches out of PRODUCE requests: partition, bytes, records, and the run they belong to."""

from collections.abc import Callable

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F

NO_ERROR = 0
US_PER_S = 1_000_000
NEXT_BATCH_S = 10
"""A batch's records are known once the next one of its partition is seen, if that is within so long."""

PARTITION = ("cluster", "topic", "partition")


def batches(requests: DataFrame, topics: DataFrame, runs: DataFrame) -> DataFrame:
    """
    Give one row per batch that a leader appended, with `records` up to the partition's next batch.

    A batch whose base offset was answered before is the same one sent again: `is_again`. Without an answer
    (acks=0) a batch has no offset, so its records are not known and none of it is known to be sent again.
    `is_repeat`: the client's batch to the topic before it went to the same partition, NULL without one.

    All of this looks no further than `NEXT_BATCH_S`, so a window gives the same whatever stands around it.
    """
    in_partition = Window.partitionBy(*PARTITION).orderBy("base_offset", "logged_at", "position")
    of_client = Window.partitionBy("cluster", "topic", "client_id").orderBy(
        "logged_at", "position", "partition"
    )
    is_again = F.col("base_offset") == _near(F.lag, "base_offset", in_partition)
    further = _near(F.lead, "base_offset", in_partition) - F.col("base_offset")
    return (
        produced(requests, topics)
        .filter(F.coalesce(F.col("error_code"), F.lit(NO_ERROR)) == NO_ERROR)
        .withColumn("base_offset", F.when(F.col("offset") >= 0, F.col("offset")))
        .withColumn("is_again", F.coalesce(F.col("base_offset").isNotNull() & is_again, F.lit(False)))
        .withColumn("records", F.when(further > 0, further))
        .withColumn("is_repeat", F.col("partition") == _near(F.lag, "partition", of_client))
        .transform(with_run, runs)
    )


def _near(neighbour: Callable[[str], Column], name: str, over: WindowSpec) -> Column:
    """Give a column of the row before or behind, NULL when that is too long ago or too far ahead."""
    apart_us = F.unix_micros("logged_at") - F.unix_micros(neighbour("logged_at").over(over))
    return F.when(F.abs(apart_us) <= NEXT_BATCH_S * US_PER_S, neighbour(name).over(over))


def produced(requests: DataFrame, topics: DataFrame) -> DataFrame:
    """Give one row per partition of each PRODUCE, each line once, Plumbline's own traffic left out."""
    is_own = F.col("is_own_traffic").eqNullSafe(F.lit(True))
    sent = requests.filter((F.col("api") == "PRODUCE") & ~is_own & F.col("logged_at").isNotNull())
    return exploded(sent, topics).filter(F.col("bytes") > 0)


def exploded(requests: DataFrame, topics: DataFrame) -> DataFrame:
    """Give one row per partition of each request, under the topic's name, each line once."""
    return request_partitions(requests).transform(named_once, topics)


def request_partitions(requests: DataFrame) -> DataFrame:
    """Give one row per partition of each request, as often as its line was sent, the topic as it is told."""
    of_client = ("api", "client_id", "connection", "correlation_id")
    columns = ("cluster", "position", "logged_at", "started_at", *of_client)
    return requests.select(
        *columns,
        F.col("broker_id").alias("leader_id"),
        "software_version",
        "total_ms",
        "remote_ms",
        F.explode("partitions").alias("of"),
    ).select(*columns, "leader_id", "software_version", "total_ms", "remote_ms", "of.*")


def named_once(rows: DataFrame, topics: DataFrame) -> DataFrame:
    """Keep each line once and add the topic's name to rows of `request_partitions`."""
    once = rows.dropDuplicates(["cluster", "position", "topic_id", "topic_name", "partition"])
    return once.transform(with_topic, topics)


def with_topic(rows: DataFrame, topics: DataFrame) -> DataFrame:
    """Add `topic`: the name, as the row or the newest METADATA answer tells it, else the id."""
    names = topics.groupBy("cluster", "topic_id").agg(F.max_by("topic_name", "seen_at").alias("known_name"))
    joined = rows.join(F.broadcast(names), on=["cluster", "topic_id"], how="left")
    return joined.withColumn("topic", F.coalesce("topic_name", "known_name", "topic_id")).drop("known_name")


def with_run(rows: DataFrame, runs: DataFrame) -> DataFrame:
    """Add `run` and `arm` of the performance test that the client ran at that instant, NULL without one."""
    known = runs_of(runs).select(
        F.col("cluster").alias("run_cluster"),
        F.col("client_id").alias("run_client"),
        "run",
        "arm",
        "run_since",
        "run_until",
    )
    is_its = [
        F.col("cluster") == F.col("run_cluster"),
        F.col("client_id") == F.col("run_client"),
        F.col("logged_at") >= F.col("run_since"),
        F.col("logged_at") < F.col("run_until"),
    ]
    joined = rows.join(F.broadcast(known), on=is_its, how="left")
    return joined.drop("run_cluster", "run_client", "run_since", "run_until")


def runs_of(runs: DataFrame) -> DataFrame:
    """
    Give each run once, from the end of its warm-up to its own: `run_since`, `run_until`.

    A run is told at its start and at its end; one that never told its end lasts until its client's next one.
    """
    each = ["cluster", "run", "arm", "client_id", "started_at"]
    once = (
        runs.filter(F.col("started_at").isNotNull())
        .groupBy(*each)
        .agg(F.max("ended_at").alias("ended_at"), F.max("warm_up_s").alias("warm_up_s"))
    )
    warm_up = F.make_dt_interval(secs=F.coalesce("warm_up_s", F.lit(0.0)))
    following = F.lead("started_at").over(Window.partitionBy("cluster", "client_id").orderBy("started_at"))
    return once.withColumns(
        {
            "run_since": F.col("started_at") + warm_up,
            "run_until": F.least(_never_null(F.col("ended_at")), _never_null(following)),
        }
    )


def _never_null(at: Column) -> Column:
    return F.coalesce(at, F.lit("9999-01-01T00:00:00Z").cast("timestamp"))
