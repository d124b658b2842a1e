"""Request lines of a leader and its followers, whose every instant is known, and who released what."""

from datetime import UTC, datetime, timedelta

from schemas.gold.produce_held import PRODUCE_HELD
from schemas.silver.client_events import CLIENT_EVENTS
from schemas.silver.requests import REQUESTS
from schemas.silver.throttles import ISR_CHANGES
from schemas.silver.topics import TOPICS
from tests.transforms.gold.silver_rows import objects, whole
from transforms.gold.produce_held.held import load_held
from transforms.gold.produce_held.table import BUILD
from transforms.sql import connect

AT = datetime(2026, 11, 21, 12, 0, 5, tzinfo=UTC)
TOPIC_ID = "AAAAAAAAAAAAAAAAAAAAAg"
QUEUE_MS, LOCAL_MS, SEND_MS = 0.1, 0.3, 0.1


def at(ms):
    return AT + timedelta(microseconds=round(ms * 1e3))


def _line(api, started_ms, logged_ms, parts, **fields):
    row = {
        "cluster": "lab",
        "broker_id": 1,
        "api": api,
        "logged_at": at(logged_ms),
        "clock_resolution_ms": 1e-3,
    }
    row |= {"total_ms": logged_ms - started_ms, "is_own_traffic": False, "partitions": parts}
    row |= {"request_queue_ms": QUEUE_MS, "local_ms": LOCAL_MS, "response_queue_ms": 0.0, "send_ms": SEND_MS}
    row["remote_ms"] = max(0.0, round(row["total_ms"] - QUEUE_MS - row["local_ms"] - SEND_MS, 6))
    return row | fields


def part(offset, partition=0, **fields):
    return {
        "topic_id": TOPIC_ID,
        "partition": partition,
        "bytes": 100,
        "error_code": 0,
        "offset": offset,
    } | fields


def produce(started_ms, released_ms, offset=10, **fields):
    """Make a PRODUCE of one partition: appended 0.4 ms after its start, logged 0.1 ms after its release."""
    parts = fields.pop("parts", [part(offset)])
    logged_ms = released_ms + SEND_MS
    row = _line("PRODUCE", started_ms, logged_ms, parts, kind="other", client_id="app")
    return row | {"position": f"produce/{started_ms}", "connection": "app"} | fields


def fetch(started_ms, logged_ms, offset, follower=2, correlation_id=0, **fields):
    """Make a follower's FETCH, which is handled from 0.1 to 0.4 ms after its start."""
    parts = fields.pop("parts", [part(offset)])
    row = _line("FETCH", started_ms, logged_ms, parts, kind="follower", follower_id=follower)
    row |= {"client_id": f"broker-{follower}-fetcher-0", "connection": f"of-{follower}"}
    return row | {"position": f"fetch/{follower}/{started_ms}", "correlation_id": correlation_id} | fields


def replicated(follower, arrives_ms, *, waits_from=-200.0, answered_ms=1.2):
    """Make the fetch that gets the batch at 10 and the one that confirms it, which then waits 500 ms."""
    return [
        fetch(waits_from, answered_ms, 10, follower, 0),
        fetch(arrives_ms, arrives_ms + 500, 11, follower, 1),
    ]


def silver(lines, events=(), isr=(), *, names=True):
    topics = (
        [{"cluster": "lab", "topic_id": TOPIC_ID, "topic_name": "orders", "seen_at": AT}] if names else []
    )
    return {REQUESTS: lines, CLIENT_EVENTS: events, ISR_CHANGES: isr, TOPICS: topics}


def requests(lines, events=(), isr=()):
    """Return each PRODUCE with its releaser and parts."""
    with connect({}) as db:
        load_held(db, whole(silver(lines, events, isr)))
        return objects(db.sql("FROM held ORDER BY logged_us").to_arrow_table())


def gold(*given, **named):
    """Return the windows as Arrow."""
    return BUILD.rows(whole(silver(*given, **named)))[PRODUCE_HELD]
