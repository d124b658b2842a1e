"""The broker, side or link that best explains slow round trips in a window, and its onset."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from schemas.gold.broker_rtt_culprit import BROKER_RTT_CULPRIT
from transforms.gold.broker_rtt.baseline import MIN_WINDOWS, PAIR, hours_of, opening
from transforms.gold.broker_rtt.shapes import SHAPE, WINDOW_KEY, Thresholds, accumulated, scored, with_weight
from transforms.gold.broker_rtt.table import MIN_N_P10, MIN_N_P50

MIN_N_JUDGED = 4
"""The minimum number of round trips. An idle link that is 100 ms slower has few, with a smaller weight."""

MIN_PAIRS_OF_PEERS = 3
"""The minimum number of pairs for a comparison with peers: of two pairs, either one can be the slow one."""

UNSTEADY = 2.0
"""The maximum spread of a young level, in `min_effect_ms`. A larger spread contains the edge of a fault."""

MEASURED = (
    *WINDOW_KEY,
    "follower_id",
    "leader_id",
    "method",
    "x_ms",
    "y_ms",
    "thin",
    "spread_ms",
    "is_young",
)


def culprit(
    broker_rtt: DataFrame, baseline: DataFrame, thresholds: Thresholds, *, opened: DataFrame | None = None
) -> DataFrame:
    """
    Return the culprit of each window of `broker_rtt`, from the window and the `memory_windows` before it.

    `opened` has the windows of the openings, if `broker_rtt` does not reach back to them.
    """
    pairs = judged_pairs(broker_rtt)
    openings = opening(broker_rtt if opened is None else opened, hours_of(broker_rtt))
    best = named(evidence(pairs, openings, baseline, thresholds), thresholds)
    return with_verdict(seen_windows(broker_rtt, pairs), best).select(*BROKER_RTT_CULPRIT.schema.names)


def evidence(pairs: DataFrame, openings: DataFrame, baseline: DataFrame, thresholds: Thresholds) -> DataFrame:
    """Return one row per window, basis and shape: effect, `evidence`, `since`, and `holds`."""
    own = against_own_history(pairs, steady(openings, thresholds), steady(baseline, thresholds))
    measured = own.unionByName(against_peers(pairs))
    return (
        measured.transform(with_weight, thresholds)
        .transform(scored, thresholds)
        .transform(accumulated, thresholds)
    )


def judged_pairs(broker_rtt: DataFrame) -> DataFrame:
    """
    Return one round trip per pair and window; all pairs of a window share method and quantile.

    The method is the one that covers most pairs. The quantile is p10 if each pair has 30 round trips and a
    clock finer than 1 ms, else the median.
    """
    window = Window.partitionBy("cluster", "window_start")
    of_method = Window.partitionBy("cluster", "window_start", "method")
    rank = F.struct("coverage", F.col("method") == "paired")
    has_p10 = (F.col("n") >= MIN_N_P10) & (F.col("clock_resolution_ms") < 1)
    return (
        broker_rtt.filter(F.col("n") >= MIN_N_JUDGED)
        .withColumn("coverage", F.count(F.lit(1)).over(of_method))
        .withColumn("best", F.max(rank).over(window))
        .filter(F.col("best") == rank)
        .withColumn("quantile", F.when(F.min(has_p10).over(window), F.lit("p10")).otherwise(F.lit("p50")))
        .withColumn("x_ms", _of_quantile("rtt_p10_ms", "rtt_p50_ms"))
        .withColumn("thin", F.greatest(F.lit(1.0), MIN_N_P50 / F.col("n")))
        .select("window_start", *PAIR, "quantile", "x_ms", "thin")
    )


def against_own_history(pairs: DataFrame, openings: DataFrame, baseline: DataFrame) -> DataFrame:
    """Subtract each pair's level: the baseline of the hour, else its opening, else its peers' median."""
    hourly = baseline.select(
        *PAIR, "hour", (F.col("windows") < MIN_WINDOWS).alias("is_thin"), *_levels("hourly")
    )
    young = openings.select(*PAIR, "hour", "used_from", *_levels("opening"))
    window = Window.partitionBy("cluster", "window_start")
    is_open = F.col("window_start") >= F.col("used_from")
    return (
        pairs.withColumn("hour", F.date_trunc("hour", "window_start"))
        .join(F.broadcast(hourly), on=[*PAIR, "hour"], how="left")
        .join(F.broadcast(young), on=[*PAIR, "hour"], how="left")
        .withColumns(
            {
                "own": F.coalesce(_picked("hourly"), F.when(is_open, _picked("opening"))),
                "is_young": F.max(_picked("hourly").isNull() | F.col("is_thin")).over(window),
            }
        )
        .withColumn("level_ms", F.coalesce("own.ms", F.median("own.ms").over(window)))
        .filter(F.col("level_ms").isNotNull())
        .withColumn("y_ms", F.col("x_ms") - F.col("level_ms"))
        .withColumns({"basis": F.lit("own"), "spread_ms": F.col("own.spread_ms")})
        .select(*MEASURED)
    )


def steady(levels: DataFrame, thresholds: Thresholds) -> DataFrame:
    """Remove young levels with a spread that no healthy pair has, because their windows contain a fault."""
    most = UNSTEADY * thresholds.min_effect_ms
    is_grown = F.col("windows") >= MIN_WINDOWS
    return levels.withColumns(
        {
            f"{name}_ms": F.when(is_grown | (F.col(f"{name}_spread_ms") <= most), F.col(f"{name}_ms"))
            for name in ("p10", "p50")
        }
    )


def against_peers(pairs: DataFrame) -> DataFrame:
    """Return the round trips without a level. The fit estimates the common part of the pairs."""
    return pairs.withColumns(
        {
            "basis": F.lit("peers"),
            "y_ms": F.col("x_ms"),
            "spread_ms": F.lit(None).cast("double"),
            "is_young": F.lit(True),
        }
    ).select(*MEASURED)


def named(evidence: DataFrame, thresholds: Thresholds) -> DataFrame:
    """
    Return one row per window: the best shape, whether it is accused, the second-best shape and near ties.

    The comparison with the own history has priority. The comparison with peers applies only while no pair
    has a history in this hour.
    """
    is_accused = (F.col("evidence") >= thresholds.alarm) & F.col("holds")
    window = Window.partitionBy("cluster", "window_start")
    is_considered = (F.col("basis") == "own") | ~F.coalesce(F.col("has_history"), F.lit(False))
    has_history = F.max((F.col("basis") == "own") & ~F.col("is_young")).over(window)
    order = ("is_accused", "is_own", "holds", "evidence")
    columns = ("shape", "since", "effect_ms", "effect_se_ms", "method", "basis", "support")
    ranked = F.reverse(F.array_sort(F.collect_list(F.struct(*order, *columns))))
    best = F.col("ranked").getItem(0)
    rivals = F.filter("ranked", lambda r: (r["basis"] == best["basis"]) & (r["shape"] != best["shape"]))

    def is_near(rival: Column) -> Column:
        """Return whether a shape that also fits the current window has similar evidence."""
        return rival["holds"] & (rival["evidence"] > best["evidence"] - thresholds.tie)

    return (
        evidence.withColumn("has_history", has_history)
        .filter(is_considered)
        .withColumns({"is_accused": is_accused, "is_own": F.col("basis") == "own", "shape": F.struct(*SHAPE)})
        .groupBy("cluster", "window_start")
        .agg(ranked.alias("ranked"))
        .withColumn("rivals", rivals)
        .withColumn("near", F.transform(F.filter("rivals", is_near), lambda r: r["shape"]))
        .select(
            "cluster", "window_start", best.alias("best"), F.get("rivals", F.lit(0)).alias("second"), "near"
        )
    )


def accused(verdicts: DataFrame) -> DataFrame:
    """
    Return the windows (cluster, window_start) to exclude from history: those slower than their own history.

    A pair that is slower than its peers may always have been slow, so its windows stay in the history.
    """
    is_slow = ~F.col("culprit").isin("none", "not_enough_data")
    return verdicts.filter(is_slow & (F.col("baseline") == "own")).select("cluster", "window_start")


def seen_windows(broker_rtt: DataFrame, pairs: DataFrame) -> DataFrame:
    """Return one row per window: the numbers of judged pairs, of pairs with round trips, and of all pairs."""
    judged = pairs.groupBy("cluster", "window_start").agg(F.count(F.lit(1)).cast("int").alias("pairs_seen"))
    windows = broker_rtt.groupBy("cluster", "window_start").agg(
        F.max("nodes_expected").alias("nodes_expected"),
        F.max("nodes_reporting").alias("nodes_reporting"),
        F.min("is_settled").alias("is_settled"),
        F.count_distinct("follower_id", "leader_id").alias("pairs_shown"),
        F.array_union(F.collect_set("follower_id"), F.collect_set("leader_id")).alias("brokers"),
    )
    brokers = F.greatest(F.col("nodes_expected"), F.size("brokers"))
    expected = (brokers * (brokers - 1)).cast("int")
    return (
        windows.join(judged, on=["cluster", "window_start"], how="left")
        .withColumn("pairs_seen", F.coalesce("pairs_seen", F.lit(0)))
        .withColumn("pairs_expected", expected)
    )


def with_verdict(windows: DataFrame, candidates: DataFrame) -> DataFrame:
    """Return the verdict of each window from its best shape."""
    accused = F.coalesce(F.col("best.is_accused"), F.lit(False))
    is_tie = F.size("near") > 0
    is_too_few = (F.col("best.basis") == "peers") & (F.col("pairs_seen") < MIN_PAIRS_OF_PEERS)
    is_partial = F.col("pairs_seen") < F.col("pairs_shown")
    verdict = (
        F.when(F.col("best").isNull() | is_too_few, F.lit("not_enough_data"))
        .when(accused & is_tie, F.lit("ambiguous"))
        .when(accused, F.col("best.shape.culprit"))
        .when(is_partial, F.lit("not_enough_data"))
        .otherwise(F.lit("none"))
    )
    is_named = F.col("culprit").isin("broker", "follower_side", "leader_side", "link")
    is_slow = is_named | (F.col("culprit") == "ambiguous")
    half = 1.96 * F.col("best.effect_se_ms")
    return (
        windows.join(candidates, on=["cluster", "window_start"], how="left")
        .withColumn("culprit", verdict)
        .withColumns(
            {
                **{name: F.when(is_named, F.col(f"best.shape.{name}")) for name in SHAPE[1:]},
                "effect_ms": F.when(is_slow, _rounded(F.col("best.effect_ms"))),
                "effect_low_ms": F.when(is_slow, _rounded(F.col("best.effect_ms") - half)),
                "effect_high_ms": F.when(is_slow, _rounded(F.col("best.effect_ms") + half)),
                "since": F.when(is_slow, F.col("best.since")),
                "evidence": _rounded(F.col("best.evidence")),
                "runner_up": F.when(is_slow, F.col("second.shape")),
                "runner_up_margin": F.when(
                    is_slow, _rounded(F.col("best.evidence") - F.col("second.evidence"))
                ),
                "tied": F.when(F.col("culprit") == "ambiguous", F.concat(F.array("best.shape"), "near")),
                "method": F.col("best.method"),
                "baseline": F.col("best.basis"),
            }
        )
    )


def with_onset(verdicts: DataFrame, before: DataFrame) -> DataFrame:
    """
    Extend `since` for faults longer than `memory_windows`. `before` has the earlier verdicts.

    A row continues the fault of the previous row with the same shape if its evidence reaches back to the
    window of that row.
    """
    of_shape = Window.partitionBy("cluster", *SHAPE).orderBy("window_start")
    begins = F.coalesce(F.col("since") > F.lag("window_start").over(of_shape), F.lit(True)).cast("int")
    of_fault = Window.partitionBy("cluster", *SHAPE, "fault").orderBy("window_start")
    return (
        verdicts.withColumn("is_new", F.lit(True))
        .unionByName(before.withColumn("is_new", F.lit(False)))
        .withColumn("fault", F.sum(begins).over(of_shape))
        .withColumn("since", F.min("since").over(of_fault))
        .filter("is_new")
        .drop("is_new", "fault")
    )


def _rounded(value: Column) -> Column:
    """Return a value without the digits that depend on the order of addition: rebuilt rows are equal."""
    return F.round(value, 6)


def _of_quantile(p10: str, p50: str) -> Column:
    return F.when(F.col("quantile") == "p10", F.col(p10)).otherwise(F.col(p50))


def _levels(name: str) -> list[Column]:
    columns = ("p10_ms", "p10_spread_ms", "p50_ms", "p50_spread_ms")
    return [F.col(c).alias(f"{name}_{c}") for c in columns]


def _picked(name: str) -> Column:
    """Return the level for the quantile of the window; NULL without one."""
    level = _of_quantile(f"{name}_p10_ms", f"{name}_p50_ms")
    spread = _of_quantile(f"{name}_p10_spread_ms", f"{name}_p50_spread_ms")
    return F.when(level.isNotNull(), F.struct(level.alias("ms"), spread.alias("spread_ms")))
