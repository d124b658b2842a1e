"""
Read offset ranges of Kafka partitions inside a task, with librdkafka.

Spark plans the offset ranges of a batch; the tasks fetch them. This takes less than half the time of Spark's
own Kafka reader, and memory is bounded by bytes, not records (`docs/decisions/021-tasks-read-kafka.md`).
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

from conf.kafka_security import PLAINTEXT, KafkaSecurity
from conf.names import TelemetryPartition

Options = tuple[tuple[str, str], ...]
"""librdkafka options as (name, value) pairs, without secrets: a plan contains them."""

TAKEN_RECORDS = 32
"""Most records of one `consume` call. It takes only records in librdkafka's queue, which bounds its bytes."""

POLL_S, PATIENCE_S = 1.0, 120.0
"""The longest wait of one `consume` call, and the longest silence of all brokers before a task fails."""

OWN = {
    "enable.auto.commit": "false",  # Spark's checkpoint holds the offsets.
    "auto.offset.reset": "error",
    "enable.partition.eof": "true",
    "isolation.level": "read_uncommitted",
    "queued.max.messages.kbytes": "16384",
    "fetch.message.max.bytes": "65536",  # librdkafka decompresses a whole fetch; of LZ4, at most to 16 MiB.
    "fetch.wait.max.ms": "20",
    "fetch.queue.backoff.ms": "10",  # The queue is often full, and librdkafka's default wait is 1 s.
    "log_level": "2",
}
TRANSIENT = frozenset(
    (
        KafkaError._ALL_BROKERS_DOWN,  # noqa: SLF001 (confluent-kafka has no other name for it)
        KafkaError._TRANSPORT,  # noqa: SLF001
        KafkaError._TIMED_OUT,  # noqa: SLF001
        KafkaError._RESOLVE,  # noqa: SLF001
    )
)
"""Errors that librdkafka recovers from by reconnecting."""


UNKNOWN = -1
"""The leader epoch of a record that was not read, or has none."""


class Range(NamedTuple):
    """An offset range of one partition: `first` inclusive, `end` exclusive."""

    topic: str
    partition: int
    first: int
    end: int
    epoch_before: int = UNKNOWN  # the leader epoch that the record before `first` had when it was read


@dataclass(slots=True)
class Epochs:
    """
    The leader epochs that tasks have found in their ranges.

    A range whose first record has another leader epoch than the record before it had is `changed`. If the
    record before it has another one now, too, the partition was truncated and written again.
    """

    last: dict[TelemetryPartition, int] = field(default_factory=dict)  # of the last record of each range
    changed: list[Range] = field(default_factory=list)
    truncated: list[Range] = field(default_factory=list)


class UnreadError(Exception):
    """Records of a batch cannot be read; the message names the topic and partition where known."""


