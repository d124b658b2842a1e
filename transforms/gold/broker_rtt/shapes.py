"""
Shapes of slow round trips, and their evidence in one window and over windows. See `docs/culprit.md`.

The model of a window's round trips y, one per ordered pair of brokers, is `y = c + e on the pairs of a shape
+ noise`. c is common to all pairs, and e >= 0 is the effect of the shape. The evidence of one window is the
log-likelihood ratio of a shape against "no culprit", minus a penalty for the number of shapes (BIC). Over
windows it is a CUSUM (Page 1954): the largest sum over all starts. The start with this sum is the onset.
"""

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from transforms.windows import WINDOW_S

WINDOW_KEY = ("cluster", "window_start", "basis")
SHAPE = ("culprit", "broker_id", "follower_id", "leader_id")


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """The parameters of noise and evidence, estimated from healthy windows."""

    noise_ms: float  # standard deviation of a pair's estimate, from window to window and between equal pairs
    shared_ms: float  # standard deviation of the common part, from window to window
    relative_noise: float  # noise proportional to the round trip
    min_effect_ms: float  # the drift of healthy levels; a smaller effect is not a fault
    alarm: float  # the evidence that names a shape
    cap: float  # the largest evidence of one window; below `alarm`, so one window is not enough
    tie: float  # shapes with a smaller difference of evidence are tied
    memory_windows: int  # the largest number of windows in a sum of evidence


def shapes_of_pair() -> Column:
    """
    Return the five shapes that contain a pair of brokers, as an array of structs.

    >>> pair = spark.createDataFrame([(2, 1)], "follower_id int, leader_id int")
    >>> pair.select(F.inline(shapes_of_pair())).show()
    +-------------+---------+-----------+---------+
    |      culprit|broker_id|follower_id|leader_id|
    +-------------+---------+-----------+---------+
    |         link|     NULL|          2|        1|
    |follower_side|        2|          2|     NULL|
    |  leader_side|        1|       NULL|        1|
    |       broker|        2|       NULL|     NULL|
    |       broker|        1|       NULL|     NULL|
    +-------------+---------+-----------+---------+
    <BLANKLINE>
    """
    follower, leader, none = F.col("follower_id"), F.col("leader_id"), F.lit(None).cast("int")
    rows = [
        ("link", none, follower, leader),
        ("follower_side", follower, follower, none),
        ("leader_side", leader, none, leader),
        ("broker", follower, none, none),
        ("broker", leader, none, none),
    ]
    return F.array(
        *[
            F.struct(
                F.lit(culprit).alias("culprit"),
                broker.alias("broker_id"),
                of_follower.alias("follower_id"),
                of_leader.alias("leader_id"),
            )
            for culprit, broker, of_follower, of_leader in rows
        ]
    )


def with_weight(measured: DataFrame, thresholds: Thresholds) -> DataFrame:
    """
    Add `w`, the inverse variance of a pair's estimate, from its own spread or at least the general noise.

    Both are estimated from windows with enough round trips. With fewer round trips the variance is `thin`
    times larger.
    """
    noise = F.greatest(F.lit(thresholds.noise_ms), F.coalesce("spread_ms", F.lit(0.0)))
    relative = thresholds.relative_noise * F.abs("x_ms")
    return measured.withColumn("w", 1 / (F.col("thin") * (noise * noise + relative * relative)))


def scored(weighted: DataFrame, thresholds: Thresholds) -> DataFrame:
    """Return one row per window and shape: effect, standard error, and `llr`, the evidence in nats."""
    window = Window.partitionBy(*WINDOW_KEY)
    tried = F.count(F.lit(1)).over(window)
    is_real = F.col("effect_ms") >= thresholds.min_effect_ms
    surplus = F.greatest(F.lit(0.0), F.max("llr").over(window) - thresholds.cap)
    return (
        _summed(weighted, thresholds)
        .transform(_with_fit)
        .withColumn("llr", F.col("gain") / 2 - F.log("pairs") / 2 - F.log(tried))
        .withColumn("llr", F.when(is_real, F.col("llr")).otherwise(F.lit(-thresholds.cap)))
        # The cap lowers all shapes of a window equally, so their differences stay.
        .withColumn("llr", F.greatest(F.col("llr") - surplus, F.lit(-100 * thresholds.cap)))
    )


