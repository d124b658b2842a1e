"""Learn from healthy windows what is noise and how much evidence it makes: conf/culprit.toml."""

import math
from dataclasses import asdict, replace

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from schemas.gold.broker_rtt_baseline import BROKER_RTT_BASELINE
from transforms.frames import frame_of
from transforms.gold.broker_rtt.baseline import hours_of, opening
from transforms.gold.broker_rtt.culprit import evidence, judged_pairs
from transforms.gold.broker_rtt.shapes import Thresholds

RELATIVE_NOISE = 0.05
MEMORY_WINDOWS = 30
TIE = 5.0
"""e^5, 150 to 1: below such odds two shapes are not called apart."""

LEAST_ALARM = 12.0
SAFETY = 1.5
"""So far lies the alarm above the largest evidence of a healthy window, the effect above any wandering."""

HEAD = """\
# What counts as noise and as evidence when a culprit is named: docs/culprit.md.
# Learnt from healthy windows on real brokers by `python -m benchmarks.truth --relearn`,
# but for relative_noise, tie, memory_windows and the floor of alarm, which are set.
"""


def learn(healthy: DataFrame) -> Thresholds:
    """Return the thresholds that the healthy windows of `broker_rtt` speak for."""
    noise = _noise(judged_pairs(healthy).cache())
    first = Thresholds(
        **noise,
        relative_noise=RELATIVE_NOISE,
        alarm=math.inf,
        cap=LEAST_ALARM / 1.9,
        tie=TIE,
        memory_windows=MEMORY_WINDOWS,
    )
    alarm = max(LEAST_ALARM, SAFETY * largest_evidence(healthy, first))
    return replace(first, alarm=round(alarm, 1), cap=round(alarm / 1.9, 1))


def largest_evidence(healthy: DataFrame, thresholds: Thresholds) -> float:
    """Return the most evidence that any shape gathered while nothing was slow."""
    pairs = judged_pairs(healthy)
    nothing = frame_of(healthy.sparkSession, [], BROKER_RTT_BASELINE.schema)
    openings = opening(healthy, hours_of(healthy))
    rows = evidence(pairs, openings, nothing, thresholds).agg(F.max("evidence")).collect()
    return float(rows[0][0] or 0.0)


def toml(learnt: Thresholds) -> str:
    """Write thresholds as the file `engine.gold.thresholds` reads."""
    return HEAD + "".join(f"{name} = {value}\n" for name, value in asdict(learnt).items())


def _noise(pairs: DataFrame) -> dict[str, float]:
    """Robust spreads: of a pair over windows, of what the pairs of a window share, of the pairs' levels."""
    pair = Window.partitionBy("cluster", "follower_id", "leader_id", "method", "quantile")
    lately = pair.orderBy("window_start").rowsBetween(-15, 14)
    window = Window.partitionBy("cluster", "window_start")
    spreads = (
        pairs.withColumn("level_ms", F.median("x_ms").over(pair))
        .withColumn("wandered_ms", F.abs(F.percentile("x_ms", F.lit(0.5)).over(lately) - F.col("level_ms")))
        .withColumn("rise_ms", F.col("x_ms") - F.col("level_ms"))
        .withColumn("shared_ms", F.median("rise_ms").over(window))
        .withColumn("apart_ms", F.abs(F.col("level_ms") - F.median("level_ms").over(window)))
        .agg(
            F.percentile(F.abs(F.col("rise_ms") - F.col("shared_ms")), F.lit(0.95)).alias("window_95"),
            F.percentile(F.abs("shared_ms"), F.lit(0.95)).alias("shared_95"),
            F.max("apart_ms").alias("apart"),
            F.max("wandered_ms").alias("wandered"),
        )
        .collect()[0]
    )
    noise_ms = math.hypot(spreads["window_95"] / 1.96, spreads["apart"] / 2)
    return {
        "noise_ms": round(noise_ms, 3),
        "shared_ms": round(max(0.1, spreads["shared_95"] / 1.96), 3),
        "min_effect_ms": round(SAFETY * max(spreads["apart"], spreads["wandered"]), 3),
    }
