"""Forecasts of the end of a move at each window, from the data up to that window."""

from functools import reduce

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from schemas.gold.reassignment_progress import REASSIGNMENT_FORECAST
from transforms.gold.throttle_compliance.rates import t_95
from transforms.gold.throttle_compliance.state import QUOTA_MOST_S
from transforms.windows import WINDOW_S, seconds

MOVE = ("cluster", "moved_at")
SIDE = (*MOVE, "side", "broker_id")
"""A broker as the source (leader) or a destination (follower) of a move."""

LATELY_S = 300
"""The history of a forecast: long enough to average bursts, short enough for changed throttles."""

LEAST_S = 5
"""The minimum duration of a rate in the spread, because the newest window is incomplete."""

FEW = 2
"""The minimum number of windows for an interval."""

SATURATED = 0.85
"""A broker that uses this share of its limit is limited by it; other brokers wait for such brokers."""

PRIOR_N = 6
"""The weight in windows of the net limit of a limited broker, because its rate converges to that limit."""

PERIOD_S = 11.5
"""The interval between bursts, because a quota averages over 11 to 12 s."""

BURST_S = 2.0
"""A broker that is further ahead of its limit moves bytes in bursts."""

BURST_SLACK = 0.05
"""The share of a burst to ignore: the arrival of the last response is not known yet."""

RATE_DOUBT = 0.05
"""The maximum deviation of a limited broker's rate from its limit (docs/truth-throttles.md)."""

NEVER = "9999-01-01T00:00:00Z"


def reassignment_forecast(progress: DataFrame) -> DataFrame:
    """
    Return the forecast of each move at each window.

    Each broker has its own forecast as a source and as a destination. The latest end among brokers at their
    limit decides, because other brokers wait for them. If no broker is at its limit, the latest destination
    decides.
    """
    last = F.struct(F.coalesce("own_end_at", F.lit(NEVER).cast("timestamp")), "broker_id")
    ends = ("side", "broker_id", "net_bytes_per_s", "low_at", "high_at", "n", "own_end_at")
    is_follower, is_held = F.col("side") == "follower", F.col("is_saturated") & F.col("ended_at").isNull()
    held = F.max_by(F.struct(*ends), F.when(is_held, last))
    slowest = F.max_by(F.struct(*ends), F.when(is_follower, last))
    to_go = F.when(is_follower, F.col("bytes_to_go"))
    is_known = F.count(to_go) == F.count_if(is_follower)
    rules, is_open = F.col("rules"), F.col("is_open")
    return (
        _by_side(progress)
        .groupBy(*MOVE, "window_start")
        .agg(
            *(F.max(name).alias(name) for name in ("moved_by", "partitions", "partitions_done")),
            F.sum(F.when(is_follower, F.col("moved_so_far"))).alias("bytes_moved"),
            F.when(is_known, F.sum(to_go)).alias("bytes_to_go"),
            (F.sum(F.when(is_follower, F.col("bytes_moved"))) / WINDOW_S).alias("rate_bytes_per_s"),
            F.coalesce(held, slowest).alias("rules"),
            F.max(F.col("ended_at").isNull()).alias("is_open"),
        )
        .withColumns(
            {
                "net_bytes_per_s": rules.net_bytes_per_s,
                "ruled_by": rules.side,
                "ruled_by_id": rules.broker_id,
                "forecast_end_at": F.when(is_open, rules.own_end_at),
                "forecast_low_at": F.when(is_open, rules.low_at),
                "forecast_high_at": F.when(is_open, rules.high_at),
                "n": F.coalesce(rules.n, F.lit(0)).cast("bigint"),
            }
        )
        .select(*REASSIGNMENT_FORECAST.schema.names)
    )


def _by_side(progress: DataFrame) -> DataFrame:
    """Return the forecast of each broker as a source and as a destination, from its pairs."""
    sides = [
        F.struct(
            F.lit(side).alias("side"),
            F.col(f"{end}_id").alias("broker_id"),
            F.col(f"{end}_limit_bytes_per_s").alias("limit_bytes_per_s"),
        )
        for side, end in (("leader", "source"), ("follower", "destination"))
    ]
    is_done = F.count("ended_at") == F.count(F.lit(1))
    once = progress.dropDuplicates([*MOVE, "window_start", "source_id", "destination_id"])
    return (
        once.withColumn("end", F.explode(F.array(*sides)))
        .select(*progress.columns, "end.*")
        .groupBy(*SIDE, "window_start")
        .agg(
            *(F.max(name).alias(name) for name in ("moved_by", "partitions", "partitions_done", "told_at")),
            F.max("limit_bytes_per_s").alias("limit_bytes_per_s"),
            *(F.sum(name).alias(name) for name in ("bytes_moved", "inbound_bytes")),
            F.when(F.count("bytes_to_go") == F.count(F.lit(1)), F.sum("bytes_to_go")).alias("bytes_to_go"),
            F.when(is_done, F.max("ended_at")).alias("ended_at"),
        )
        .transform(_with_forecast)
    )


