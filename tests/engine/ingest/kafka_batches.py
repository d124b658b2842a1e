"""Arrow batches as Spark's Kafka source gives them to a task."""

from datetime import UTC, datetime

import pyarrow as pa

from engine.ingest.parsers import ParserOptions
from engine.ingest.task import TaskPlan

AT = datetime(2026, 11, 21, 9, 20, tzinfo=UTC)
TOPIC = "telemetry.request-log"
HEADERS = {
    "cluster": b"lab",
    "time-zone": b"UTC",
    "node": b"broker-1",
    "kind": b"request-log",
    "source": b"kafka-request.log",
    "position": b"broker-1/aa/0",
}
SCHEMA = pa.schema(
    [
        ("value", pa.binary()),
        ("key", pa.binary()),
        ("headers", pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("us", "UTC")),
        ("timestampType", pa.int32()),
    ]
)


def kafka_batch(values, *, topic=TOPIC, first=0, headers=HEADERS):
    """Return one batch of a partition, its offsets counted up from `first`."""
    pairs = None if headers is None else [{"key": key, "value": value} for key, value in headers.items()]
    rows = [
        {
            "value": value,
            "key": b"broker-1",
            "headers": pairs,
            "topic": topic,
            "partition": 0,
            "offset": first + n,
            "timestamp": AT,
            "timestampType": 0,
        }
        for n, value in enumerate(values)
    ]
    return pa.RecordBatch.from_pylist(rows, schema=SCHEMA)


def task_plan(warehouse, **changes):
    """Return a plan for batches of the request log."""
    bronze = {"request-log": "request_log", "metrics": "metrics"}
    plan = {
        "warehouse": str(warehouse),
        "attempt": "ingest_request_log-a-0",
        "reader": str(warehouse),
        "ingested_at": 1_795_252_800_000_000,
        "options": ParserOptions(),
        "kinds": {TOPIC: "request-log", "telemetry.metrics": "metrics"},
        "bronze": bronze,
    }
    return TaskPlan(**plan | changes)
