"""Silver of performance tests: what Kafka's ProducerPerformance prints, and which run it is of."""

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
"""Which header of a telemetry record tells which column; `conf.names.Header` has the same words."""

RUN_DOCUMENT = "plumbline_run"
"""The one key of the JSON line that tells what was run: `conf.names.RUN_DOCUMENT`."""

RUN = [
    column("cluster", StringType(), "observed cluster"),
    column("run", StringType(), "the run, a name given by who ran it"),
    column("arm", StringType(), "what was tried in it: a client, a partitioner; NULL when nobody told"),
    column("scenario", StringType(), "what the run is part of; NULL when nobody told"),
    column("client_version", StringType(), "version of the Kafka client; NULL when nobody told"),
    column("logged_at", TimestampType(), "instant the line was read from the tool, UTC; NULL when not noted"),
]

FIGURES = [
    column("records", LongType(), "records sent"),
    column("records_per_s", DoubleType(), "records sent per second; NULL when the tool wrote NaN"),
    column("mib_per_s", DoubleType(), "2^20 bytes of records sent per second"),
    column(
        "avg_ms", DoubleType(), "mean latency of a record, from send to ack; NULL when the tool wrote NaN"
    ),
    column("max_ms", DoubleType(), "highest latency of a record"),
    column("is_steady_state", BooleanType(), "the warm-up is left out (Kafka 4.2 and newer)"),
]

FLAGS = column(
    "quality_flags",
    ArrayType(StringType()),
    "doubts: decimal_comma, not_a_number, no_instant; of a run: invalid_rate",
)


def _table(name: str, about: str, *columns: StructField) -> Table:
    schema = StructType([*RUN, *columns, FLAGS, *ORIGIN[1:]])
    return Table(layer="silver", name=name, about=about, key=("cluster", "position"), schema=schema)


PERF_WINDOWS = _table(
    "perf_windows",
    "One row per window line of ProducerPerformance: what was sent since the line before.",
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

PERF_RUNS = Table(
    layer="gold",
    name="perf_runs",
    about="Summary lines with what their runs were asked for. Made on read.",
    key=PERF_SUMMARIES.key,
    schema=StructType(
        [
            *PERF_SUMMARIES.schema.fields,
            column(
                "asked_records_per_s", DoubleType(), "rate asked for; NULL for as fast as it can, or untold"
            ),
        ]
    ),
)

CLIENT_METRICS = _table(
    "client_metrics",
    "One row per metric of the client, as `--print-metrics` writes them at the end of a run.",
    column("metric_group", StringType(), "group: producer-node-metrics"),
    column("metric", StringType(), "name: outgoing-byte-total"),
    column("tags", MapType(StringType(), StringType()), "tags: client-id, node-id, topic"),
    column("value", DoubleType(), "value; NULL when it is no number"),
    column("text", StringType(), "value as it was written"),
)

RUNS = _table(
    "runs",
    "What was run, told by `plumbline perf-test`: one row at the start, one more at the end.",
    column("started_at", TimestampType(), "when the tool was started"),
    column("ended_at", TimestampType(), "when it ended; NULL in the row of the start"),
    column("warm_up_s", DoubleType(), "seconds from the start that gold does not count to the run"),
    column("exit_code", IntegerType(), "the tool's; NULL in the row of the start"),
    column("client_id", StringType(), "client.id of the tool's producer"),
    column("topic_name", StringType(), "topic it produced to"),
    column("asked_records", LongType(), "records it was asked to send"),
    column("asked_records_per_s", DoubleType(), "rate it was asked for; NULL for as fast as it can"),
    column("record_size_bytes", IntegerType(), "size of a record; NULL for payloads of a file"),
    column("configuration", ArrayType(StringType()), "the tool's arguments, secrets left out"),
)

PERF_TEST = (PERF_WINDOWS, PERF_SUMMARIES, CLIENT_METRICS, RUNS)
