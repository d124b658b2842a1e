"""A2: the round-trip time of each ordered pair of brokers, from replica fetches."""

from functools import cache

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from schemas.gold.broker_rtt import BROKER_RTT, BROKER_RTT_SUMMARY
from transforms.gold.fetch_latency.pairing import MONO_RESOLUTION_MS
from transforms.histogram import RELATIVE_ERROR, bucket, collected, finite, merge, quantile, quantile_interval
from transforms.windows import WINDOW_S, Reach, with_coverage

PAIR = ("cluster", "follower_id", "leader_id", "method")
GRAIN = ("window_start", *PAIR)

MIN_N_P10 = 30
MIN_N_P50 = 12
BLOCK_MS = 200
"""The length of a block. Fetches of a block are not independent, so the interval counts blocks."""

COARSE_MS = 1.0
"""The resolution of a coarse clock. It distorts low quantiles, but not the median."""

SHORTEST_MS, LONGEST_MS = -5.0, 10_000.0
"""
The range of valid round trips. Millisecond timestamps and slewed clocks cause small negative values. They are
included, because removing one tail would shift all quantiles. Other values are clock steps or idle fetchers.
"""

LOOKBACK_S = 40
"""The maximum distance of the previous fetch: `MAX_ELAPSED_S` of total and `LONGEST_MS` of gap."""

REQUESTS_REACH = Reach(lookback_s=LOOKBACK_S)

NS_PER_MS = 1_000_000


def broker_rtt(fetches: DataFrame, covered: DataFrame) -> DataFrame:
    """
    Return one row per window, pair and method.

    `fetches` is the result of `pairing.fetches` from `LOOKBACK_S` before the first window. `covered` is the
    result of `windows.coverage`.
    """
    return (
        measured(fetches)
        .transform(_summed)
        .transform(with_estimate)
        .transform(with_coverage, covered)
        .select(*BROKER_RTT.schema.names)
    )


def measured(fetches: DataFrame) -> DataFrame:
    """
    Return each round trip, `paired` and `passive`, with its 200 ms block.

    Paired: elapsed at the follower minus `total - send` of the leader. Both are durations, so no clocks are
    compared. Passive: the time from the end of a fetch to the start of the next one on the connection, by the
    leader's clock. It includes the follower's work between two fetches.
    """
    spent = F.col("total_ms") - F.col("send_ms")
    paired = _round_trip("paired", F.col("elapsed_ms") - spent, F.col("elapsed_resolution_ms"))
    passive = _round_trip("passive", F.col("gap_ms"), F.col("gap_resolution_ms"))
    return (
        fetches.filter(F.col("kind") == "follower")
        .transform(with_gap)
        .select(
            "cluster",
            "window_start",
            "follower_id",
            "leader_id",
            _block(),
            F.inline(F.array(paired, passive)),
        )
        .filter(F.col("rtt_ms").between(SHORTEST_MS, LONGEST_MS))
    )


def with_gap(fetches: DataFrame) -> DataFrame:
    """
    Add `gap_ms`, from the end of the previous fetch to the start of this one; NULL if they are not adjacent.

    The clock is monotonic nanoseconds if both lines have them, else the wall clock.
    """
    order = Window.partitionBy("cluster", "leader_id", "connection", "client_id").orderBy(
        # Responses of a connection are in order, so time also orders ids that restart at 0.
        "logged_at",
        "correlation_id",
    )
    names = ("correlation_id", "logged_at", "logged_mono_ns", "clock_resolution_ms")
    before = F.lag(F.struct(*names)).over(order)
    mono_ms = (F.col("logged_mono_ns") - F.col("before.logged_mono_ns")) / 1e6
    wall_ms = (F.unix_micros("logged_at") - F.unix_micros("before.logged_at")) / 1e3
    is_adjacent = F.col("before.correlation_id") + 1 == F.col("correlation_id")
    is_in_reach = F.abs(wall_ms) <= LOOKBACK_S * 1e3
    coarser = F.greatest("clock_resolution_ms", "before.clock_resolution_ms")
    resolution = F.when(mono_ms.isNotNull(), F.lit(MONO_RESOLUTION_MS)).otherwise(coarser)
    return (
        fetches.withColumn("before", before)
        .withColumn("between_ms", F.when(is_adjacent & is_in_reach, F.coalesce(mono_ms, wall_ms)))
        .withColumn("gap_ms", F.col("between_ms") - F.col("total_ms"))
        .withColumn("gap_resolution_ms", resolution)
    )


def broker_rtt_summary(broker_rtt: DataFrame) -> DataFrame:
    """Return one row per pair and method over all windows, with the same estimator."""
    sums = broker_rtt.groupBy(*PAIR).agg(
        F.min("window_start").alias("since"),
        (F.max("window_start") + F.make_dt_interval(secs=F.lit(WINDOW_S))).alias("until"),
        F.count(F.lit(1)).alias("windows"),
        *_totals(F.col("n"), F.sum("blocks"), F.round(F.col("rtt_sum_ms") * NS_PER_MS).cast("bigint")),
    )
    return (
        sums.join(merge(broker_rtt, PAIR, "rtt_hist"), on=list(PAIR), how="inner")
        .transform(with_estimate)
        .select(*BROKER_RTT_SUMMARY.schema.names)
    )


