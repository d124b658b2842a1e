"""Messages as a task consumes them from Kafka, made by confluent-kafka without a broker."""

from dataclasses import replace
from datetime import UTC, datetime
from unittest.mock import patch

import pyarrow as pa
from confluent_kafka import TIMESTAMP_CREATE_TIME, Message

from engine.ingest.task import task_plan as task
from engine.ingest.task.parsers import ParserOptions
from engine.ingest.task.task_plan import TaskPlan

AT = datetime(2026, 11, 21, 9, 20, tzinfo=UTC)
AT_MS = int(AT.timestamp() * 1_000)
TOPIC = "telemetry.request-log"
HEADERS = {
    "cluster": b"lab",
    "time-zone": b"UTC",
    "node": b"broker-1",
    "kind": b"request-log",
    "source": b"kafka-request.log",
    "position": b"broker-1/aa/0",
}
IDS = pa.RecordBatch.from_pydict({"id": [0]})
"""A task's input from Spark: the number of its share."""


def kafka_batch(values, *, topic=TOPIC, first=0, headers=HEADERS, millis=AT_MS):
    """Return messages of one partition, with consecutive offsets from `first`."""
    return [
        Message(
            value=value,
            key=b"broker-1",
            headers=None if headers is None else list(headers.items()),
            topic=topic,
            partition=0,
            offset=first + n,
            timestamp=(TIMESTAMP_CREATE_TIME, millis),
        )
        for n, value in enumerate(values)
    ]


def run_task(batches, plan, **options):
    """Run a task as Spark does, on these messages instead of Kafka's."""
    with patch.object(task, "messages_of", lambda *_: iter(batches)):
        return list(task.run(iter([IDS]), replace(plan, shares=[[]]), **options))


def task_plan(warehouse, **changes):
    """Return the plan of a request-log task."""
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
