"""Gold about runs: what each came to, and whether one arm is better than the other. Made on read."""

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

OF_RUN = [
    column("cluster", StringType(), "observed cluster"),
    column("run", StringType(), "the run, a name given by who ran it; the same name in both arms is a block"),
    column("arm", StringType(), "what was tried in it"),
]

RUN_FIGURES = Table(
    layer="gold",
    name="run_figures",
    about="What a run came to, a row for each way its figures are made. Made on read.",
    key=("cluster", "run", "arm", "method"),
    schema=StructType(
        [
            *OF_RUN,
            column(
                "method",
                StringType(),
                "whole: its summary line; steady_state: the tool's own line of it (Kafka 4.2 and newer); "
                "behind_warm_up: its windows behind warm_up_s",
            ),
            column("scenario", StringType(), "what the run is part of; NULL when nobody told"),
            column("client_version", StringType(), "version of the Kafka client; NULL when nobody told"),
            column("starts", LongType(), "starts that were told under this name"),
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
            column("lines", LongType(), "summary lines, or windows, that went in"),
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
    about="A run over time: the tool's windows, those of a long run put together to 400 parts. Made on read.",
    key=("cluster", "run", "arm", "part"),
    schema=StructType(
        [
            *OF_RUN,
            column("part", IntegerType(), "which part of the run, from 0"),
            column("at_s", DoubleType(), "its end, seconds from the start of the run"),
            column("seconds", DoubleType(), "how long it is; NULL where a window does not tell"),
            column("records", LongType(), "records sent in it"),
            column("records_per_s", DoubleType(), "records / seconds"),
            column("mib_per_s", DoubleType(), "2^20 bytes of records sent per second"),
            column("avg_ms", DoubleType(), "mean latency of its records"),
            column("max_ms", DoubleType(), "highest latency of a record"),
            column("is_measured", BooleanType(), "all of it lies behind the warm-up"),
        ]
    ),
)

RUN_COMPARISON = Table(
    layer="gold",
    name="run_comparison",
    about="Is the contender better than the baseline, metric by metric: a verdict with its reason. The unit "
    "is the run (docs/comparison.md). Made on read by `plumbline compare`, and kept by its --save.",
    key=("cluster", "scenario", "baseline", "contender", "compared_at", "metric"),
    schema=StructType(
        [
            column("cluster", StringType(), "observed cluster"),
            column("scenario", StringType(), "only runs of this experiment; NULL: of any"),
            column("compared_at", TimestampType(), "when it was kept; NULL where it was not"),
            column("baseline", StringType(), "arm that is compared with"),
            column("contender", StringType(), "arm that is judged"),
            column("metric", StringType(), "column of a summary line, or table.column of gold"),
            column("unit", StringType(), "of the metric"),
            column("is_lower_better", BooleanType(), "direction of the metric"),
            column("is_deciding", BooleanType(), "its verdict is that of the comparison, and the exit code"),
            column("verdict", StringType(), "improved, regressed, equivalent, inconclusive, invalid"),
            column("reason", StringType(), "why, in a sentence"),
            column("is_within_run_only", BooleanType(), "one run of each: windows were drawn, not runs"),
            column(
                "method", StringType(), "mann-whitney, signed-rank (in blocks), block-bootstrap (windows)"
            ),
            column("change", DoubleType(), "contender / baseline - 1, Hodges-Lehmann"),
            column("change_low", DoubleType(), "lower end of its 95 % interval; NULL where runs are too few"),
            column("change_high", DoubleType(), "upper end of its 95 % interval"),
            column("change_of_means", DoubleType(), "ratio of the arms' averages - 1; no verdict goes by it"),
            column("p", DoubleType(), "two-sided, exact"),
            column("p_adjusted", DoubleType(), "the same for all metrics together, Benjamini-Hochberg"),
            column("cliffs_delta", DoubleType(), "-1 to 1: how much more often the contender is greater"),
            column("more_runs", IntegerType(), "runs of each arm that would decide, beyond those seen; NULL"),
            column("n_baseline", IntegerType(), "runs of the baseline that have the metric"),
            column("n_contender", IntegerType(), "runs of the contender that have the metric"),
            column("baseline_median", DoubleType(), "median over the baseline's runs"),
            column("contender_median", DoubleType(), "median over the contender's runs"),
            column("tolerance", DoubleType(), "share of the baseline that makes no difference"),
            column("cautions", ArrayType(StringType()), "what may mislead"),
        ]
    ),
)

RUN_CHANGES = Table(
    layer="gold",
    name="run_changes",
    about="Where one arm of a scenario itself changed, in a series of 15 runs or more, by Apache Otava "
    "(docs/comparison.md). Made on read.",
    key=("cluster", "scenario", "arm", "metric", "run"),
    schema=StructType(
        [
            column("cluster", StringType(), "observed cluster"),
            column("scenario", StringType(), "what the runs are part of; NULL when nobody told"),
            column("arm", StringType(), "what was tried in them; NULL when nobody told"),
            column("metric", StringType(), "column of the summary line: avg_ms, p99_ms, records_per_s"),
            column("run", StringType(), "the first run of another level than those before it"),
            column("changed_at", TimestampType(), "when its summary line was read"),
            column("change", DoubleType(), "mean behind it / mean before it - 1"),
            column("p", DoubleType(), "Otava's, of this point alone"),
            column("runs", LongType(), "runs of the series"),
        ]
    ),
)

COMPARISON_TABLES = (RUN_COMPARISON, RUN_FIGURES, RUN_WINDOWS, RUN_CHANGES)
