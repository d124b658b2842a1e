"""Follower fetches by partition, and the lag of followers, from the leaders' request logs."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from transforms.gold.throttle_compliance.entries import named_once
from transforms.windows import WINDOW_S, window_start

CARRY_S = 60
"""The time for which the last known offset stays valid, because a fetch session repeats only changes."""

REPLICA = ("cluster", "follower_id", "topic", "partition")
US_PER_S = 1_000_000


def replicated(requests: DataFrame, topics: DataFrame) -> DataFrame:
    """
    Return one row per partition of each follower's FETCH, without duplicates.

    `offset` and `high_watermark` are the last known values of up to `CARRY_S` before, because a session omits
    unchanged values. `is_catching_up` marks a fetch from below the high watermark, which no replica in the
    ISR sends; NULL if one of the two values is unknown. `records` are the offsets up to the next fetch
    offset; NULL if that is unknown.
    """
    fetched = requests.filter(
        (F.col("kind") == "follower") & F.col("logged_at").isNotNull() & (F.size("partitions") > 0)
    )
    columns = ("cluster", "position", "logged_at", "follower_id")
    rows = fetched.select(
        *columns, F.col("broker_id").alias("leader_id"), F.explode("partitions").alias("entry")
    ).select(*columns, "leader_id", "entry.*")
    in_order = Window.partitionBy(*REPLICA).orderBy(F.unix_micros("logged_at"))
    lately = in_order.rangeBetween(-CARRY_S * US_PER_S, Window.currentRow)
    later = in_order.rangeBetween(1, CARRY_S * US_PER_S)
    asked = F.coalesce("offset", F.last("offset", ignorenulls=True).over(lately))
    watermark = F.coalesce("high_watermark", F.last("high_watermark", ignorenulls=True).over(lately))
    further = F.first("offset", ignorenulls=True).over(later) - asked
    return (
        named_once(rows, topics)
        .withColumns({"asked": asked, "known_watermark": watermark, "further": further})
        .select(
            *columns,
            "leader_id",
            "topic",
            "partition",
            F.coalesce("bytes", F.lit(0)).alias("bytes"),
            F.col("asked").alias("offset"),
            F.col("known_watermark").alias("high_watermark"),
            (F.col("asked") < F.col("known_watermark")).alias("is_catching_up"),
            F.when((F.col("bytes") > 0) & (F.col("further") > 0), F.col("further")).alias("records"),
        )
    )


def replica_lags(fetched: DataFrame) -> DataFrame:
    """
    Return the lag of each catching-up replica at the end of each window: `lag_records`, with `told_at`.

    `bytes` and `records` are those it fetched in the window while it caught up. `bytes_per_record` is that of
    the last `CARRY_S`. A replica that has not been seen catching up for this long has no row.
    """
    lagging = fetched.filter("is_catching_up").select(*REPLICA).distinct()
    is_held = F.coalesce("is_catching_up", F.lit(False))
    at = F.struct("logged_at", "position")
    seen = (
        fetched.join(lagging, on=list(REPLICA), how="left_semi")
        .withColumn("told_in", window_start(F.col("logged_at")))
        .groupBy(*REPLICA, "told_in")
        .agg(
            F.max(is_held).alias("is_held"),
            F.sum(F.when(is_held, F.col("bytes")).otherwise(0)).alias("bytes"),
            F.sum(F.when(F.col("records").isNotNull(), F.col("bytes"))).alias("known_bytes"),
            F.sum("records").alias("records"),
            F.max("logged_at").alias("told_at"),
            F.max_by("leader_id", at).alias("leader_id"),
            F.max_by("offset", at).alias("offset"),
            F.max_by("high_watermark", at).alias("high_watermark"),
        )
    )
    steps = F.sequence(F.lit(0), F.lit(CARRY_S // WINDOW_S))
    carried = seen.withColumn("step", F.explode(steps)).withColumn(
        "window_start", F.col("told_in") + F.make_dt_interval(secs=F.col("step") * WINDOW_S)
    )
    lag = F.max_by("high_watermark", "told_in") - F.max_by("offset", "told_in")
    known, records = F.sum("known_bytes"), F.sum("records")
    return (
        carried.groupBy(*REPLICA, "window_start")
        .agg(
            F.max("is_held").alias("is_held"),
            F.max_by("leader_id", "told_in").alias("leader_id"),
            F.max("told_at").alias("told_at"),
            F.sum(_now("bytes")).alias("bytes"),
            F.sum(_now("records")).alias("records"),
            F.when(records > 0, known / records).alias("bytes_per_record"),
            lag.alias("lag"),
        )
        .filter("is_held")
        .withColumn("lag_records", F.when(F.col("lag") > 0, F.col("lag")).when(F.col("lag") <= 0, 0))
        .drop("lag", "is_held")
    )


def _now(name: str) -> Column:
    return F.when(F.col("step") == 0, F.col(name))
