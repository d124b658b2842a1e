"""Measure replication under a throttle, by window, broker and direction (analysis A4)."""

from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from schemas.gold.throttle_compliance import THROTTLE_COMPLIANCE
from transforms.gold.throttle_compliance.inputs import ThrottleInputs
from transforms.gold.throttle_compliance.limits import BROKER, during, with_limit
from transforms.gold.throttle_compliance.settings import settings_on
from transforms.parse.throttles import DIRECTIONS
from transforms.windows import WINDOW_S, seconds, window_start

KEY = ("cluster", "window_start", "broker_id", "direction", "limited_from", "limit_bytes_per_s")

SUMS = (
    "throttled_bytes",
    "catching_up_bytes",
    "in_sync_bytes",
    "unlisted_bytes",
    "answers",
    "moving_partitions",
    "lagging_replicas",
    "lag_records",
    "inbound_bytes",
    "bean_sum_bytes_per_s",
    "bean_n",
    "reassignment_bytes",
    "replication_bytes",
    "counter_s",
)
LEAST = ("on_from",)
LARGEST = ("largest_answer_bytes", "bean_max_bytes_per_s", "is_listed", "on_until", "busy_until")
FROM_LOG = (
    "throttled_bytes",
    "catching_up_bytes",
    "in_sync_bytes",
    "unlisted_bytes",
    "answers",
    "inbound_bytes",
)
"""Columns from the request log: 0 for a window with a log but no such traffic, NULL without a log."""


def throttle_compliance(inputs: ThrottleInputs) -> DataFrame:
    """Return one row per window, broker, direction and limit: traffic, lists, moves, beans, counters."""
    logged = inputs.requests.select(
        "cluster", window_start(F.col("logged_at")).alias("window_start")
    ).distinct()
    windows = logged.withColumn("is_logged", F.lit(True)).unionByName(
        inputs.events.select("cluster", window_start(F.col("at")).alias("window_start"))
        .distinct()
        .withColumn("is_logged", F.lit(False))
    )
    covered = windows.groupBy("cluster", "window_start").agg(F.max("is_logged").alias("is_logged"))
    events = (
        _traffic(inputs.fetched, inputs.listed),
        _lags(inputs.lags),
        _under_way(inputs.copies, inputs.lags, covered),
        _inbound(inputs.produced),
        settings_on(inputs, covered),
        inputs.events,
    )
    rows = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), events)
    # A list that is `*` names every broker, including brokers without a limit.
    has_no_effect = F.coalesce("is_wildcard", F.lit(False)) & F.col("limited_from").isNull()
    return _by_window(with_limit(rows, inputs.in_force).filter(~has_no_effect), covered)


def _by_window(events: DataFrame, covered: DataFrame) -> DataFrame:
    at = F.unix_seconds("at")
    by_second = (
        events.filter(F.col("at").isNotNull())
        .withColumns({"window_start": window_start(F.col("at")), "second": F.pmod(at, F.lit(WINDOW_S))})
        .groupBy(*KEY, "second")
        .agg(
            *(F.sum(name).alias(name) for name in SUMS),
            *(F.max(name).alias(name) for name in LARGEST),
            *(F.min(name).alias(name) for name in LEAST),
            F.collect_set("peer_id").alias("peers"),
        )
    )
    is_logged = F.coalesce("is_logged", F.lit(False))
    zeros = {name: F.when(is_logged, F.coalesce(name, F.lit(0))).otherwise(F.col(name)) for name in FROM_LOG}
    by_s = {
        f"{name}_by_s": F.when(is_logged, _series(F.col(f"{name}_of_s")))
        for name in ("throttled", "catching_up")
    }
    return (
        by_second.groupBy(*KEY)
        .agg(
            *(F.sum(name).alias(name) for name in SUMS),
            *(F.max(name).alias(name) for name in LARGEST),
            *(F.min(name).alias(name) for name in LEAST),
            F.array_sort(F.array_distinct(F.flatten(F.collect_list("peers")))).alias("peers"),
            *(_of_seconds(name) for name in ("throttled", "catching_up")),
        )
        .join(F.broadcast(covered), on=["cluster", "window_start"], how="inner")
        .withColumns(zeros | by_s | {"is_listed": F.coalesce("is_listed", F.lit(False))})
        .filter(_is_relevant())
        .select(*THROTTLE_COMPLIANCE.schema.names)
    )


def _of_seconds(name: str) -> Column:
    entry = F.struct("second", F.coalesce(f"{name}_bytes", F.lit(0)))
    return F.map_from_entries(F.collect_list(entry)).alias(f"{name}_of_s")


def _is_relevant() -> Column:
    """Return whether a row has a limit, a list or a move; every broker has beans, so they do not count."""
    is_moving = F.coalesce("moving_partitions", F.lit(0)) > 0
    return F.col("limited_from").isNotNull() | F.col("is_listed") | is_moving


def _series(of_second: Column) -> Column:
    """Return one value per second of the window, 0 where a second has none."""
    names = F.sequence(F.lit(0), F.lit(WINDOW_S - 1))
    none = F.lit(0).cast("bigint")
    return F.transform(names, lambda s: F.coalesce(F.try_element_at(of_second, s.cast("bigint")), none))


