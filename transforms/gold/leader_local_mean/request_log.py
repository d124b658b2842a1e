"""The figures of the request log between two scrapes, for comparison with the mean from metrics."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from transforms.windows import WINDOW_S, window_start

NS_PER_MS = 1_000_000
INTERVAL = ("cluster", "node", "broker_id", "request", "to_at")
SAME = ("cluster", "broker_id", "request", "in_window")


def with_log(intervals: DataFrame, requests: DataFrame) -> DataFrame:
    """
    Add `log_n` and `log_sum_ms`: the requests that ended in each interval, and their total - remote.

    All requests of the broker count, including Plumbline's own, because the MBeans include them.
    """
    every_window = F.sequence(
        window_start(F.col("from_at")), window_start(F.col("to_at")), F.make_dt_interval(secs=F.lit(WINDOW_S))
    )
    # Join by window, so that a request is compared only with the few intervals of its window.
    pieces = intervals.select(*INTERVAL, "from_at", F.explode(every_window).alias("in_window"))
    is_inside = (F.col("logged_at") > F.col("from_at")) & (F.col("logged_at") <= F.col("to_at"))
    of_log = (
        logged(requests)
        .join(pieces, on=list(SAME), how="inner")
        .filter(is_inside)
        .groupBy(*INTERVAL)
        .agg(F.count(F.lit(1)).alias("log_n"), (F.sum("local_ns") / NS_PER_MS).alias("log_sum_ms"))
    )
    found = of_log.withColumnsRenamed({name: f"of_{name}" for name in INTERVAL})
    # A node that is not a broker has no id, so the join must match NULL.
    is_same = [F.col(name).eqNullSafe(F.col(f"of_{name}")) for name in INTERVAL]
    joined = intervals.join(found, on=is_same, how="left")
    return joined.drop(*[f"of_{name}" for name in INTERVAL])


def logged(requests: DataFrame) -> DataFrame:
    """Return each request of the log once per MBean that counts it, in whole nanoseconds."""
    local_ms = F.col("total_ms") - F.col("remote_ms")
    return (
        requests.filter(local_ms.isNotNull() & F.col("logged_at").isNotNull())
        .select(
            "cluster",
            "broker_id",
            "position",
            "logged_at",
            beans_of(F.col("api"), F.col("kind")).alias("beans"),
            F.round(local_ms * NS_PER_MS).cast("bigint").alias("local_ns"),
        )
        .dropDuplicates(["cluster", "position"])
        .withColumn("in_window", window_start(F.col("logged_at")))
        .withColumn("request", F.explode("beans"))
    )


def beans_of(api: Column, kind: Column) -> Column:
    """
    Return the request types whose MBeans count a request of the log.

    A broker counts each fetch with a replica id as a follower's, so raft fetches count as FetchFollower.

    >>> rows = spark.createDataFrame(
    ...     [("FETCH", "follower"), ("FETCH", "raft"), ("FETCH", "consumer"), ("PRODUCE", "other"),
    ...      ("FIND_COORDINATOR", "other"), (None, None)], "api string, kind string")
    >>> rows.select(beans_of(F.col("api"), F.col("kind")).alias("beans")).show(truncate=False)
    +----------------------+
    |beans                 |
    +----------------------+
    |[Fetch, FetchFollower]|
    |[Fetch, FetchFollower]|
    |[Fetch, FetchConsumer]|
    |[Produce]             |
    |[FindCoordinator]     |
    |NULL                  |
    +----------------------+
    <BLANKLINE>
    """
    name = F.replace(F.initcap(F.replace(api, F.lit("_"), F.lit(" "))), F.lit(" "), F.lit(""))
    of_fetch = F.when(kind == "consumer", F.lit("FetchConsumer")).otherwise(F.lit("FetchFollower"))
    return F.when(api == "FETCH", F.array(name, of_fetch)).when(api.isNotNull(), F.array(name))
