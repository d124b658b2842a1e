"""Performance-test summaries with the settings of their runs, and a flag for missed rates."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from schemas.gold.perf_runs import PERF_RUNS

KEPT_UP = 0.98
"""The minimum share of the target rate. A slower generator sends records late and hides their delay."""

RUN = ("cluster", "run", "arm")
COMPRESSION = r"compression\.type=(?!none)"


def perf_runs(summaries: DataFrame, runs: DataFrame) -> DataFrame:
    """Add the run's settings to each summary line, and the flag `invalid_rate` if the rate was missed."""
    target, achieved = F.col("asked_records_per_s"), F.col("records_per_s")
    flag = F.when(achieved < KEPT_UP * target, "invalid_rate")
    flags = F.array_compact(
        F.array_append(F.coalesce("quality_flags", F.array().cast("array<string>")), flag)
    )
    once = summaries.dropDuplicates(["cluster", "position"])
    return (
        _joined(once, run_settings(runs)).withColumn("quality_flags", flags).select(*PERF_RUNS.schema.names)
    )


def payloads(summaries: DataFrame, runs: DataFrame) -> DataFrame:
    """Return the payload of each run: `payload_records`, `record_size_bytes`, `is_compressed`."""
    sent = (
        summaries.filter(~F.col("is_steady_state"))
        .groupBy(*RUN)
        .agg(F.max("records").alias("payload_records"))
    )
    return _joined(run_settings(runs), sent).select(
        *RUN, "client_id", "topic_name", "payload_records", "record_size_bytes", "is_compressed"
    )


def run_settings(runs: DataFrame) -> DataFrame:
    """Return one row per run with its settings."""
    is_compressed = F.exists("configuration", lambda word: word.rlike(COMPRESSION))
    return runs.groupBy(*RUN).agg(
        *(
            F.max(name).alias(name)
            for name in (
                "client_id",
                "topic_name",
                "asked_records",
                "asked_records_per_s",
                "record_size_bytes",
            )
        ),
        F.max(F.coalesce(is_compressed, F.lit(False))).alias("is_compressed"),
    )


def _joined(rows: DataFrame, others: DataFrame) -> DataFrame:
    """Join by cluster, run and arm; NULL matches NULL."""
    renamed = others.withColumnsRenamed({name: f"of_{name}" for name in RUN})
    same: list[Column] = [F.col(name).eqNullSafe(F.col(f"of_{name}")) for name in RUN]
    return rows.join(renamed, on=same, how="left").drop(*(f"of_{name}" for name in RUN))
