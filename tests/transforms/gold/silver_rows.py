"""Silver as parsers would write it, from the few facts a test cares about."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.dataset as ds
from pyspark.sql import Row

from engine.gold.inputs import WholeInputs, gold_of_all
from schemas.silver.client_events import CLIENT_EVENTS
from schemas.silver.listeners import LISTENERS
from schemas.silver.requests import REQUESTS
from transforms.frames import arrow_of
from transforms.gold.fetch_latency.build import BUILD
from transforms.sql import connect

START = datetime(2026, 11, 21, 11, 20, tzinfo=UTC)
MONO_AT_START_NS = 5_000_000_000_000


def at(second):
    return START + timedelta(microseconds=round(second * 1e6))


def mono(second):
    return MONO_AT_START_NS + round(second * 1e9)


def _row(table, known):
    unknown = set(known) - set(table.schema.names)
    assert not unknown, unknown
    return tuple(known.get(name) for name in table.schema.names)


def request(  # noqa: PLR0913 (each is a fact of a line that some test is about)
    second, *, leader=1, follower=2, correlation_id=0, session_id=77, total_ms=500.0, **more
):
    """Make a replica fetch that the leader logged `second` seconds after `START`."""
    known = {
        "cluster": "lab",
        "broker_id": leader,
        "logged_at": at(second),
        "logged_mono_ns": mono(second),
        "clock_resolution_ms": 1e-6,
        "logged_date": at(second).date(),
        "api": "FETCH",
        "client_id": f"broker-{follower}-fetcher-0",
        "correlation_id": correlation_id,
        "connection": f"127.0.0.1:2100{leader}-127.0.0.1:3600{follower}-0-0",
        "response_session_id": session_id,
        "kind": "follower",
        "follower_id": follower,
        "total_ms": None if total_ms is None else float(total_ms),
        "remote_ms": float(total_ms - 1) if total_ms is not None and total_ms > 100 else 0.0,
        "send_ms": 0.1,
        "is_own_traffic": False,
        "node": f"broker-{leader}",
        "source": f"broker-{leader}/kafka-request.log",
        "position": f"broker-{leader}/f00d/{second}/{follower}/{correlation_id}",
    }
    return _row(REQUESTS, known | more)


def share_fetch(second, **more):
    """Make a SHARE_FETCH of a share consumer."""
    known = {"api": "SHARE_FETCH", "kind": "share", "follower_id": None, "session_id": None}
    return request(second, **known | more)


def event(  # noqa: PLR0913 (as above)
    second, direction, *, leader=1, follower=2, correlation_id=0, session_id=77, **more
):
    """Make a NetworkClient line of a replica fetcher."""
    known = {
        "cluster": "lab",
        "node_id": follower,
        "logged_at": at(second),
        "logged_mono_ns": mono(second) + 10**15,  # each host counts from its own boot
        "clock_resolution_ms": 1e-6,
        "logged_date": at(second).date(),
        "direction": direction,
        "component": "ReplicaFetcher",
        "follower_id": follower,
        "fetcher_id": 0,
        "destination_id": leader,
        "api": "FETCH",
        "client_id": f"broker-{follower}-fetcher-0",
        "correlation_id": correlation_id,
        "session_id": session_id,
        "node": f"broker-{follower}",
        "source": f"broker-{follower}/network-client.log",
        "position": f"broker-{follower}/beef/{second}/{direction}/{leader}/{correlation_id}",
    }
    return _row(CLIENT_EVENTS, known | more)


def fetch(  # noqa: PLR0913 (as above)
    second, *, rtt_ms=1.0, total_ms=500.0, correlation_id=0, leader=1, follower=2, **more
):
    """One fetch that ends at the leader at `second`, as (requests, client events); half the way each way."""
    names = {"leader": leader, "follower": follower, "correlation_id": correlation_id, **more}
    sent, received = second - (total_ms + rtt_ms / 2) / 1e3, second + rtt_ms / 2e3
    return [request(second, total_ms=total_ms, send_ms=0.0, **names)], [
        event(sent, "sent", **names),
        event(received, "received", **names),
    ]


def stream_of(n, *, first=0.6, rtt_ms=1.0, total_ms=500.0, start_id=0, **more):
    """`n` fetches of one fetcher, one after the other; the follower itself takes no time."""
    requests, events = [], []
    second = first
    for correlation_id in range(start_id, start_id + n):
        served, seen = fetch(second, rtt_ms=rtt_ms, total_ms=total_ms, correlation_id=correlation_id, **more)
        requests += served
        events += seen
        second += (total_ms + rtt_ms) / 1e3
    return requests, events


def joined(*parts):
    return [row for requests, _ in parts for row in requests], [row for _, events in parts for row in events]


def arrow(table, rows):
    """Return rows of a table as Arrow, for SQL."""
    return arrow_of(rows, table.schema)


def whole(silver):
    """Return inputs with these rows by table; listeners have no role unless they are among them."""
    rows_of = {LISTENERS: [], **silver}
    return WholeInputs({table: ds.dataset(arrow(table, rows)) for table, rows in rows_of.items()})


def built(build, silver):
    """Return the gold of a build from rows of silver, by table."""
    return {table: objects(rows) for table, rows in gold_of_all(build, whole(silver)).items()}


def objects(rows):
    """Return Arrow rows as `Row`s in the order of their columns; a map is a dict, an instant has its zone."""
    maps = [field.name for field in rows.schema if pa.types.is_map(field.type)]
    found = [
        Row(**row | {name: None if row[name] is None else dict(row[name]) for name in maps})
        for row in rows.to_pylist()
    ]
    return sorted(found, key=lambda row: [str(cell) for cell in row])


def selected(query, requests, events=()):
    """Return what a query finds in rows of `requests` and `client_events`, as objects."""
    rows = {"requests": arrow(REQUESTS, requests), "client_events": arrow(CLIENT_EVENTS, events)}
    with connect(rows) as db:
        return [SimpleNamespace(**row) for row in db.sql(query).to_arrow_table().to_pylist()]


def replaced(table, row, **changes):
    values = dict(zip(table.schema.names, row, strict=True)) | changes
    return tuple(values[name] for name in table.schema.names)


def frame_of_arrow(spark, rows):
    """Return a frame of Arrow rows; Spark cannot read columns without a chunk, which no rows have."""
    return spark.createDataFrame(rows if rows.num_rows else pa.Table.from_pylist([], schema=rows.schema))


def as_rows(frame):
    """Put rows into an order of their own: equal frames give equal lists."""
    return sorted((row.asDict(recursive=True) for row in frame.collect()), key=repr)


def fetch_gold(requests, client_events=()):
    """Build `fetch_latency` and `broker_rtt` from rows of silver."""
    return built(BUILD, {REQUESTS: requests, CLIENT_EVENTS: client_events})
