"""Telemetry about throttles and moves: a replica moves under a throttle, repeatedly."""

import json
from collections.abc import Iterator
from typing import Any

from benchmarks.faults.lines.client_lines import TOPIC, TOPIC_ID, logged
from benchmarks.faults.site import PublishedLine
from tests.engine.made_logs import START_NS
from tests.transforms.parse.records import HEAD, TAIL, line
from tests.transforms.parse.requests.admin_lines import (
    BROKER,
    DELETE,
    FOLLOWER_LIST,
    FOLLOWER_RATE,
    LEADER_LIST,
    LEADER_RATE,
    SET,
    alter_configs,
    alter_isr,
    reassign,
)
from tests.transforms.parse.requests.admin_lines import TOPIC as IS_TOPIC

EVERY_S, BEGINS_S, ENDS_S, CLEARED_S, POLL_EVERY_S = 90, 6, 60, 63, 30
LEADER, FOLLOWER, PARTITION = 1, 2, 7
LIMIT = 1_000_000
RECORD_BYTES = 1_000


def of_moves(seconds: int) -> Iterator[tuple[float, PublishedLine]]:
    """Yield the lines of `seconds` with their instants; they make rows of every table about moves."""
    for number, (at_s, node, kind, value) in enumerate(_entries(seconds)):
        yield START_NS / 1e9 + at_s, PublishedLine(kind, node, f"{node}/{kind}/of-moves-{number}", value)


MoveLine = tuple[float, str, str, bytes]


def _entries(seconds: int) -> Iterator[MoveLine]:
    for second in range(seconds):
        begun, since = second - second % EVERY_S, second % EVERY_S
        if since == BEGINS_S - 1:
            yield _logged(second, LEADER, _throttle(SET))
        elif since == BEGINS_S:
            yield _logged(second, LEADER, reassign(TOPIC, {PARTITION: [FOLLOWER]}))
        elif BEGINS_S < since < ENDS_S:
            yield _logged(second, LEADER, _fetched(since - BEGINS_S - 1))
        elif since == ENDS_S:
            in_sync = alter_isr(PARTITION, [LEADER, FOLLOWER])
            yield _logged(second, LEADER, in_sync.replace(_OTHER_ID, TOPIC_ID.encode()))
        elif since == CLEARED_S:
            yield _logged(second, LEADER, _throttle(DELETE))
        if second % POLL_EVERY_S == 0:
            yield _poll(second, is_on=begun + BEGINS_S <= second < begun + CLEARED_S)


_OTHER_ID = b"lbkW2mcMTU2a3rA6VuNANA"


def _throttle(operation: int) -> bytes:
    is_set = operation == SET
    rate = str(LIMIT) if is_set else None
    lists = {LEADER_LIST: f"{PARTITION}:{LEADER}", FOLLOWER_LIST: f"{PARTITION}:{FOLLOWER}"}
    return alter_configs(
        (BROKER, str(LEADER), [(LEADER_RATE, operation, rate)]),
        (BROKER, str(FOLLOWER), [(FOLLOWER_RATE, operation, rate)]),
        (IS_TOPIC, TOPIC, [(name, operation, value if is_set else None) for name, value in lists.items()]),
    )


def _fetched(second: int) -> bytes:
    """Return a fetch of the new replica with as many bytes as the limit allows in one second."""
    per_s = LIMIT // RECORD_BYTES
    requested = {"partition": PARTITION, "fetchOffset": second * per_s, "partitionMaxBytes": 2**20}
    result = {"partitionIndex": PARTITION, "errorCode": 0, "highWatermark": (ENDS_S - BEGINS_S) * per_s}
    result |= {"lastStableOffset": result["highWatermark"], "logStartOffset": 0, "recordsSizeInBytes": LIMIT}
    changes: dict[str, Any] = {
        "request.topics": [{"topicId": TOPIC_ID, "partitions": [requested]}],
        "response.responses": [{"topicId": TOPIC_ID, "partitions": [result]}],
        "requestHeader.correlationId": 900_000 + second,
        "request.replicaState.replicaId": FOLLOWER,
        "totalTimeMs": 21.5,
        "remoteTimeMs": 1.5,
    }
    return line(**changes)


def _logged(at_s: float, broker: int, value: bytes) -> MoveLine:
    text = "Completed request:" + value.removeprefix(HEAD).removesuffix(TAIL).decode()
    return at_s, f"broker-{broker}", "request-log", logged(at_s, text, "kafka.request.logger").encode()


def _poll(at_s: float, *, is_on: bool) -> MoveLine:
    rates = {LEADER_RATE: str(LIMIT)} if is_on else {}
    topics = {TOPIC: {LEADER_LIST: f"{PARTITION}:{LEADER}"}} if is_on else None
    at_ns = START_NS + round(at_s * 1e9)
    document = {"polled_at_ns": at_ns, "brokers": {"1": rates}, "topics": topics}
    return at_s, "cluster", "cluster", json.dumps(document).encode()
