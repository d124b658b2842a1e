"""Who is slow: the broker, side or link that explains the round trips of a window best, and since when."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from schemas.gold.broker_rtt_culprit import BROKER_RTT_CULPRIT
from transforms.gold.broker_rtt.baseline import MIN_WINDOWS, PAIR, hours_of, opening
from transforms.gold.broker_rtt.shapes import SHAPE, WINDOW_KEY, Thresholds, accumulated, scored, with_weight
from transforms.gold.broker_rtt.table import MIN_N_P10, MIN_N_P50

MIN_N_JUDGED = 4
"""An idle link some 100 ms slower has few fetches a window: their median is noisier, and weighs less."""

MIN_PAIRS_OF_PEERS = 3
"""Two round trips alone cannot tell which of them is the slow one; each against its own history can."""

UNSTEADY = 2.0
"""A young level that spreads by more than so many least effects holds the beginning or end of a fault."""

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
    Name the culprit of every window of `broker_rtt`, from that window and the `memory_windows` before it.

    `opened` holds the windows that openings are taken from, when `broker_rtt` does not reach back to them.
    """
    pairs = judged_pairs(broker_rtt)
    openings = opening(broker_rtt if opened is None else opened, hours_of(broker_rtt))
    best = named(evidence(pairs, openings, baseline, thresholds), thresholds)
    return with_verdict(seen_windows(broker_rtt, pairs), best).select(*BROKER_RTT_CULPRIT.schema.names)


def evidence(pairs: DataFrame, openings: DataFrame, baseline: DataFrame, thresholds: Thresholds) -> DataFrame:
    """Return one row a window, basis and shape: its effect, `evidence`, `since`, and whether it `holds`."""
    own = against_own_history(pairs, steady(openings, thresholds), steady(baseline, thresholds))
    measured = own.unionByName(against_peers(pairs))
    return (
        measured.transform(with_weight, thresholds)
        .transform(scored, thresholds)
        .transform(accumulated, thresholds)
    )


def judged_pairs(broker_rtt: DataFrame) -> DataFrame:
    """
    Keep one round trip a pair and window: the method that covers most pairs, one quantile for all of them.

    p10 where every pair of the window has 30 round trips and a clock finer than 1 ms, else the median.
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
    """Subtract each pair's own level: the hour's baseline, else its opening, else its peers' median."""
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
    """Take a young level away in whose windows something happened: they spread as no healthy pair's do."""
    most = UNSTEADY * thresholds.min_effect_ms
    is_grown = F.col("windows") >= MIN_WINDOWS
    return levels.withColumns(
        {
            f"{name}_ms": F.when(is_grown | (F.col(f"{name}_spread_ms") <= most), F.col(f"{name}_ms"))
            for name in ("p10", "p50")
        }
    )


def against_peers(pairs: DataFrame) -> DataFrame:
    """Take the round trips as they are: what the pairs of a window share is estimated from themselves."""
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
    Return one row a window: the best shape with its rivals, whether it is accused and whether it is a tie.

    Against own history first; against peers only while no pair's hour has a history of its own.
    """
    is_accused = (F.col("evidence") >= thresholds.alarm) & F.col("holds")
    window = Window.partitionBy("cluster", "window_start")
    is_heard = (F.col("basis") == "own") | ~F.coalesce(F.col("has_history"), F.lit(False))
    has_history = F.max((F.col("basis") == "own") & ~F.col("is_young")).over(window)
    order = ("is_accused", "is_own", "holds", "evidence")
    columns = ("shape", "since", "effect_ms", "effect_se_ms", "method", "basis", "support")
    ranked = F.reverse(F.array_sort(F.collect_list(F.struct(*order, *columns))))
    best = F.col("ranked").getItem(0)
    rivals = F.filter("ranked", lambda r: (r["basis"] == best["basis"]) & (r["shape"] != best["shape"]))

    def is_near(rival: Column) -> Column:
        """Tell whether a shape that fits the present, not only an earlier fault, comes as close."""
        return rival["holds"] & (rival["evidence"] > best["evidence"] - thresholds.tie)

    return (
        evidence.withColumn("has_history", has_history)
        .filter(is_heard)
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
    Return the windows (cluster, window_start) that are no history: something was slower than it used to be.

    What is slower than its peers may always have been so, and is history.
    """
    is_slow = ~F.col("culprit").isin("none", "not_enough_data")
    return verdicts.filter(is_slow & (F.col("baseline") == "own")).select("cluster", "window_start")


def seen_windows(broker_rtt: DataFrame, pairs: DataFrame) -> DataFrame:
    """Return one row a window: how many pairs were judged, how many show, how many its brokers make up."""
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
    """Turn the best shape of each window into the row people read."""
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
                "effect_ms": F.when(is_slow, _told(F.col("best.effect_ms"))),
                "effect_low_ms": F.when(is_slow, _told(F.col("best.effect_ms") - half)),
                "effect_high_ms": F.when(is_slow, _told(F.col("best.effect_ms") + half)),
                "since": F.when(is_slow, F.col("best.since")),
                "evidence": _told(F.col("best.evidence")),
                "runner_up": F.when(is_slow, F.col("second.shape")),
                "runner_up_margin": F.when(is_slow, _told(F.col("best.evidence") - F.col("second.evidence"))),
                "tied": F.when(F.col("culprit") == "ambiguous", F.concat(F.array("best.shape"), "near")),
                "method": F.col("best.method"),
                "baseline": F.col("best.basis"),
            }
        )
    )


def with_onset(verdicts: DataFrame, before: DataFrame) -> DataFrame:
    """
    Carry `since` on while a fault outlasts `memory_windows`; `before` are the verdicts before the first.

    A row goes on with the fault of the row before that names the same shape when its own evidence reaches
    back to that row's window.
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


def _told(value: Column) -> Column:
    """Round off what depends on the order in which Spark adds numbers up: a rebuilt row is the same row."""
    return F.round(value, 6)


def _of_quantile(p10: str, p50: str) -> Column:
    return F.when(F.col("quantile") == "p10", F.col(p10)).otherwise(F.col(p50))


def _levels(name: str) -> list[Column]:
    columns = ("p10_ms", "p10_spread_ms", "p50_ms", "p50_spread_ms")
    return [F.col(c).alias(f"{name}_{c}") for c in columns]


def _picked(name: str) -> Column:
    """Return the level of the window's own quantile, NULL when there is none."""
    level = _of_quantile(f"{name}_p10_ms", f"{name}_p50_ms")
    spread = _of_quantile(f"{name}_p10_spread_ms", f"{name}_p50_spread_ms")
    return F.when(level.isNotNull(), F.struct(level.alias("ms"), spread.alias("spread_ms")))
