"""Request lines of two leaders, made by the millisecond, and the redirects in them."""

from datetime import UTC, datetime, timedelta

from pyspark.sql.types import (
    DoubleType,
    IntegerType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from schemas.silver.leadership_changes import LEADERSHIP_CHANGES
from schemas.silver.perf_test import RUNS
from schemas.silver.requests import REQUESTS
from schemas.silver.topics import TOPICS
from transforms.frames import frame_of
from transforms.gold.leader_redirect.table import leader_redirect

AT = datetime(2026, 11, 21, 12, tzinfo=UTC)
MS = timedelta(milliseconds=1)
FETCHES = StructType(
    [
        *(StructField(name, StringType()) for name in ("cluster", "kind")),
        *(StructField(name, IntegerType()) for name in ("leader_id", "follower_id")),
        *(StructField(name, TimestampType()) for name in ("logged_at", "received_at")),
        *(StructField(name, DoubleType()) for name in ("total_ms", "send_ms", "elapsed_ms")),
    ]
)
"""What of `pairing.fetches` tells of clocks."""


def request(ms, broker, error=0, *, took_ms=1, **fields):
    """Make one PRODUCE of `t-0`, answered `ms` after noon."""
    part = {"topic_name": "t", "partition": 0, "bytes": 10, "error_code": error, "offset": 5}
    part |= fields.pop("part", {})
    row = {"cluster": "lab", "broker_id": broker, "api": "PRODUCE", "kind": "other", "client_id": "c"}
    row |= {"logged_at": AT + ms * MS, "started_at": AT + (ms - took_ms) * MS, "total_ms": float(took_ms)}
    row |= {"connection": f"c-{broker}", "software_version": "3.9.1", "is_own_traffic": False}
    row |= {"position": f"{broker}/{ms}", "partitions": [part]}
    return row | fields


def lookup(ms, **fields):
    return request(ms, 1, api="METADATA", **fields) | {"partitions": None, "position": f"m/{ms}"}


def began(ms, broker, **fields):
    """Make the line in which a broker begins to lead `t-0`."""
    row = {"cluster": "lab", "broker_id": broker, "role": "leader", "topic_name": "t", "partition_index": 0}
    return row | {"logged_at": AT + ms * MS, "leader_id": broker, "position": f"s/{ms}"} | fields


def fetch(ms, pair, *, offset_ms, rtt_ms=1.0, total_ms=500.0):
    """Make one fetch whose leader's clock is ahead of the follower's by so much."""
    leader, follower = pair
    answered = AT + (ms + offset_ms) * MS
    received = AT + (ms + rtt_ms / 2) * MS
    row = {"cluster": "lab", "kind": "follower", "leader_id": leader, "follower_id": follower}
    row |= {"logged_at": answered, "received_at": received, "total_ms": total_ms, "send_ms": 0.0}
    return row | {"elapsed_ms": total_ms + rtt_ms}


def built(spark, rows, changes=(), fetches=()):
    return leader_redirect(
        frame_of(spark, rows, REQUESTS.schema),
        frame_of(spark, [], TOPICS.schema),
        frame_of(spark, [], RUNS.schema),
        frame_of(spark, list(changes), LEADERSHIP_CHANGES.schema),
        frame_of(spark, list(fetches), FETCHES),
    )


HINT = {"hinted_leader_id": 2, "hinted_leader_epoch": 7}
MOVE = [request(0, 1), request(10, 1, 6, part=HINT), request(15, 2), request(20, 2)]
CONSUMER = {"api": "FETCH", "kind": "consumer"}
