"""The `consume` calls of a task; `tests/live` reads a real broker."""

import pytest
from confluent_kafka import Message

from engine.ingest.task import kafka
from engine.ingest.task.kafka import Range

MIB = 1024 * 1024
QUEUE_BYTES = 16 * MIB


class FakeConsumer:
    """A fake consumer with a bounded queue, as librdkafka has: only a call that may wait fills it again."""

    def __init__(self, sizes, *, rewinds_at=None):
        """Begin at offset 0; after `rewinds_at` records the next one comes again."""
        self.sizes, self.next, self.queue, self.largest_call = sizes, 0, [], 0
        self.rewinds_at = rewinds_at

    def _fill(self):
        while self.next < len(self.sizes) and sum(map(len, self.queue)) < QUEUE_BYTES:
            self.queue.append(Message("t", 0, self.next, value=b"x" * self.sizes[self.next]))
            self.next += 1
            if self.next == self.rewinds_at:
                self.next, self.rewinds_at = self.next - 1, None

    def consume(self, most, timeout):
        """Return what is queued, at most `most` records; with a timeout, wait until there are so many."""
        taken = []
        while len(taken) < most and (self.queue or timeout):
            if not self.queue:
                self._fill()
            if not self.queue:
                break
            taken.append(self.queue.pop(0))
        self.largest_call = max(self.largest_call, sum(map(len, taken)))
        if not taken:
            self._fill()
        return taken

    def incremental_unassign(self, _partitions):
        """Do nothing."""


def read(broker):
    n = len(broker.sizes)
    taken = kafka._messages(broker, {("t", 0): Range("t", 0, 0, n)})
    return [message.offset() for messages in taken for message in messages]


@pytest.mark.parametrize("large", [4 * MIB, 16 * MIB])
def test_large_records_after_small_ones_do_not_exceed_the_queue(large):
    broker = FakeConsumer([1_250] * 95 + [large] * 40)

    assert read(broker) == list(range(135))
    assert broker.largest_call <= QUEUE_BYTES + large


def test_a_record_that_comes_twice_counts_once():
    assert read(FakeConsumer([100] * 10, rewinds_at=4)) == list(range(10))
