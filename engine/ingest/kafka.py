"""
Read ranges of Kafka partitions inside a task, with librdkafka: `docs/decisions/021-tasks-read-kafka.md`.

Spark plans which offsets a batch has; the tasks fetch them. A record costs a third of what it takes to reach
Python through Spark's own reader, and memory is bounded by bytes, however large a record is.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

from engine.ingest.written import Place

Options = tuple[tuple[str, str], ...]
"""Options of librdkafka: name and value."""

TAKEN_RECORDS, TAKEN_BYTES = 32, 16 * 1024 * 1024
"""Records taken out of librdkafka's queue at once: fewer where the last ones were large."""

POLL_S, PATIENCE_S = 1.0, 120.0
"""How long one call waits for records, and for how long no broker may answer."""

OWN = {
    "enable.auto.commit": "false",  # Spark's checkpoint holds the offsets
    "auto.offset.reset": "error",
    "enable.partition.eof": "true",
    "isolation.level": "read_uncommitted",
    "queued.max.messages.kbytes": "16384",
    "fetch.wait.max.ms": "20",
    "fetch.queue.backoff.ms": "10",  # the queue is full most of the time; librdkafka would wait a second
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
"""What librdkafka mends by itself: it connects again."""


class Range(NamedTuple):
    """Records of one partition: offsets from `first` up to but without `end`."""

    topic: str
    partition: int
    first: int
    end: int


class UnreadError(Exception):
    """Records of a batch cannot be read; the message names topic, partition and offset."""


def shares_of(
    offsets: Mapping[Place, tuple[int, int]], *, tasks: int, records_a_task: int
) -> list[list[Range]]:
    """
    Share out the offsets of a batch evenly, to at most `tasks` tasks of `records_a_task` records or more.

    >>> shares = shares_of({("t", 0): (0, 10), ("t", 1): (5, 7)}, tasks=2, records_a_task=4)
    >>> [[tuple(one) for one in share] for share in shares]
    [[('t', 0, 0, 6)], [('t', 0, 6, 10), ('t', 1, 5, 7)]]
    """
    records = sum(end - first for first, end in offsets.values())
    n = min(tasks, -(-records // records_a_task))
    shares: list[list[Range]] = [[] for _ in range(n)]
    before = 0
    for (topic, partition), (first, end) in sorted(offsets.items()):
        at = first
        while at < end:
            nth = before * n // records
            room = -(-records * (nth + 1) // n) - before
            until = min(end, at + room)
            shares[nth].append(Range(topic, partition, at, until))
            before, at = before + until - at, until
    return shares


def messages_of(options: Options, ranges: Sequence[Range]) -> Iterator[list[Message]]:
    """
    Yield all records of the ranges, a few at a time; within a partition in the order of their offsets.

    Raises:
        UnreadError: a record is gone, or no broker has answered for two minutes.

    """
    consumer = _consumer(options)
    left = {(one.topic, one.partition): one for one in ranges}
    try:
        consumer.assign([TopicPartition(one.topic, one.partition, one.first) for one in ranges])
        yield from _messages(consumer, left)
    except BaseException:
        _consumer.cache_clear()  # the next batch begins with a consumer that has no assignment
        raise


@lru_cache(maxsize=1)
def _consumer(options: Options) -> Consumer:
    """Return the consumer of this process: connecting anew would take each batch a tenth of a second."""
    return Consumer(dict(options) | OWN)


def _messages(consumer: Consumer, left: dict[Place, Range]) -> Iterator[list[Message]]:
    """Yield the records of the ranges in `left`, and take each range out of it at its end."""
    records, heard_at, most = sum(one.end - one.first for one in left.values()), time.monotonic(), 1
    while left:
        taken = consumer.consume(max(1, min(most, records)), POLL_S)
        most = min(TAKEN_RECORDS, 2 * most, max(1, TAKEN_BYTES // max([1, *map(len, taken)])))
        taken = [message for message in taken if not _is_transient(message)]
        if taken:
            heard_at = time.monotonic()
        if read := [message for message in taken if _is_wanted(message, consumer, left)]:
            records -= len(read)
            yield read
        if left and time.monotonic() - heard_at > PATIENCE_S:
            waiting = ", ".join(f"{topic} partition {partition}" for topic, partition in left)
            text = f"{waiting}: no broker has answered for {PATIENCE_S:.0f} s"
            raise UnreadError(text)


def _is_wanted(message: Message, consumer: Consumer, left: dict[Place, Range]) -> bool:
    """Return whether a message is a record of a range; take the range out of `left` with its last one."""
    is_end = message.error() is not None
    place, offset = (str(message.topic()), int(message.partition() or 0)), int(message.offset() or 0)
    one = left.get(place)
    if one is None:  # it follows the end of its range
        return False
    if offset >= (one.end if is_end else one.end - 1):
        del left[place]
        consumer.incremental_unassign([TopicPartition(*place)])
    return not is_end and offset < one.end


def _is_transient(message: Message) -> bool:
    """
    Return whether a message is an error that librdkafka mends; records and ends of partitions are none.

    Raises:
        UnreadError: it is another error.

    """
    error = message.error()
    if error is None or error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001
        return False
    if error.code() in TRANSIENT:
        return True
    place = "" if message.topic() is None else f"{message.topic()} partition {message.partition()}: "
    text = f"{place}{error.str()}"
    raise UnreadError(text)