def _traffic(fetched: DataFrame, listed: DataFrame) -> DataFrame:
    """Return the bytes of each answer for its leader and for its follower, split by the lists."""
    both = _by_direction(fetched.filter(F.col("bytes") > 0), "leader_id", "follower_id")
    lists = listed.withColumnsRenamed(
        {"cluster": "of_cluster", "topic": "of_topic", "direction": "of_direction"}
    )
    is_match = [
        F.col("cluster") == F.col("of_cluster"),
        F.col("topic") == F.col("of_topic"),
        F.col("direction") == F.col("of_direction"),
        F.coalesce(F.col("partition") == F.col("listed_partition"), F.lit(True)),
        F.coalesce(F.col("broker_id") == F.col("listed_broker"), F.lit(True)),
        *during("logged_at", "listed_from", "listed_until"),
    ]
    is_listed, is_catching_up = F.col("listed_from").isNotNull(), F.col("is_catching_up")
    kinds = {
        "throttled_bytes": is_listed,
        "catching_up_bytes": is_listed & is_catching_up,
        "in_sync_bytes": is_listed & ~is_catching_up,
        "unlisted_bytes": ~is_listed & is_catching_up,
    }
    sums = {name: F.sum(F.when(is_kind, F.col("bytes"))) for name, is_kind in kinds.items()}
    throttled = F.col("throttled_bytes")
    return (
        both.join(F.broadcast(lists), on=is_match, how="left")
        .groupBy(*BROKER, "peer_id", "position", F.col("logged_at").alias("at"))
        .agg(*(total.alias(name) for name, total in sums.items()))
        .filter(throttled.isNotNull() | F.col("unlisted_bytes").isNotNull())
        .withColumns(
            {
                "busy_until": F.when(_copied_bytes() > 0, F.col("at")),
                "answers": F.when(throttled > 0, F.lit(1)),
                "largest_answer_bytes": throttled,
                "peer_id": F.when(throttled > 0, F.col("peer_id")),
            }
        )
        .drop("position")
    )


def _copied_bytes() -> Column:
    return F.coalesce("catching_up_bytes", F.lit(0)) + F.coalesce("unlisted_bytes", F.lit(0))


def _lags(lags: DataFrame) -> DataFrame:
    lagging = lags.filter(F.col("lag_records") > 0)
    counted = lagging.withColumns({"at": _end_of("window_start"), "lagging_replicas": F.lit(1)})
    return _by_direction(counted, "leader_id", "follower_id").select(
        *BROKER, "at", "lagging_replicas", "lag_records"
    )


def _under_way(copies: DataFrame, lags: DataFrame, covered: DataFrame) -> DataFrame:
    """
    Return the copies of each window for their leader and destination, with the end of each in the window.

    `moving_partitions` is 1 for a copy that is open at the end of the window, and 0 for one that ended in
    it. The leader is the current one, which may have changed since the move began.
    """
    replica = ("cluster", "topic", "partition", "window_start", "destination_id")
    leads = lags.withColumnRenamed("follower_id", "destination_id").select(*replica, "leader_id")
    moving = copies.withColumnRenamed("cluster", "of_cluster")
    last = _end_of("window_start")
    is_open = F.col("ended_at").isNull() | (F.col("ended_at") > last)
    is_on = [
        F.col("cluster") == F.col("of_cluster"),
        F.col("moved_at") <= last,
        F.col("ended_at").isNull() | (F.col("ended_at") >= F.col("window_start")),
    ]
    rows = covered.join(moving, on=is_on, how="inner").withColumns(
        {
            "at": F.when(is_open, last).otherwise(F.col("ended_at")),
            "busy_until": F.when(is_open, last).otherwise(F.col("ended_at")),
            "moving_partitions": F.when(is_open, F.lit(1)).otherwise(0),
        }
    )
    led = rows.join(leads, on=list(replica), how="left").withColumn(
        "leader_id", F.coalesce("leader_id", "source_id")
    )
    columns = (*BROKER, "at", "busy_until", "moving_partitions")
    return _by_direction(led, "leader_id", "destination_id").select(*columns)


def _inbound(produced: DataFrame) -> DataFrame:
    named = produced.withColumnsRenamed({"logged_at": "at", "bytes": "inbound_bytes"})
    return _by_direction(named, "leader_id", "destination_id").select(*BROKER, "at", "inbound_bytes")


def _by_direction(rows: DataFrame, leader: str, follower: str) -> DataFrame:
    """Return each row twice: once for the leading broker and once for the following one."""
    ends = [
        F.struct(
            F.lit(direction).alias("direction"), F.col(own).alias("broker_id"), F.col(peer).alias("peer_id")
        )
        for direction, own, peer in zip(DIRECTIONS, (leader, follower), (follower, leader), strict=True)
    ]
    return rows.withColumn("end", F.explode(F.array(*ends))).select(*rows.columns, "end.*")


def _end_of(window: str) -> Column:
    return F.col(window) + seconds(WINDOW_S) - F.expr("INTERVAL 1 MICROSECOND")
