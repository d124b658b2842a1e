"""The sizes of a task's `consume` calls; `tests/live` reads a real broker."""

import pytest
from confluent_kafka import Message

from engine.ingest.task import kafka
from engine.ingest.task.kafka import Range

MIB = 1024 * 1024


class Queue:
    """A fake consumer with records of one size; it notes how many records each call requests."""

    def __init__(self, size):
        """Begin at offset 0."""
        self.value, self.offset, self.requested = b"x" * size, 0, []

    def consume(self, most, _timeout):
        """Return as many records as requested."""
        self.requested.append(most)
        self.offset += most
        return [Message("t", 0, at, value=self.value) for at in range(self.offset - most, self.offset)]

    def incremental_unassign(self, _partitions):
        """Do nothing."""


@pytest.mark.parametrize(
    ("size", "requested"),
    [(100, [1, 2, 4, 8, 16, 32, 32]), (4 * MIB, [1, 2, 4, 4, 4]), (17 * MIB, [1, 1, 1])],
)
def test_large_records_are_consumed_in_smaller_numbers(size, requested):
    queue, n = Queue(size), sum(requested)

    taken = list(kafka._messages(queue, {("t", 0): Range("t", 0, 0, n)}))

    assert queue.requested == requested
    assert [message.offset() for messages in taken for message in messages] == list(range(n))
