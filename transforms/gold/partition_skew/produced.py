"""Producer batches from PRODUCE requests: partition, bytes, records and run."""

from collections.abc import Callable

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F

NO_ERROR = 0
US_PER_S = 1_000_000
NEXT_BATCH_S = 10
"""The maximum time to the next batch of the partition, which determines the records of a batch."""

PARTITION = ("cluster", "topic", "partition")


def batches(requests: DataFrame, topics: DataFrame, runs: DataFrame) -> DataFrame:
    """
    Return one row per appended batch, with `records` up to the partition's next batch.

    `is_again` marks a retry: a batch with the same base offset as an earlier one. Without a response
    (acks=0) a batch has no offset, so its records are unknown and retries cannot be detected. `is_repeat`
    marks a batch to the same partition as the client's previous batch on the topic; NULL without one.

    No column depends on lines more than `NEXT_BATCH_S` away, so the rows of a window are reproducible.
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
    """Return a column of the previous or next row; NULL if that row is more than `NEXT_BATCH_S` away."""
    apart_us = F.unix_micros("logged_at") - F.unix_micros(neighbour("logged_at").over(over))
    return F.when(F.abs(apart_us) <= NEXT_BATCH_S * US_PER_S, neighbour(name).over(over))


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


def with_run(rows: DataFrame, runs: DataFrame) -> DataFrame:
    """Add `run` and `arm` of the client's performance test at that instant; NULL without one."""
    known = runs_of(runs).select(
        F.col("cluster").alias("run_cluster"),
        F.col("client_id").alias("run_client"),
        "run",
        "arm",
        "run_since",
        "run_until",
    )
    is_same = [
        F.col("cluster") == F.col("run_cluster"),
        F.col("client_id") == F.col("run_client"),
        F.col("logged_at") >= F.col("run_since"),
        F.col("logged_at") < F.col("run_until"),
    ]
    joined = rows.join(F.broadcast(known), on=is_same, how="left")
    return joined.drop("run_cluster", "run_client", "run_since", "run_until")


def runs_of(runs: DataFrame) -> DataFrame:
    """
    Return one row per run, with the time from the end of the warm-up to the end: `run_since`, `run_until`.

    A run has a row at its start and one at its end. A run without an end lasts until its client's next run.
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
