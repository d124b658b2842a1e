"""Silver rows of throttled moves, by second, as brokers would log them while replicas are copied."""

from datetime import UTC, datetime, timedelta

import pyarrow as pa

from schemas.silver.requests import REQUESTS
from schemas.silver.throttles import ISR_CHANGES, REASSIGNMENTS, THROTTLE_CHANGES
from schemas.silver.topics import TOPICS
from tests.transforms.gold.silver_rows import whole
from transforms.gold.throttle_compliance.build import throttle_tables
from transforms.sql import connect, load

AT = datetime(2026, 11, 21, 12, tzinfo=UTC)
MB = 1_000_000
RECORD_BYTES = 1_000
INSTANT = pa.timestamp("us", "UTC")
SUMS = (
    *("bean_max_bytes_per_s", "bean_sum_bytes_per_s", "reassignment_bytes", "replication_bytes"),
    "counter_s",
)
OF_BROKER = {"cluster": pa.string(), "broker_id": pa.int32(), "at": INSTANT}
EVENTS = pa.schema(
    OF_BROKER | dict.fromkeys(SUMS, pa.float64()) | {"direction": pa.string(), "bean_n": pa.int64()}
)
SIZES = pa.schema(OF_BROKER | {"topic": pa.string(), "partition": pa.int32(), "size_bytes": pa.float64()})


def at(second):
    return AT + timedelta(microseconds=round(second * 1e6))


def fetch(second, parts, *, leader=1, follower=2, **fields):
    """Return a follower's FETCH; `parts` are {partition: (bytes, offset, high watermark)}."""
    partitions = [
        {
            "topic_name": fields.get("of", "t"),
            "partition": p,
            "bytes": size,
            "offset": offset,
            "high_watermark": until,
        }
        for p, (size, offset, until) in parts.items()
    ]
    fields.pop("of", None)
    row = {"cluster": "lab", "broker_id": leader, "api": "FETCH", "kind": "follower", "follower_id": follower}
    row |= {"logged_at": at(second), "position": f"{leader}/{follower}/{second}", "partitions": partitions}
    return row | {"is_own_traffic": False} | fields


def produce(second, size, *, partition=0, leader=1, **fields):
    part = {"topic_name": "t", "partition": partition, "bytes": size, "error_code": 0, "offset": 1}
    row = {"cluster": "lab", "broker_id": leader, "api": "PRODUCE", "kind": "other", "client_id": "c"}
    row |= {"logged_at": at(second), "position": f"p/{leader}/{second}/{partition}", "partitions": [part]}
    return row | {"is_own_traffic": False} | fields


def idle(second, leader=1):
    """Return a line without partitions, which only shows that the window has a log."""
    return fetch(second, {}, leader=leader, follower=9)


def copied(seconds, rate, *, whole, first=None, partition=0, start=1, every=1, inbound=0, **more):  # noqa: PLR0913 (facts of a test)
    """
    Return the fetches that copy `whole` bytes of a partition at a rate in bytes/s, one every `every` seconds.

    `first` is the size of the first answer; `inbound` bytes/s are produced at the same time.
    """
    rows, offset, end = [], 0, whole // RECORD_BYTES
    for number, second in enumerate(range(start, start + seconds, every)):
        size = first if first is not None and number == 0 else rate * every
        size = min(size, (end - offset) * RECORD_BYTES)
        rows.append(fetch(second + 0.5, {partition: (size, offset, end)}, **more))
        offset += size // RECORD_BYTES
        end += inbound * every // RECORD_BYTES
        if inbound:
            rows += [produce(second + step + 0.2, inbound, partition=partition) for step in range(every)]
    return [*rows, fetch(start + seconds + 0.5, {partition: (0, offset, end)}, **more)]


def rate(second, value, broker=1, direction="leader", **fields):
    row = {"cluster": "lab", "broker_id": 1, "logged_at": at(second), "resource": "broker"}
    row |= {"resource_name": None if broker is None else str(broker)}
    row |= {"config": f"{direction}.replication.throttled.rate", "is_applied": True, "error_code": 0}
    row |= {"operation": "delete" if value is None else "set", "rate_bytes_per_s": value}
    row |= {"logged_date": at(second).date()}
    return row | {"position": f"r/{second}/{broker}/{direction}", "told_by": "request_log"} | fields


