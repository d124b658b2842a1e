"""A4: progress of moves by window and destination, from requests, fetches and log sizes."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from schemas.gold.reassignment_progress import REASSIGNMENT_PROGRESS
from transforms.gold.throttle_compliance.inputs import ThrottleInputs
from transforms.gold.throttle_compliance.limits import with_limit
from transforms.windows import WINDOW_S, seconds, window_start

MOVE = ("cluster", "moved_at")
TO = (*MOVE, "window_start", "source_id", "destination_id")
REPLICA = ("cluster", "topic", "partition", "destination_id")


def reassignment_progress(inputs: ThrottleInputs) -> DataFrame:
    """Return one row per window and pair of brokers in which a move was under way or ended."""
    covered = inputs.requests.select(
        "cluster", window_start(F.col("logged_at")).alias("window_start")
    ).distinct()
    grid = _grid(inputs.copies, covered)
    by_copy = (
        grid.transform(_with_lag, inputs.lags)
        .transform(_with_sizes, inputs.sizes)
        .transform(_with_inbound, inputs.produced)
    )
    rows = _by_pair(by_copy).transform(_with_limits, inputs.in_force)
    return rows.transform(_with_whole, inputs).select(*REASSIGNMENT_PROGRESS.schema.names)


def _grid(copies: DataFrame, covered: DataFrame) -> DataFrame:
    """Return one row per copy and window, from the start to the end of its move."""
    moving = copies.withColumnRenamed("cluster", "of_cluster")
    is_on = [
        F.col("cluster") == F.col("of_cluster"),
        F.col("moved_at") < _end(),
        F.col("ended_at").isNull() | (F.col("ended_at") >= F.col("window_start")),
    ]
    # A finished copy has rows until the end of its move, so that the sums include it.
    last = moving.groupBy("of_cluster", "moved_at").agg(
        F.max("ended_at").alias("last_end"), F.count_if(F.col("ended_at").isNull()).alias("open")
    )
    whole = moving.join(last, on=["of_cluster", "moved_at"], how="inner")
    is_within = (F.col("open") > 0) | (F.col("last_end") >= F.col("window_start"))
    is_done = F.coalesce(F.col("ended_at") < _end(), F.lit(False))
    rows = covered.join(F.broadcast(whole), on=[is_on[0], is_on[1], is_within], how="inner")
    return rows.withColumn("is_done", is_done).drop("of_cluster", "last_end", "open")


def _with_lag(grid: DataFrame, lags: DataFrame) -> DataFrame:
    lagging = lags.select(
        "cluster",
        "topic",
        "partition",
        F.col("follower_id").alias("destination_id"),
        "window_start",
        F.col("bytes").alias("bytes_moved"),
        "bytes_per_record",
        "lag_records",
        "told_at",
    )
    return grid.join(lagging, on=[*REPLICA, "window_start"], how="left")


def _with_sizes(grid: DataFrame, sizes: DataFrame) -> DataFrame:
    """Add `size_to_go` (the source's log size minus the copy's) and `sized_at`, the instant of the scrape."""
    at = window_start(F.col("at"))
    last = sizes.groupBy("cluster", "broker_id", "topic", "partition", at.alias("window_start")).agg(
        F.max_by(F.struct("size_bytes", "at"), "at").alias("log")
    )
    # A copy without a log is empty if its broker was scraped.
    scraped = last.select("cluster", F.col("broker_id").alias("destination_id"), "window_start").distinct()
    is_scraped = scraped.withColumn("empty", F.lit(0.0))
    joined = grid.join(is_scraped, on=["cluster", "destination_id", "window_start"], how="left")
    for side in ("source", "destination"):
        renamed = last.withColumnsRenamed({"broker_id": f"{side}_id", "log": f"{side}_log"})
        on = ["cluster", f"{side}_id", "topic", "partition", "window_start"]
        joined = joined.join(renamed, on=on, how="left")
    missing = F.col("source_log.size_bytes") - F.coalesce("destination_log.size_bytes", "empty")
    to_go = F.when(missing.isNotNull(), F.greatest(missing, F.lit(0.0)))
    at = F.coalesce("destination_log.at", "source_log.at")
    return joined.withColumns({"size_to_go": to_go, "sized_at": at}).drop(
        "source_log", "destination_log", "empty"
    )


def _with_inbound(grid: DataFrame, produced: DataFrame) -> DataFrame:
    by = (*REPLICA, "moved_at", "window_start")
    inbound = (
        produced.withColumn("window_start", window_start(F.col("logged_at")))
        .groupBy(*by)
        .agg(F.sum("bytes").alias("inbound_bytes"))
    )
    return grid.join(inbound, on=list(by), how="left")


def _by_pair(by_copy: DataFrame) -> DataFrame:
    """Add up the copies between two brokers. Finished copies have no remaining bytes."""
    is_open = ~F.col("is_done")
    known = is_open & F.col("lag_records").isNotNull()
    lag, each, moved = F.col("lag_records"), F.col("bytes_per_record"), F.col("bytes_moved")
    # A copy without recent bytes gets the bytes per record of the other copies.
    typical = F.try_divide(F.sum(each * moved), F.sum(F.when(each.isNotNull(), moved)))
    own = F.coalesce(F.sum(F.when(known & each.isNotNull(), lag * each)), F.lit(0.0))
    others = F.coalesce(F.sum(F.when(known & each.isNull(), lag)), F.lit(0))
    by_offsets = own + F.when(others == 0, 0.0).otherwise(others * typical)
    n_open, n_known = F.count_if(is_open), F.count_if(known)
    by_sizes = F.coalesce(F.sum(F.when(is_open, F.col("size_to_go"))), F.lit(0.0))
    is_known = (n_known == n_open) & by_offsets.isNotNull()
    is_sized = (F.count(F.when(is_open, F.col("size_to_go"))) == n_open) & (n_open > 0)
    return by_copy.groupBy(*TO).agg(
        F.count(F.lit(1)).alias("copies"),
        F.count_if("is_done").alias("copies_done"),
        F.coalesce(F.sum("bytes_moved"), F.lit(0)).cast("bigint").alias("bytes_moved"),
        F.coalesce(F.sum(F.when(known, F.col("lag_records"))), F.lit(0)).alias("records_to_go"),
        n_known.alias("copies_known"),
        F.when(is_sized, by_sizes).when(is_known, by_offsets).alias("bytes_to_go"),
        F.when(is_sized, "log_sizes").when(is_known, "offsets").alias("to_go_by"),
        F.when(is_sized, F.max(F.when(is_open, F.col("sized_at"))))
        .when(is_known, F.max(F.when(known, F.col("told_at"))))
        .alias("told_at"),
        F.coalesce(F.sum("inbound_bytes"), F.lit(0)).cast("bigint").alias("inbound_bytes"),
        F.max("replication_factor").alias("replication_factor"),
        F.when(n_open == 0, F.max("ended_at")).alias("ended_at"),
        F.max(F.col("is_done") & F.col("ended_at").eqNullSafe(F.col("superseded_at"))).alias("is_superseded"),
    )


def _with_limits(rows: DataFrame, in_force: DataFrame) -> DataFrame:
    """Add the limits at the end of the window: the source's as leader, the destination's as follower."""
    last = _end() - F.expr("INTERVAL 1 MICROSECOND")
    limited = rows
    for side, direction in (("source", "leader"), ("destination", "follower")):
        lookup = {"at": last, "direction": F.lit(direction), "broker_id": F.col(f"{side}_id")}
        known = with_limit(limited.withColumns(lookup), in_force)
        limited = known.withColumnRenamed("limit_bytes_per_s", f"{side}_limit_bytes_per_s").drop(
            *lookup, "limited_from"
        )
    return limited


def _with_whole(rows: DataFrame, inputs: ThrottleInputs) -> DataFrame:
    """Add the requester, the number of partitions of the whole move, and how many of them are done."""
    of_move = inputs.called.groupBy(*MOVE).agg(
        F.count(F.lit(1)).alias("partitions"),
        F.max(F.concat_ws(" ", "client_id", "principal")).alias("moved_by"),
    )
    ends = inputs.copies.groupBy(*MOVE, "topic", "partition").agg(
        F.when(F.count_if(F.col("ended_at").isNull()) == 0, F.max("ended_at")).alias("done_at")
    )
    windows = rows.select(*MOVE, "window_start").distinct()
    is_open = F.col("done_at").isNull() | (F.col("done_at") >= _end())
    still = (
        windows.join(ends, on=list(MOVE), how="inner")
        .groupBy(*MOVE, "window_start")
        .agg(F.count_if(is_open).alias("still"))
    )
    return (
        rows.join(F.broadcast(of_move), on=list(MOVE), how="left")
        .join(still, on=[*MOVE, "window_start"], how="left")
        .withColumn("partitions_done", F.col("partitions") - F.col("still"))
    )


def _end() -> Column:
    return F.col("window_start") + seconds(WINDOW_S)
