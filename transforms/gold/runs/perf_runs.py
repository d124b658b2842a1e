"""Performance tests with what they were asked for: a run that fell behind its rate hides delay."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from schemas.silver.perf_test import PERF_RUNS

KEPT_UP = 0.98
"""A generator that achieves less of its rate sends late what was due, and hides the wait."""

RUN = ("cluster", "run", "arm")
COMPRESSION = r"compression\.type=(?!none)"


def perf_runs(summaries: DataFrame, runs: DataFrame) -> DataFrame:
    """Add to each summary line what its run was asked for, and `invalid_rate` where that was not reached."""
    asked, achieved = F.col("asked_records_per_s"), F.col("records_per_s")
    flag = F.when(achieved < KEPT_UP * asked, "invalid_rate")
    flags = F.array_compact(
        F.array_append(F.coalesce("quality_flags", F.array().cast("array<string>")), flag)
    )
    once = summaries.dropDuplicates(["cluster", "position"])
    return (
        _joined(once, run_settings(runs)).withColumn("quality_flags", flags).select(*PERF_RUNS.schema.names)
    )


def payloads(summaries: DataFrame, runs: DataFrame) -> DataFrame:
    """Give what each run had to send: `payload_records`, `record_size_bytes`, `is_compressed`."""
    sent = (
        summaries.filter(~F.col("is_steady_state"))
        .groupBy(*RUN)
        .agg(F.max("records").alias("payload_records"))
    )
    return _joined(run_settings(runs), sent).select(
        *RUN, "client_id", "topic_name", "payload_records", "record_size_bytes", "is_compressed"
    )


def run_settings(runs: DataFrame) -> DataFrame:
    """Give each run once."""
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
    """Join by run and arm; what nobody told is the same as what nobody told."""
    renamed = others.withColumnsRenamed({name: f"of_{name}" for name in RUN})
    same: list[Column] = [F.col(name).eqNullSafe(F.col(f"of_{name}")) for name in RUN]
    return rows.join(renamed, on=same, how="left").drop(*(f"of_{name}" for name in RUN))
