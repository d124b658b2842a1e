"""Real request-log lines: recorded once from a lab, then repeated with later timestamps."""

import heapq
import json
import time
from array import array
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import count, repeat
from math import nan
from pathlib import Path

import numpy as np
from confluent_kafka import KafkaError, Message, Producer

from collectors.publish import COMPRESSION
from conf.names import Header, Kind
from lab import cluster, load
from lab.config import MAX_MESSAGE_BYTES
from lab.layout import Lab
from lab.topics import MAX_MESSAGE, create_telemetry_topics

RECORDED_S = 60.0
RATE = 2_000.0
SECOND = 19
"""The length of a timestamp up to the second: `2026-11-21T11:27:49`."""

TICK_S = 0.01
"""A paced publisher sleeps once per tick, because a sleep per line costs more than publishing it."""

POLL_EVERY = 32
"""The number of lines between two calls of `Producer.poll`, which runs the callbacks."""

MARK = "Completed request:"

TOPICS = (Kind.REQUEST_LOG, Kind.CLIENT_LOG, Kind.METRICS)
PARTITIONS = 2

NodeLine = tuple[str, bytes]
"""Node and line."""

Places = dict[int, np.ndarray]
"""Instants in epoch seconds by offset, for each partition."""


def record(state: Path) -> Path:
    """Return the folder with the logs of three brokers under load; the first call runs them for a minute."""
    logs = state / "recorded" / "logs"
    if (state / "recorded" / ".done").exists():
        return logs
    lab = cluster.start(state / "recorded", client_log=False)
    try:
        load.begin(lab, load.Load(records_per_s=RATE, duration_s=RECORDED_S)).wait()
    finally:
        cluster.stop(state / "recorded")
    (state / "recorded" / ".done").touch()
    return logs


def in_order(logs: Path) -> list[NodeLine]:
    """Return all lines of all brokers in the order of their timestamps."""
    nodes = [(path.parent.name, path) for path in sorted(logs.glob("broker-*/kafka-request.log"))]
    read = [zip(path.read_bytes().splitlines(), repeat(node)) for node, path in nodes]
    return [(node, line) for line, node in heapq.merge(*read)]


def repeated(lines: list[NodeLine], n: int) -> Iterator[NodeLine]:
    """Yield `n` lines: the recording repeatedly, each time later by its own length."""
    first, last = _second(lines[0][1]), _second(lines[-1][1])
    span = last - first + timedelta(seconds=1)
    yielded, shift = 0, timedelta()
    while yielded < n:
        moved: dict[bytes, bytes] = {}
        for node, line in lines[: n - yielded]:
            second = line[:SECOND]
            if second not in moved:
                moved[second] = (_second(line) + shift).strftime("%Y-%m-%dT%H:%M:%S").encode()
            yield node, moved[second] + line[SECOND:]
        yielded += len(lines)
        shift += span


def requests_in(lines: list[NodeLine], n: int) -> int:
    """Return how many lines of `repeated(lines, n)` have a whole request."""
    are_whole = [_is_whole(line) for _, line in lines]
    times, rest = divmod(n, len(lines))
    return times * sum(are_whole) + sum(are_whole[:rest])


def _is_whole(line: bytes) -> bool:
    try:
        return "totalTimeMs" in json.JSONDecoder().raw_decode(line.decode().partition(MARK)[2])[0]
    except ValueError:
        return False


def at_rate(lines: list[NodeLine], per_s: float, duration_s: float) -> Iterator[NodeLine]:
    """Yield lines at a steady pace with the current time; a late line is yielded at once."""
    began, n, sent = time.monotonic(), int(per_s * duration_s), 0
    for tick in count(1):
        now = stamp()
        due = min(n, round(tick * TICK_S * per_s))
        for nth in range(sent, due):
            node, line = lines[nth % len(lines)]
            yield node, now + line[line.index(b" ") :]
        if due == n:
            return
        sent = due
        ahead_s = tick * TICK_S - (time.monotonic() - began)
        if ahead_s > 0:
            time.sleep(ahead_s)


def of_span(lines: list[NodeLine], per_s: float, n: int, since: datetime) -> Iterator[NodeLine]:
    """Yield `n` lines at once, with the instants of a steady pace from `since` on."""
    for nth in range(n):
        node, line = lines[nth % len(lines)]
        yield node, stamp(since + timedelta(seconds=nth / per_s)) + line[line.index(b" ") :]


def stamp(at: datetime | None = None) -> bytes:
    """Return an instant (default: now) in Kafka's log layout, in UTC with nanoseconds."""
    return (at or datetime.now(UTC)).strftime("%Y-%m-%dT%H:%M:%S.%f").encode() + b"000Z"


