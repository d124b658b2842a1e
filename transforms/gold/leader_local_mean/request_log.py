"""What the request log says of the time between two scrapes: the measure beside the metrics' mean."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from transforms.windows import WINDOW_S, window_start

NS_PER_MS = 1_000_000
INTERVAL = ("cluster", "node", "broker_id", "request", "to_at")
SAME = ("cluster", "broker_id", "request", "in_window")


def with_log(intervals: DataFrame, requests: DataFrame) -> DataFrame:
    """
    Add `log_n` and `log_sum_ms`, the requests that ended in each interval and their total - remote.

    Every request of the broker counts, Plumbline's own too: the beans know no difference.
    """
    every_window = F.sequence(
        window_start(F.col("from_at")), window_start(F.col("to_at")), F.make_dt_interval(secs=F.lit(WINDOW_S))
    )
    # One window at a time, so that a request meets the few intervals of its window and not all there are.
    pieces = intervals.select(*INTERVAL, "from_at", F.explode(every_window).alias("in_window"))
    is_inside = (F.col("logged_at") > F.col("from_at")) & (F.col("logged_at") <= F.col("to_at"))
    of_log = (
        logged(requests)
        .join(pieces, on=list(SAME), how="inner")
        .filter(is_inside)
        .groupBy(*INTERVAL)
        .agg(F.count(F.lit(1)).alias("log_n"), (F.sum("local_ns") / NS_PER_MS).alias("log_sum_ms"))
    )
    told = of_log.withColumnsRenamed({name: f"of_{name}" for name in INTERVAL})
    # A node that is no broker has no number: NULL is a key here.
    is_same = [F.col(name).eqNullSafe(F.col(f"of_{name}")) for name in INTERVAL]
    joined = intervals.join(told, on=is_same, how="left")
    return joined.drop(*[f"of_{name}" for name in INTERVAL])


def logged(requests: DataFrame) -> DataFrame:
    """Give each request of the log once for every bean that counts it, in whole nanoseconds."""
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
    Return which request types of the beans count a request of the log.

    Raft's fetches carry a replica's id, which is all that a broker asks for to call a fetch a follower's.

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