def shares_of(
    offsets: Mapping[TelemetryPartition, tuple[int, int]],
    *,
    tasks: int,
    records_per_task: int,
    epochs: Mapping[TelemetryPartition, int] = MappingProxyType({}),
) -> list[list[Range]]:
    """
    Split the offsets of a batch evenly: one task per `records_per_task` records, at most `tasks`.

    `epochs` are the leader epochs of the records before the batch.

    >>> shares = shares_of({("t", 0): (0, 10), ("t", 1): (5, 7)}, tasks=2, records_per_task=4)
    >>> [[tuple(one[:4]) for one in share] for share in shares]
    [[('t', 0, 0, 6)], [('t', 0, 6, 10), ('t', 1, 5, 7)]]
    """
    records = sum(end - first for first, end in offsets.values())
    n = min(tasks, -(-records // records_per_task))
    shares: list[list[Range]] = [[] for _ in range(n)]
    before = 0
    for (topic, partition), (first, end) in sorted(offsets.items()):
        at = first
        while at < end:
            index = before * n // records
            room = -(-records * (index + 1) // n) - before
            until = min(end, at + room)
            epoch = epochs.get((topic, partition), UNKNOWN) if at == first else UNKNOWN
            shares[index].append(Range(topic, partition, at, until, epoch))
            before, at = before + until - at, until
    return shares


def messages_of(
    options: Options, ranges: Sequence[Range], epochs: Epochs, security: KafkaSecurity = PLAINTEXT
) -> Iterator[list[Message]]:
    """
    Yield all records of the ranges in small lists, in offset order within each partition.

    `epochs` gets the leader epoch of the last record of each range, and the partitions that were truncated.

    Raises:
        WrongUseError: a file of the login cannot be read on this machine.
        UnreadError: a record no longer exists, or no broker has answered for two minutes.

    """
    consumer = _consumer(options, security)
    left = {(one.topic, one.partition): one for one in ranges}
    try:
        consumer.assign([TopicPartition(one.topic, one.partition, one.first) for one in ranges])
        yield from _messages(consumer, left, epochs)
        for one in epochs.changed:
            if _epoch_at(consumer, one) not in {UNKNOWN, one.epoch_before}:
                epochs.truncated.append(one)
        epochs.changed.clear()
    except BaseException:
        _consumer.cache_clear()  # The next batch needs a consumer without an assignment.
        raise


@lru_cache(maxsize=1)
def _consumer(options: Options, security: KafkaSecurity) -> Consumer:
    """Return the consumer of this process. A new connection would cost each batch 0.1 s."""
    return Consumer(dict(options) | security.librdkafka() | OWN)


def _epoch_at(consumer: Consumer, one: Range) -> int:
    """Return the leader epoch of the record before a range; UNKNOWN if there is no such record any more."""
    before, epochs = one._replace(first=one.first - 1, end=one.first, epoch_before=UNKNOWN), Epochs()
    consumer.assign([TopicPartition(one.topic, one.partition, before.first)])
    for _ in _messages(consumer, {(one.topic, one.partition): before}, epochs):
        pass
    return epochs.last.get((one.topic, one.partition), UNKNOWN)


def _messages(
    consumer: Consumer, left: dict[TelemetryPartition, Range], epochs: Epochs
) -> Iterator[list[Message]]:
    """Yield the records of the ranges in `left`, and remove each range when it is complete."""
    heard_at, due = time.monotonic(), {place: one.first for place, one in left.items()}
    while left:
        taken = consumer.consume(TAKEN_RECORDS, 0) or consumer.consume(1, POLL_S)
        taken = [message for message in taken if not _is_transient(message)]
        if taken:
            heard_at = time.monotonic()
        if read := [message for message in taken if _is_wanted(message, consumer, left, due, epochs)]:
            yield read
        if left and time.monotonic() - heard_at > PATIENCE_S:
            waiting = ", ".join(f"{topic} partition {partition}" for topic, partition in left)
            text = f"{waiting}: no broker has answered for {PATIENCE_S:.0f} s"
            raise UnreadError(text)


def _is_wanted(
    message: Message,
    consumer: Consumer,
    left: dict[TelemetryPartition, Range],
    due: dict[TelemetryPartition, int],
    epochs: Epochs,
) -> bool:
    """
    Return whether a message is a new record of a range; remove the range from `left` at its last record.

    `due` has the next offset of each partition: a record that comes twice counts once.
    """
    is_end = message.error() is not None
    place, offset = (str(message.topic()), int(message.partition() or 0)), int(message.offset() or 0)
    one = left.get(place)
    if one is None:  # Its range is already complete.
        return False
    if offset >= (one.end if is_end else one.end - 1):
        del left[place]
        consumer.incremental_unassign([TopicPartition(*place)])
    if is_end or not due[place] <= offset < one.end:
        return False
    if due[place] == one.first and one.epoch_before not in {UNKNOWN, _epoch_of(message)}:
        epochs.changed.append(one)
    if offset == one.end - 1:
        epochs.last[place] = _epoch_of(message)
    due[place] = offset + 1
    return True


def _epoch_of(message: Message) -> int:
    epoch = message.leader_epoch()
    return UNKNOWN if epoch is None else epoch


def _is_transient(message: Message) -> bool:
    """
    Return whether a message is an error that librdkafka recovers from.

    Raises:
        UnreadError: the message is any other error; the end of a partition is not one.

    """
    error = message.error()
    if error is None or error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001
        return False
    if error.code() in TRANSIENT:
        return True
    place = "" if message.topic() is None else f"{message.topic()} partition {message.partition()}: "
    text = f"{place}{error.str()}"
    raise UnreadError(text)