def _second(line: bytes) -> datetime:
    return datetime.fromisoformat(line[:SECOND].decode()).replace(tzinfo=UTC)


class AppendTimes:
    """When the broker appended each record of a topic, in epoch seconds; NaN if that is not known."""

    def __init__(self) -> None:
        """Know no record."""
        self._at = {partition: array("d") for partition in range(PARTITIONS)}

    def note(self, message: Message) -> None:
        """Store the append time of a delivered record."""
        at = self._at[int(message.partition() or 0)]
        # If a response was lost and a record was sent twice, only the second offset is reported.
        at.extend([nan] * (int(message.offset() or 0) - len(at)))
        at.append(message.timestamp()[1] / 1e3)

    def places(self) -> Places:
        """Return the times by offset, for each partition."""
        return {partition: np.array(at) for partition, at in self._at.items()}


class Topics:
    """Telemetry topics of one benchmark, and a producer into the topic of request logs."""

    def __init__(self, lab: Lab, prefix: str, kinds: Sequence[Kind] = TOPICS) -> None:
        """Create the topics; the broker stamps each record with its append time."""
        self.prefix, self._bootstrap = prefix, lab.telemetry_bootstrap_servers
        settings = {"message.timestamp.type": "LogAppendTime"} | MAX_MESSAGE
        create_telemetry_topics(lab, prefix, kinds=kinds, partitions=PARTITIONS, settings=settings)
        self.appended = AppendTimes()

    @property
    def request_log(self) -> str:
        """Return the topic of request logs."""
        return self.prefix + Kind.REQUEST_LOG

    @property
    def metrics(self) -> str:
        """Return the topic of scrapes."""
        return self.prefix + Kind.METRICS

    def publish(self, lines: Iterator[NodeLine], *, linger_ms: int = 50, is_timed: bool = False) -> int:
        """Publish as a collector does; with `is_timed`, note when the broker appended each line."""
        options = {"compression.type": COMPRESSION, "linger.ms": linger_ms}
        options |= {"bootstrap.servers": self._bootstrap, "queue.buffering.max.messages": 200_000}
        producer, nth = Producer(options), 0
        noted = self._note if is_timed else None
        for nth, (node, value) in enumerate(lines, start=1):
            position = (Header.POSITION.value, f"{node}/bench/{nth}".encode())
            headers: list[tuple[str, str | bytes | None]] = [
                *headers_of(Kind.REQUEST_LOG, node, f"{node}/kafka-request.log"),
                position,
            ]
            while True:
                try:
                    producer.produce(
                        self.request_log,
                        value,
                        node.encode(),
                        nth % PARTITIONS,
                        headers=headers,
                        on_delivery=noted,
                    )
                    break
                except BufferError:
                    producer.poll(0.1)
            if nth % POLL_EVERY == 0:
                producer.poll(0)
        if producer.flush(60):
            message = "the telemetry broker did not acknowledge every line"
            raise RuntimeError(message)
        return nth

    def publish_pages(self, pages: Sequence[tuple[str, int, bytes]]) -> None:
        """Publish scrapes (node, instant in ns, page) round-robin to the partitions of their topic."""
        options = {"bootstrap.servers": self._bootstrap, "compression.type": COMPRESSION, "linger.ms": 50}
        producer = Producer(options | {"enable.idempotence": True, "message.max.bytes": MAX_MESSAGE_BYTES})
        for nth, (node, at_ns, page) in enumerate(pages):
            position = (Header.POSITION.value, f"{node}/scrape/{at_ns}".encode())
            headers: list[tuple[str, str | bytes | None]] = [
                *headers_of(Kind.METRICS, node, f"http://{node}/metrics"),
                position,
            ]
            producer.produce(self.metrics, page, node.encode(), nth % PARTITIONS, headers=headers)
            producer.flush(60)
        if len(producer):
            message = "the telemetry broker did not acknowledge every page"
            raise RuntimeError(message)

    def _note(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            raise RuntimeError(str(error))
        self.appended.note(message)


@cache
def headers_of(kind: Kind, node: str, source: str) -> list[tuple[str, bytes]]:
    """Return the headers of a record as a collector writes them, without the position."""
    headers = {
        Header.CLUSTER: "lab",
        Header.CLUSTER_ID: "A3UMX2uJTSWHqIFWNOVTbQ",
        Header.TIME_ZONE: "UTC",
        Header.NODE: node,
        Header.KIND: kind.value,
        Header.SOURCE: source,
    }
    return [(name.value, text.encode()) for name, text in headers.items()]
