"""A real share consumer (KIP-932): Kafka's console tool, as a process of its own."""

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from confluent_kafka import TopicCollection, Uuid

from lab import jvm, topics
from lab.layout import Lab

PATIENCE_S = 30
STATE_TOPIC = "__share_group_state"


@contextmanager
def share_consumer(lab: Lab, topic: str, group: str = "") -> Iterator[None]:
    """Read a topic as client `share-TOPIC`, from its first logged fetch on, until the block ends."""
    name = f"share-{topic}"
    command = jvm.tool(
        "org.apache.kafka.tools.consumer.ConsoleShareConsumer",
        *("--bootstrap-server", lab.bootstrap_servers, "--topic", topic, "--group", group or name),
        *("--command-property", f"client.id={name}"),
    )
    reading = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _wait_for(lab, f'"clientId":"{name}","requestApiKeyName":"SHARE_FETCH"'.encode())
        yield
        assert reading.poll() is None, f"the share consumer of {topic} ended"
    finally:
        reading.terminate()
        reading.wait(PATIENCE_S)


def _wait_for(lab: Lab, text: bytes) -> None:
    logs = [Path(broker.logs) / "kafka-request.log" for broker in lab.brokers]
    deadline = time.monotonic() + PATIENCE_S
    while not any(text in log.read_bytes() for log in logs):
        assert time.monotonic() < deadline, f"no broker has logged {text.decode()}"
        time.sleep(0.25)


def group_stored_elsewhere(lab: Lab, topic: str) -> str:
    """Return a group whose state of partition 0 is at another broker than the leader of the partition."""
    client = topics.admin(lab.bootstrap_servers)  # It cancels its requests when it is deleted.
    topic_id = _as_kafka_writes_it(client.describe_topics(TopicCollection([topic]))[topic].result().topic_id)
    leader, coordinators = topics.leaders(lab, topic)[0], topics.leaders(lab, STATE_TOPIC)
    return next(
        group
        for group in (f"far-{nth}" for nth in count())
        # `ShareCoordinatorService.partitionFor`
        if coordinators[abs(_hash_code(f"{group}:{topic_id}:0")) % len(coordinators)] != leader
    )


def _as_kafka_writes_it(topic_id: Uuid) -> str:
    """
    Return the URL-safe base64 of `org.apache.kafka.common.Uuid`; librdkafka writes the standard one.

    >>> _as_kafka_writes_it(Uuid(-5, -1))
    '__________v__________w'
    """
    return str(topic_id).replace("+", "-").replace("/", "_")


def _hash_code(text: str) -> int:
    """
    Return `String.hashCode` of Java.

    >>> _hash_code("Aa"), _hash_code("polygenelubricants")
    (2112, -2147483648)
    """
    value = 0
    for letter in text:
        value = (31 * value + ord(letter)) & 0xFFFFFFFF
    return value - (1 << 32) if value >> 31 else value