def accumulated(scores: DataFrame, thresholds: Thresholds) -> DataFrame:
    """Add `evidence`, the largest sum of `llr` over all starts, and `since`, the start of this sum."""
    at = F.unix_seconds("window_start")
    history = Window.partitionBy("cluster", "basis", *SHAPE).orderBy(at)
    back_s = WINDOW_S * (thresholds.memory_windows - 1)
    # By time, not by rows: a shape can be missing from windows, and a stream reads only this range.
    memory = history.rangeBetween(-back_s, Window.currentRow)
    so_far = F.sum("llr").over(history.rangeBetween(Window.unboundedPreceding, Window.currentRow))
    is_near = F.lag(at).over(history) >= at - back_s
    previous = F.when(is_near, F.lag("llr").over(history)).otherwise(0.0)
    return (
        scores.withColumn("so_far", so_far)
        .withColumn("before", F.col("so_far") - F.col("llr"))
        # Rounded only to find the earliest of equal values. The start of the sum, and so its rounding errors,
        # depend on how far back the input reaches.
        .withColumn("ranked", F.struct(F.round("before", 6), "window_start", "before"))
        .withColumn("lowest", F.min("ranked").over(memory))
        .withColumn("evidence", F.col("so_far") - F.col("lowest.before"))
        .withColumn("since", F.col("lowest.window_start"))
        # A shape that fits earlier windows but not this one is no longer slow.
        .withColumn("holds", (F.col("llr") + previous) > 0)
    )


def _summed(weighted: DataFrame, thresholds: Thresholds) -> DataFrame:
    """Return the sums over the pairs of each shape (`_in`) and of the whole window (`_all`)."""
    window = Window.partitionBy(*WINDOW_KEY)
    of_window = {
        **{name: total.over(window) for name, total in _sums("all").items()},
        "pairs": F.count(F.lit(1)).over(window).cast("int"),
        "held": F.when(F.col("basis") == "own", 1 / thresholds.shared_ms**2).otherwise(0.0),
        "is_young": F.max("is_young").over(window),
    }
    pair = F.struct(F.col("follower_id").alias("follower"), F.col("leader_id").alias("leader"))
    return (
        weighted.withColumns(of_window)
        .select(
            *WINDOW_KEY, "method", *of_window, "w", "y_ms", pair.alias("pair"), F.inline(shapes_of_pair())
        )
        .groupBy(*WINDOW_KEY, *SHAPE)
        .agg(
            *[total.alias(name) for name, total in _sums("in").items()],
            F.sort_array(F.collect_list("pair")).alias("support"),
            *[F.max(name).alias(name) for name in ("method", *of_window)],
        )
    )


def _sums(name: str) -> dict[str, Column]:
    w, y = F.col("w"), F.col("y_ms")
    return {f"w_{name}": F.sum(w), f"wy_{name}": F.sum(w * y), f"wyy_{name}": F.sum(w * y * y)}


def _with_fit(sums: DataFrame) -> DataFrame:
    """Fit the effect and the common part by least squares. `gain` is the decrease of the squared error."""
    w_out, wy_out = F.col("w_all") - F.col("w_in"), F.col("wy_all") - F.col("wy_in")
    wyy_out = F.col("wyy_all") - F.col("wyy_in")
    rest = F.when(F.size("support") < F.col("pairs"), w_out).otherwise(0.0) + F.col("held")
    shared = F.try_divide(wy_out, rest)  # NULL if the shape contains all pairs: there is no comparison
    error_in = F.col("wyy_in") - F.col("wy_in") * F.col("wy_in") / F.col("w_in")
    error_none = F.col("wyy_all") - F.col("wy_all") * F.col("wy_all") / (F.col("w_all") + F.col("held"))
    return (
        sums.withColumn("shared_part_ms", shared)
        .withColumn("effect_ms", F.col("wy_in") / F.col("w_in") - F.col("shared_part_ms"))
        .withColumn("effect_se_ms", F.sqrt(1 / F.col("w_in") + F.try_divide(F.lit(1.0), rest)))
        .withColumn("gain", error_none - error_in - (wyy_out - F.col("shared_part_ms") * wy_out))
    )
