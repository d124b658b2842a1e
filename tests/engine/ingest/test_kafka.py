"""How many records a task takes at once, and which of them are of its ranges; a real broker: `tests/live`."""

import pytest
from confluent_kafka import Message

from engine.ingest import kafka
from engine.ingest.kafka import Range

MIB = 1024 * 1024


class Queue:
    """A consumer's queue with records of one size; it notes how many were asked for."""

    def __init__(self, size):
        """Begin at offset 0."""
        self.value, self.offset, self.asked = b"x" * size, 0, []

    def consume(self, most, _timeout):
        """Return as many records as asked for."""
        self.asked.append(most)
        self.offset += most
        return [Message("t", 0, at, value=self.value) for at in range(self.offset - most, self.offset)]

    def incremental_unassign(self, _partitions):
        """Go on as before."""


@pytest.mark.parametrize(
    ("size", "asked"), [(100, [1, 2, 4, 8, 16, 32, 32]), (4 * MIB, [1, 2, 4, 4, 4]), (17 * MIB, [1, 1, 1])]
)
def test_fewer_records_are_taken_at_once_where_they_are_large(size, asked):
    queue, n = Queue(size), sum(asked)

    taken = list(kafka._messages(queue, {("t", 0): Range("t", 0, 0, n)}))

    assert queue.asked == asked
    assert [message.offset() for messages in taken for message in messages] == list(range(n))