def estimator(n: Column, clock_resolution_ms: Column) -> Column:
    """
    Return the quantile that estimates the link; NULL for too few round trips.

    CPU queues of a busy broker increase the median, so the estimator is p10 unless the clock is too coarse.

    >>> rows = spark.createDataFrame(
    ...     [(30, 1e-6), (29, 0.001), (500, 1.0), (11, 1e-6), (None, None)], "n int, ms double")
    >>> rows.select("*", estimator(F.col("n"), F.col("ms")).alias("estimator")).show()
    +----+------+---------+
    |   n|    ms|estimator|
    +----+------+---------+
    |  30|1.0E-6|      p10|
    |  29| 0.001|      p50|
    | 500|   1.0|      p50|
    |  11|1.0E-6|     NULL|
    |NULL|  NULL|     NULL|
    +----+------+---------+
    <BLANKLINE>
    """
    is_fine = clock_resolution_ms < COARSE_MS
    return F.when((n >= MIN_N_P10) & is_fine, F.lit("p10")).when(n >= MIN_N_P50, F.lit("p50"))


def with_estimate(sums: DataFrame) -> DataFrame:
    """Add the quantiles, the estimate and its interval to rows of summed round trips."""
    ends = _ends()
    return (
        sums.withColumns({**_quantiles(), "estimator": estimator(F.col("n"), F.col("clock_resolution_ms"))})
        .withColumns(
            {
                "rtt_ms": _chosen(F.col("rtt_p10_ms"), F.col("rtt_p50_ms")),
                "rtt_low_ms": _chosen(ends[0.1][0], ends[0.5][0]),
                "rtt_high_ms": _chosen(ends[0.1][1], ends[0.5][1]),
            }
        )
        .withColumn("relative_error", F.lit(RELATIVE_ERROR))
    )


@cache
def _quantiles() -> dict[str, Column]:
    """Return the quantile columns, cached: the JVM calls that build them take 1 s per batch of a stream."""
    hist, low, high = F.col("rtt_hist"), F.col("rtt_min_ms"), F.col("rtt_max_ms")
    named = (("p10", 0.1), ("p50", 0.5), ("p99", 0.99))
    return {f"rtt_{name}_ms": quantile(hist, q, low=low, high=high) for name, q in named}


@cache
def _ends() -> dict[float, tuple[Column, Column]]:
    return {q: quantile_interval(F.col("rtt_hist"), q, F.col("blocks")) for q in (0.1, 0.5)}


def _round_trip(method: str, rtt_ms: Column, resolution_ms: Column) -> Column:
    return F.struct(
        F.lit(method).alias("method"),
        finite(rtt_ms).alias("rtt_ms"),
        resolution_ms.alias("clock_resolution_ms"),
    )


def _block() -> Column:
    """Return a bit for the 200 ms block. The 50 blocks of a window fit in a bigint; `bit_or` merges them."""
    within_us = F.pmod(F.unix_micros("logged_at"), F.lit(WINDOW_S * 1_000_000))
    index = F.floor(within_us / F.lit(BLOCK_MS * 1_000)).cast("int")
    return F.call_function("shiftleft", F.lit(1).cast("bigint"), index).alias("block")


def _summed(trips: DataFrame) -> DataFrame:
    value = F.col("rtt_ms")
    by_bucket = trips.groupBy(*GRAIN, bucket(value).alias("bucket")).agg(
        F.bit_or("block").alias("blocks"),
        F.count(F.lit(1)).alias("n"),
        F.sum(F.round(value * NS_PER_MS).cast("bigint")).alias("sum_ns"),
        F.min(value).alias("rtt_min_ms"),
        F.max(value).alias("rtt_max_ms"),
        F.max("clock_resolution_ms").alias("clock_resolution_ms"),
    )
    blocks = F.bit_count(F.bit_or("blocks")).cast("bigint")
    return by_bucket.groupBy(*GRAIN).agg(
        collected(F.col("bucket"), F.col("n")).alias("rtt_hist"),
        *_totals(F.col("n"), blocks, F.col("sum_ns")),
    )


def _totals(n: Column, blocks: Column, sum_ns: Column) -> list[Column]:
    return [
        F.sum(n).alias("n"),
        blocks.alias("blocks"),
        (F.sum(sum_ns) / NS_PER_MS).alias("rtt_sum_ms"),
        F.min("rtt_min_ms").alias("rtt_min_ms"),
        F.max("rtt_max_ms").alias("rtt_max_ms"),
        F.max("clock_resolution_ms").alias("clock_resolution_ms"),
    ]


def _chosen(p10: Column, p50: Column) -> Column:
    return F.when(F.col("estimator") == "p10", p10).when(F.col("estimator") == "p50", p50)
