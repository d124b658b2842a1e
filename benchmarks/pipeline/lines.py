"""Real request-log lines for benchmarks: recorded from a lab once, repeated with their clocks moved on."""

import heapq
import json
import time
from array import array
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import repeat
from math import nan
from pathlib import Path

from confluent_kafka import KafkaError, Message, Producer
from confluent_kafka.cimpl import NewTopic

from conf.names import Header, Kind
from lab import cluster, load
from lab.layout import Lab
from lab.topics import admin

RECORDED_S = 60.0
RATE = 2_000.0
SECOND = 19
"""So many bytes tell the second: `2026-11-21T11:27:49`."""

MARK = "Completed request:"

TOPICS = (Kind.REQUEST_LOG, Kind.CLIENT_LOG, Kind.METRICS)
PARTITIONS = 2

Line = tuple[str, bytes]
"""Node and line."""


def record(state: Path) -> Path:
    """Run three brokers under load for a minute and give the folder of their logs; once."""
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


def in_order(logs: Path) -> list[Line]:
    """Give all lines of all brokers in the order of their clocks."""
    nodes = [(path.parent.name, path) for path in sorted(logs.glob("broker-*/kafka-request.log"))]
    read = [zip(path.read_bytes().splitlines(), repeat(node)) for node, path in nodes]
    return [(node, line) for line, node in heapq.merge(*read)]


def repeated(lines: list[Line], n: int) -> Iterator[Line]:
    """Give `n` lines: the recording again and again, each time moved on by its own length."""
    first, last = _second(lines[0][1]), _second(lines[-1][1])
    span = last - first + timedelta(seconds=1)
    given, shift = 0, timedelta()
    while given < n:
        moved: dict[bytes, bytes] = {}
        for node, line in lines[: n - given]:
            second = line[:SECOND]
            if second not in moved:
                moved[second] = (_second(line) + shift).strftime("%Y-%m-%dT%H:%M:%S").encode()
            yield node, moved[second] + line[SECOND:]
        given += len(lines)
        shift += span


def requests_in(lines: list[Line], n: int) -> int:
    """Count those of `repeated(lines, n)` that tell a whole request."""
    are_whole = [_is_whole(line) for _, line in lines]
    times, rest = divmod(n, len(lines))
    return times * sum(are_whole) + sum(are_whole[:rest])


def _is_whole(line: bytes) -> bool:
    try:
        return "totalTimeMs" in json.JSONDecoder().raw_decode(line.decode().partition(MARK)[2])[0]
    except ValueError:
        return False


def at_rate(lines: list[Line], per_s: float, duration_s: float) -> Iterator[Line]:
    """Give lines at a steady pace with the clock of now; what was late is given at once, not left out."""
    began, n = time.monotonic(), int(per_s * duration_s)
    for nth in range(n):
        node, line = lines[nth % len(lines)]
        ahead_s = nth / per_s - (time.monotonic() - began)
        if ahead_s > 0:
            time.sleep(ahead_s)
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f").encode()
        yield node, now + b"000Z" + line[line.index(b" ") :]


def _second(line: bytes) -> datetime:
    return datetime.fromisoformat(line[:SECOND].decode()).replace(tzinfo=UTC)


class Topics:
    """Telemetry topics of one benchmark, and a producer into the one of request logs."""

    def __init__(self, lab: Lab, prefix: str) -> None:
        """Create them."""
        self.prefix, self._bootstrap = prefix, lab.telemetry_bootstrap_servers
        stamped = {"message.timestamp.type": "LogAppendTime"}
        made = [NewTopic(prefix + kind, PARTITIONS, replication_factor=1, config=stamped) for kind in TOPICS]
        telemetry = admin(self._bootstrap)
        for created in telemetry.create_topics(made).values():
            created.result(timeout=30)
        self.appended_at = {partition: array("d") for partition in range(PARTITIONS)}

    @property
    def request_log(self) -> str:
        """The topic of the request logs."""
        return self.prefix + Kind.REQUEST_LOG

    def publish(self, lines: Iterator[Line], *, linger_ms: int = 50, is_timed: bool = False) -> int:
        """Publish as a collector does; with `is_timed` remember when the broker appended each line."""
        options = {"bootstrap.servers": self._bootstrap, "compression.type": "zstd", "linger.ms": linger_ms}
        producer, nth = Producer(options | {"queue.buffering.max.messages": 200_000}), 0
        noted = self._note if is_timed else None
        for nth, (node, value) in enumerate(lines, start=1):
            told = {
                Header.CLUSTER: "lab",
                Header.TIME_ZONE: "UTC",
                Header.NODE: node,
                Header.KIND: Kind.REQUEST_LOG.value,
                Header.SOURCE: f"{node}/kafka-request.log",
                Header.POSITION: f"{node}/bench/{nth}",
            }
            headers: list[tuple[str, str | bytes | None]] = [(k.value, v.encode()) for k, v in told.items()]
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
            producer.poll(0)
        if producer.flush(60):
            message = "the telemetry broker did not acknowledge every line"
            raise RuntimeError(message)
        return nth

    def _note(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            raise RuntimeError(str(error))
        appended_at = self.appended_at[int(message.partition() or 0)]
        # Of records sent again, since the answer was lost, only the second places are told.
        appended_at.extend([nan] * (int(message.offset() or 0) - len(appended_at)))
        appended_at.append(message.timestamp()[1] / 1e3)
