"""Gold tables of performance-test runs: figures, windows and comparisons. Computed on read."""

from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DoubleType,
    IntegerType,
    LongType,
    StringType,
    StructType,
    TimestampType,
)

from schemas.fields import Table, column
from schemas.silver.perf_test import PERF_SUMMARIES, RUNS

RUN = [
    column("cluster", StringType(), "observed cluster"),
    column(
        "run", StringType(), "user-defined name of the run; runs of both arms with the same name form a block"
    ),
    column("arm", StringType(), "variant that the run tests"),
]

RUN_FIGURES = Table(
    layer="gold",
    name="run_figures",
    about="Figures of each run: one row per run and method. Computed on read.",
    key=("cluster", "run", "arm", "method"),
    is_stored=False,
    schema=StructType(
        [
            *RUN,
            column(
                "method",
                StringType(),
                "whole: the summary line; steady_state: the tool's steady-state line (Kafka 4.2 and newer); "
                "behind_warm_up: the windows after warm_up_s",
            ),
            column("scenario", StringType(), "experiment of the run; NULL if unknown"),
            column("client_version", StringType(), "version of the Kafka client; NULL if unknown"),
            column("starts", LongType(), "number of starts with this name"),
            *(
                RUNS.schema[name]
                for name in (
                    "started_at",
                    "ended_at",
                    "warm_up_s",
                    "exit_code",
                    "asked_records",
                    "asked_records_per_s",
                    "record_size_bytes",
                    "configuration",
                )
            ),
            column("lines", LongType(), "number of summary lines or windows"),
            *(
                PERF_SUMMARIES.schema[name]
                for name in (
                    "records",
                    "records_per_s",
                    "mib_per_s",
                    "avg_ms",
                    "max_ms",
                    "p50_ms",
                    "p95_ms",
                    "p99_ms",
                    "p999_ms",
                )
            ),
        ]
    ),
)

RUN_WINDOWS = Table(
    layer="gold",
    name="run_windows",
    about="Each run over time: the tool's windows, merged into at most 400 parts. Computed on read.",
    key=("cluster", "run", "arm", "part"),
    is_stored=False,
    schema=StructType(
        [
            *RUN,
            column("part", IntegerType(), "index of the part, from 0"),
            column("at_s", DoubleType(), "end of the part, in seconds from the start of the run"),
            column("seconds", DoubleType(), "duration of the part; NULL if unknown for a window"),
            column("records", LongType(), "records sent in the part"),
            column("records_per_s", DoubleType(), "records / seconds"),
            column("mib_per_s", DoubleType(), "2^20 bytes of records sent per second"),
            column("avg_ms", DoubleType(), "mean latency of its records"),
            column("max_ms", DoubleType(), "maximum latency of a record"),
            column("is_measured", BooleanType(), "the whole part is after the warm-up"),
        ]
    ),
)

RUN_COMPARISON = Table(
    layer="gold",
    name="run_comparison",
    about="Whether the contender is better than the baseline: one verdict per metric. The statistical unit "
    "is the run (docs/comparison.md). `plumbline compare` computes it; --save stores it.",
    lacks=dict.fromkeys(("build", "suite", "metric"), "a comparison has its own checks and exit code"),
    key=("cluster", "scenario", "baseline", "contender", "compared_at", "metric"),
    schema=StructType(
        [
            column("cluster", StringType(), "observed cluster"),
            column("scenario", StringType(), "experiment of the runs; NULL: any"),
            column("compared_at", TimestampType(), "when the comparison was saved; NULL if it was not"),
            column("baseline", StringType(), "arm to compare with"),
            column("contender", StringType(), "arm to judge"),
            column("metric", StringType(), "column of a summary line, or table.column of gold"),
            column("unit", StringType(), "unit of the metric"),
            column("is_lower_better", BooleanType(), "lower values of the metric are better"),
            column(
                "is_deciding",
                BooleanType(),
                "its verdict decides the verdict of the comparison and the exit code",
            ),
            column("verdict", StringType(), "improved, regressed, equivalent, inconclusive, invalid"),
            column("reason", StringType(), "reason for the verdict, one sentence"),
            column(
                "is_within_run_only",
                BooleanType(),
                "each arm has one run, so the test resamples windows, not runs",
            ),
            column(
                "method",
                StringType(),
                "test: mann-whitney, signed-rank (in blocks), block-bootstrap (windows)",
            ),
            column("change", DoubleType(), "contender / baseline - 1, Hodges-Lehmann"),
            column(
                "change_low", DoubleType(), "lower end of its 95 % interval; NULL if there are too few runs"
            ),
            column("change_high", DoubleType(), "upper end of its 95 % interval"),
            column("change_of_means", DoubleType(), "ratio of the arms' means - 1; not used for the verdict"),
            column("p", DoubleType(), "two-sided exact p-value"),
            column("p_adjusted", DoubleType(), "p-value adjusted over all metrics (Benjamini-Hochberg)"),
            column(
                "cliffs_delta",
                DoubleType(),
                "Cliff's delta, -1 to 1: how much more often the contender is greater",
            ),
            column(
                "more_runs", IntegerType(), "additional runs of each arm that would decide; NULL if unknown"
            ),
            column("n_baseline", IntegerType(), "runs of the baseline with the metric"),
            column("n_contender", IntegerType(), "runs of the contender with the metric"),
            column("baseline_median", DoubleType(), "median over the baseline's runs"),
            column("contender_median", DoubleType(), "median over the contender's runs"),
            column(
                "tolerance", DoubleType(), "difference that counts as equivalent, as a share of the baseline"
            ),
            column("cautions", ArrayType(StringType()), "warnings about the comparison"),
        ]
    ),
)

RUN_CHANGES = Table(
    layer="gold",
    name="run_changes",
    about="Change points of an arm in a series of at least 15 runs, found by Apache Otava "
    "(docs/comparison.md). Computed on read.",
    key=("cluster", "scenario", "arm", "metric", "run"),
    is_stored=False,
    schema=StructType(
        [
            column("cluster", StringType(), "observed cluster"),
            column("scenario", StringType(), "experiment of the runs; NULL if unknown"),
            column("arm", StringType(), "variant that the runs test; NULL if unknown"),
            column("metric", StringType(), "column of the summary line: avg_ms, p99_ms, records_per_s"),
            column("run", StringType(), "first run after the change"),
            column("changed_at", TimestampType(), "when the summary line of this run was read"),
            column("change", DoubleType(), "mean after the change / mean before it - 1"),
            column("p", DoubleType(), "Otava's p-value of this change point"),
            column("runs", LongType(), "number of runs in the series"),
        ]
    ),
)
