"""Silver tables of performance tests: the output of Kafka's ProducerPerformance, by run."""

from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DoubleType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from schemas.fields import ORIGIN, Table, column

RUN_HEADERS = {"run": "run", "arm": "arm", "scenario": "scenario", "client_version": "client-version"}
"""Column name -> header of a telemetry record; `conf.names.Header` has the same names."""

RUN_DOCUMENT = "plumbline_run"
"""The only key of the JSON line that describes a run: `conf.names.RUN_DOCUMENT`."""

RUN = [
    column("cluster", StringType(), "observed cluster"),
    column("run", StringType(), "user-defined name of the run"),
    column(
        "arm", StringType(), "variant that the run tests, such as a client or a partitioner; NULL if unknown"
    ),
    column("scenario", StringType(), "experiment of the run; NULL if unknown"),
    column("client_version", StringType(), "version of the Kafka client; NULL if unknown"),
    column(
        "logged_at",
        TimestampType(),
        "instant at which the line was read from the tool, UTC; NULL if not recorded",
    ),
]

FIGURES = [
    column("records", LongType(), "records sent"),
    column("records_per_s", DoubleType(), "records sent per second; NULL if the tool wrote NaN"),
    column("mib_per_s", DoubleType(), "2^20 bytes of records sent per second"),
    column("avg_ms", DoubleType(), "mean latency of a record, from send to ack; NULL if the tool wrote NaN"),
    column("max_ms", DoubleType(), "maximum latency of a record"),
    column("is_steady_state", BooleanType(), "the figures exclude the warm-up (Kafka 4.2 and newer)"),
]

FLAGS = column(
    "quality_flags",
    ArrayType(StringType()),
    "warnings: decimal_comma, not_a_number, no_instant; for a run: invalid_rate",
)


def _table(name: str, about: str, *columns: StructField, at: str = "") -> Table:
    schema = StructType([*RUN, *columns, FLAGS, *ORIGIN[1:]])
    return Table(layer="silver", name=name, about=about, key=("cluster", "position"), schema=schema, at=at)


PERF_WINDOWS = _table(
    "perf_windows",
    "One row per window line of ProducerPerformance: the records sent since the previous line.",
    *FIGURES,
)

PERF_SUMMARIES = _table(
    "perf_summaries",
    "One row per summary line of ProducerPerformance: percentiles over all records of a run, in whole ms.",
    *FIGURES,
    column("p50_ms", DoubleType(), "median latency"),
    column("p95_ms", DoubleType(), "p95 of latency"),
    column("p99_ms", DoubleType(), "p99 of latency"),
    column("p999_ms", DoubleType(), "p99.9 of latency"),
)

CLIENT_METRICS = _table(
    "client_metrics",
    "One row per client metric that `--print-metrics` writes at the end of a run.",
    column("metric_group", StringType(), "group: producer-node-metrics"),
    column("metric", StringType(), "name: outgoing-byte-total"),
    column("tags", MapType(StringType(), StringType()), "tags: client-id, node-id, topic"),
    column("value", DoubleType(), "value; NULL if it is not a number"),
    column("text", StringType(), "value as written"),
)

RUNS = _table(
    "runs",
    "Settings of each run from `plumbline perf-test`: one row at its start and one at its end.",
    column("started_at", TimestampType(), "start of the tool"),
    column("ended_at", TimestampType(), "end of the tool; NULL in the row of the start"),
    column("warm_up_s", DoubleType(), "warm-up in seconds from the start, which gold excludes"),
    column("exit_code", IntegerType(), "exit code of the tool; NULL in the row of the start"),
    column("client_id", StringType(), "client.id of the tool's producer"),
    column("topic_name", StringType(), "topic that the tool produced to"),
    column("asked_records", LongType(), "number of records to send (--num-records)"),
    column("asked_records_per_s", DoubleType(), "target rate (--throughput); NULL if unlimited"),
    column("record_size_bytes", IntegerType(), "size of a record; NULL if the payloads come from a file"),
    column("configuration", ArrayType(StringType()), "arguments of the tool, without secrets"),
    at="started_at",
)

PERF_TEST = (PERF_WINDOWS, PERF_SUMMARIES, CLIENT_METRICS, RUNS)
