"""Request lines of two leaders, made by the millisecond, and the redirects in them."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pyarrow as pa

from schemas.silver.leadership_changes import LEADERSHIP_CHANGES
from schemas.silver.perf_test import RUNS
from schemas.silver.requests import REQUESTS
from schemas.silver.topics import TOPICS
from tests.transforms.gold.silver_rows import whole
from transforms.gold.leader_redirect.build import redirects

AT = datetime(2026, 11, 21, 12, tzinfo=UTC)
MS = timedelta(milliseconds=1)
FETCHES = pa.schema(
    [
        ("cluster", pa.string()),
        *((name, pa.int32()) for name in ("leader_id", "follower_id")),
        *((name, pa.int64()) for name in ("logged_us", "received_us")),
        *((name, pa.float64()) for name in ("total_ms", "send_ms", "elapsed_ms")),
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
    row = {"cluster": "lab", "leader_id": leader, "follower_id": follower}
    row |= {"logged_us": _us(answered), "received_us": _us(received), "total_ms": total_ms, "send_ms": 0.0}
    return row | {"elapsed_ms": total_ms + rtt_ms}


def _us(at):
    return (at - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def built(rows, changes=(), fetches=(), topics=()):
    silver = {REQUESTS: rows, LEADERSHIP_CHANGES: changes, TOPICS: topics, RUNS: ()}
    found = redirects(whole(silver), lambda _: pa.Table.from_pylist(list(fetches), FETCHES))
    return [SimpleNamespace(**row) for row in found.sort_by("errored_at").to_pylist()]


HINT = {"hinted_leader_id": 2, "hinted_leader_epoch": 7}
MOVE = [request(0, 1), request(10, 1, 6, part=HINT), request(15, 2), request(20, 2)]
CONSUMER = {"api": "FETCH", "kind": "consumer"}
