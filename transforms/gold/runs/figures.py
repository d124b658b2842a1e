"""Figures of each performance-test run: whole, steady state, and after the warm-up."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from schemas.gold.run_comparison import RUN_FIGURES
from schemas.silver.perf_test import RUNS
from transforms.gold.runs.windows import RUN, sums, timed_windows

FACTS = (
    "scenario",
    "client_version",
    "started_at",
    "ended_at",
    "warm_up_s",
    "exit_code",
    "asked_records",
    "asked_records_per_s",
    "record_size_bytes",
    "configuration",
)
FIGURES = ("records_per_s", "mib_per_s", "avg_ms", "max_ms")
PERCENTILES = ("p50_ms", "p95_ms", "p99_ms", "p999_ms")
WHOLE, STEADY_STATE, BEHIND_WARM_UP = "whole", "steady_state", "behind_warm_up"


def run_facts(runs: DataFrame, summaries: DataFrame) -> DataFrame:
    """Return one row per run with its settings. A run without a run document has only its client version."""
    known = [name for name in RUNS.schema.names if name in summaries.schema.names]
    every = runs.unionByName(summaries.select(*known), allowMissingColumns=True)
    return every.groupBy(*RUN).agg(
        *(F.max(name).alias(name) for name in FACTS), F.count_distinct("started_at").alias("starts")
    )


def run_figures(summaries: DataFrame, windows: DataFrame, runs: DataFrame) -> DataFrame:
    """Return the rows of `gold.run_figures`: exact means, rates and maxima, and the printed percentiles."""
    facts = run_facts(runs, summaries)
    once = summaries.dropDuplicates(["cluster", "position"])
    method = F.when(F.col("is_steady_state"), STEADY_STATE).otherwise(WHOLE)
    printed = once.groupBy(*RUN, method.alias("method")).agg(
        F.count(F.lit(1)).alias("lines"),
        # A name that was used twice has several lines; `lines` counts them, and the figures are those of one.
        *(F.max_by(name, "position").alias(name) for name in ("records", *FIGURES, *PERCENTILES)),
    )
    measured = timed_windows(windows, facts).filter((F.col("warm_up_s") > 0) & F.col("is_measured"))
    after = measured.groupBy(*RUN).agg(F.count(F.lit(1)).alias("lines"), *sums())
    added_up = after.drop("seconds").withColumn("method", F.lit(BEHIND_WARM_UP))
    figures = printed.unionByName(added_up, allowMissingColumns=True)
    return facts.join(figures, on=list(RUN), how="left").select(*RUN_FIGURES.schema.names)


def has_arm(*arms: str) -> Column:
    """Return whether a row belongs to one of these arms."""
    return F.col("arm").isin(*arms)