def _with_forecast(sides: DataFrame) -> DataFrame:
    """
    Add the forecast: remaining bytes / the rate of their decrease, which includes newly produced bytes.

    The interval is that of the mean of the windows' rates. The forecast of a broker at its limit follows from
    the quota (`_held_s`), because its rate converges to the limit.
    """
    end = F.col("window_start") + seconds(WINDOW_S)
    as_of = F.coalesce("ended_at", "told_at", end)
    timed = sides.withColumns({"start_s": F.unix_seconds("window_start"), "as_of": as_of})
    in_order = Window.partitionBy(*SIDE).orderBy("start_s")
    so_far = in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    lately = in_order.rangeBetween(-LATELY_S, Window.currentRow)
    took_s = (F.unix_micros("as_of") - F.unix_micros(F.lag("as_of").over(in_order))) / 1e6
    shrunk = F.lag("bytes_to_go").over(in_order) - F.col("bytes_to_go")
    # The window in which the move begins has the first burst, so it is excluded.
    is_after = (F.col("start_s") >= F.unix_seconds("moved_at")) & shrunk.isNotNull()
    n, limit = F.count("rate").over(lately), F.col("limit_bytes_per_s")
    half = _t(n) * F.stddev_samp("rate").over(lately) / F.sqrt(n)
    moved = F.sum(F.when(F.col("took_s").isNotNull(), F.col("bytes_moved"))).over(lately)
    took, came = F.sum("took_s").over(lately), F.when(F.col("took_s").isNotNull(), F.col("inbound_bytes"))
    leaves = limit - F.coalesce(F.sum(came).over(lately) / took, F.lit(0.0))
    elapsed_s = (F.unix_micros("as_of") - F.unix_micros("moved_at")) / 1e6
    since_begun = F.when(elapsed_s <= LATELY_S, F.col("moved_so_far") / elapsed_s)
    is_held = [rate >= SATURATED * limit for rate in (moved / took, since_begun)]
    return (
        timed.withColumns({"took_s": F.when(is_after & (took_s > 0), took_s), "shrunk": shrunk})
        .withColumn("rate", F.when(F.col("took_s") >= LEAST_S, F.col("shrunk") / F.col("took_s")))
        .withColumn("shrinks", F.when(F.col("took_s").isNotNull(), F.col("shrunk")))
        .withColumn("moved_so_far", F.sum("bytes_moved").over(so_far))
        .withColumn("ahead_s", F.try_divide("moved_so_far", limit) - elapsed_s)
        .withColumns(
            {
                "n": n,
                "seen": F.sum("shrinks").over(lately) / took,
                "leaves": leaves,
                "half": half,
                "most_ahead_s": F.max("ahead_s").over(lately),
                "is_saturated": reduce(Column.__or__, (F.coalesce(one, F.lit(False)) for one in is_held)),
            }
        )
        .withColumn("is_held", F.col("is_saturated") & (F.col("seen") > 0) & (F.col("leaves") > 0))
        .transform(_with_end)
    )


def _with_end(sides: DataFrame) -> DataFrame:
    is_open, is_held = F.col("ended_at").isNull(), F.col("is_held")
    net, way, n = F.col("net_bytes_per_s"), F.col("half"), F.col("n")
    mixed = (n * F.col("seen") + PRIOR_N * F.col("leaves")) / (n + PRIOR_N)
    held_s = _held_s()
    doubt_s = QUOTA_MOST_S + RATE_DOUBT * held_s
    ends = {
        "own_end_at": F.when(is_held, _after(held_s)).otherwise(_after(_to_go_s(net))),
        "low_at": F.when(is_held, _after(F.greatest(held_s - doubt_s, F.lit(0.0)))).otherwise(
            _after(_to_go_s(net + way))
        ),
        "high_at": F.when(is_held, _after(held_s + doubt_s)).when(net > way, _after(_to_go_s(net - way))),
    }
    open_ends = {name: F.when(is_open & (net > 0), at) for name, at in ends.items()}
    return sides.withColumn("net_bytes_per_s", F.when(is_held, mixed).otherwise(F.col("seen"))).withColumns(
        open_ends | {"own_end_at": F.coalesce(open_ends["own_end_at"], F.col("ended_at"))}
    )


def _held_s() -> Column:
    """
    Return the seconds until a broker at its limit has moved the remaining bytes.

    With an even flow this is remaining bytes / rate. With bursts, the next burst comes when the broker is no
    longer ahead of its limit. All bursts have the same size, and the last one completes the move.
    """
    limit, moved = F.col("limit_bytes_per_s"), F.col("moved_so_far")
    bursts_seen = F.greatest(F.round(F.try_divide(moved, PERIOD_S * limit)), F.lit(1.0))
    to_pass = F.try_divide(F.col("bytes_to_go") * limit, F.col("leaves"))
    bursts = F.ceil(F.try_divide(to_pass, moved / bursts_seen) - BURST_SLACK)
    wait_s = F.greatest(F.least("ahead_s", F.lit(float(QUOTA_MOST_S))), F.lit(0.0))
    by_bursts = F.when(bursts > 0, wait_s + (bursts - 1) * PERIOD_S).otherwise(0.0)
    is_in_bursts = F.col("most_ahead_s") >= BURST_S
    return F.when(is_in_bursts, by_bursts).otherwise(_to_go_s(F.col("net_bytes_per_s")))


def _to_go_s(rate: Column) -> Column:
    return F.try_divide("bytes_to_go", rate)


def _t(n: Column) -> Column:
    """Return Student's factor, including the one for two values."""
    return F.coalesce(t_95(n), F.when(n == FEW, 12.706))


def _after(seconds_: Column) -> Column:
    """Return the instant this many seconds after the newest data."""
    return F.timestamp_micros(F.unix_micros("as_of") + (seconds_ * 1e6).cast("bigint"))