def listing(second, value, direction="leader", topic="t", operation="set", **fields):
    row = {"cluster": "lab", "broker_id": 1, "logged_at": at(second), "resource": "topic"}
    row |= {"config": f"{direction}.replication.throttled.replicas", "operation": operation, "value": value}
    row |= {"resource_name": topic, "is_applied": True, "error_code": 0, "told_by": "request_log"}
    row |= {"logged_date": at(second).date()}
    return row | {"position": f"l/{second}/{topic}/{direction}/{operation}"} | fields


def throttle(second, limit, *, source=1, destination=2, partitions=(0,)):
    """Return the changes of Kafka's own tool: both rates on both brokers, and the lists of replicas."""
    rates = [rate(second, limit, b, d) for b in (source, destination) for d in ("leader", "follower")]
    lists = [
        listing(second, ",".join(f"{p}:{broker}" for p in partitions), direction)
        for direction, broker in (("leader", source), ("follower", destination))
    ]
    return rates + lists


def polled(second, *, rates=(None, None), topics=(), cluster="lab", poller="cluster"):
    """Return the rows of a poll: rates of brokers 1 and 2, and lists, unless `topics` is None."""
    sides = ("leader", "follower")
    found = [rate(second, value, broker, side) for side in sides for broker, value in enumerate(rates, 1)]
    if topics is not None:
        found += [listing(second, None, side, topic=None, operation="delete") for side in sides]
        found += [listing(second, value, topic=topic) for topic, value in topics]
    origin = {"told_by": "poll", "position": f"{poller}/poll/{second}", "cluster": cluster}
    return [row | origin | {"broker_id": None} for row in found]


def move(second, targets, **fields):
    """Return the request of a move; `targets` are {partition: replicas}."""
    row = {"cluster": "lab", "broker_id": 1, "logged_at": at(second), "topic_name": "t", "error_code": 0}
    row |= {"api": "ALTER_PARTITION_REASSIGNMENTS", "client_id": "tool", "correlation_id": 4}
    row |= {"principal": "User:me"}
    return [
        row | {"partition_index": p, "replicas": to, "position": f"m/{second}"} | fields
        for p, to in targets.items()
    ]


def in_sync(second, isr, partition=0, **fields):
    row = {"cluster": "lab", "broker_id": 1, "logged_at": at(second), "topic_name": "t", "leader_id": 1}
    row |= {"partition_index": partition, "isr": isr, "error_code": 0}
    return row | {"position": f"i/{second}/{partition}"} | fields


def bean(second, value, broker=1, direction="leader"):
    values = {"bean_max_bytes_per_s": float(value), "bean_sum_bytes_per_s": float(value), "bean_n": 1}
    return {"cluster": "lab", "broker_id": broker, "direction": direction, "at": at(second)} | values


def counter(second, value, broker=1, direction="leader", took_s=10.0):
    values = {"reassignment_bytes": float(value), "counter_s": took_s}
    return {"cluster": "lab", "broker_id": broker, "direction": direction, "at": at(second)} | values


def size(second, value, broker, partition=0):
    replica = {"cluster": "lab", "broker_id": broker, "topic": "t", "partition": partition}
    return replica | {"at": at(second), "size_bytes": float(value)}


def with_lists(changes):
    """Add the columns that the parser reads from a list of `partition:broker`; replicas are NULL for `*`."""
    return [change | _listed(change.get("value")) for change in changes]


def _listed(value):
    if value in {None, "*"}:
        return {"replicas": None, "is_wildcard": value and True}
    pairs = dict.fromkeys(pair for pair in value.split(",") if ":" in pair)
    replicas = [
        dict(zip(("partition", "broker_id"), map(int, pair.split(":")), strict=True)) for pair in pairs
    ]
    return {"replicas": replicas, "is_wildcard": False}


def gold(*, requests=(), changes=(), moves=(), isr=(), events=(), sizes=()):  # noqa: PLR0913 (one table each)
    """Return both tables by window, built from silver rows, as Arrow."""
    silver = {REQUESTS: requests, THROTTLE_CHANGES: with_lists(changes), TOPICS: ()}
    silver |= {REASSIGNMENTS: moves, ISR_CHANGES: isr}
    with connect({}) as db:
        for name, rows, schema in (("events", events, EVENTS), ("sizes", sizes, SIZES)):
            of_metrics = pa.Table.from_pylist(list(rows), schema=schema)
            load(db, name, of_metrics, 'SELECT * EXCLUDE ("at"), epoch_us("at") AS at_us FROM rows')
        return throttle_tables(db, whole(silver))
