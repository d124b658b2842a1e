"""Producer batches out of PRODUCE requests: partition, bytes, records, and the run they belong to."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

NO_ERROR = 0
PARTITION = ("cluster", "topic", "partition")


def batches(requests: DataFrame, topics: DataFrame, runs: DataFrame) -> DataFrame:
    """
    Give one row per batch that a leader appended, with `records` up to the partition's next batch.

    A batch whose base offset was answered before is the same one sent again: `is_again`. Without an answer
    (acks=0) a batch has no offset, so its records are not known and none of it is known to be sent again.
    """
    in_partition = Window.partitionBy(*PARTITION).orderBy("base_offset", "logged_at", "position")
    next_offset = F.lead("base_offset").over(in_partition)
    is_again = F.col("base_offset") == F.lag("base_offset").over(in_partition)
    further = next_offset - F.col("base_offset")
    return (
        produced(requests, topics)
        .filter(F.coalesce(F.col("error_code"), F.lit(NO_ERROR)) == NO_ERROR)
        .withColumn("base_offset", F.when(F.col("offset") >= 0, F.col("offset")))
        .withColumn("is_again", F.coalesce(F.col("base_offset").isNotNull() & is_again, F.lit(False)))
        .withColumn("records", F.when(further > 0, further))
        .transform(with_run, runs)
    )


def produced(requests: DataFrame, topics: DataFrame) -> DataFrame:
    """Give one row per partition of each PRODUCE, each line once, Plumbline's own traffic left out."""
    is_own = F.col("is_own_traffic").eqNullSafe(F.lit(True))
    sent = requests.filter((F.col("api") == "PRODUCE") & ~is_own & F.col("logged_at").isNotNull())
    return exploded(sent, topics).filter(F.col("bytes") > 0)


def exploded(requests: DataFrame, topics: DataFrame) -> DataFrame:
    """Give one row per partition of each request, under the topic's name, each line once."""
    columns = ("cluster", "position", "logged_at", "started_at", "api", "client_id", "connection")
    parts = requests.select(
        *columns,
        F.col("broker_id").alias("leader_id"),
        "software_version",
        "total_ms",
        F.explode("partitions").alias("of"),
    ).select(*columns, "leader_id", "software_version", "total_ms", "of.*")
    once = parts.dropDuplicates(["cluster", "position", "topic_id", "topic_name", "partition"])
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
