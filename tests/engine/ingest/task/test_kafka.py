"""The `consume` calls of a task; `tests/live` reads a real broker."""

from unittest.mock import Mock

import pytest
from confluent_kafka import Message

from engine.ingest.task import kafka
from engine.ingest.task.kafka import UNKNOWN, Epochs, Range, shares_of

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
    taken = kafka._messages(broker, {("t", 0): Range("t", 0, 0, n)}, Epochs())
    return [message.offset() for messages in taken for message in messages]


@pytest.mark.parametrize("large", [4 * MIB, 16 * MIB])
def test_large_records_after_small_ones_do_not_exceed_the_queue(large):
    broker = FakeConsumer([1_250] * 95 + [large] * 40)

    assert read(broker) == list(range(135))
    assert broker.largest_call <= QUEUE_BYTES + large


def test_a_record_that_comes_twice_counts_once():
    assert read(FakeConsumer([100] * 10, rewinds_at=4)) == list(range(10))


class LogOfEpochs:
    """A consumer of one partition; each record has a leader epoch, None: the offset has no record."""

    def __init__(self, epochs):
        """Begin without an assignment."""
        self.records = {offset: epoch for offset, epoch in enumerate(epochs) if epoch is not None}
        self.queue = []

    def assign(self, places):
        """Queue the records from the offset on."""
        self.queue = [offset for offset in self.records if offset >= places[0].offset]

    def consume(self, _most, _timeout):
        """Return the next record."""
        return [self.message(self.queue.pop(0))]

    def message(self, offset):
        """Return a record."""
        fields = {"topic": "t", "partition": 0, "offset": offset, "error": None}
        fields["leader_epoch"] = self.records[offset]
        return Mock(**{f"{name}.return_value": value for name, value in fields.items()})

    def incremental_unassign(self, _partitions):
        """Do nothing."""


def epochs_of(monkeypatch, log, **fields):
    """Read offsets 3 to 5; return the epochs that were found."""
    monkeypatch.setattr(kafka, "_consumer", lambda *_: log)
    found = Epochs()
    for _ in kafka.messages_of((), [Range("t", 0, 3, 6, **fields)], found):
        pass
    return found


def test_the_leader_epoch_of_the_last_record_is_reported(monkeypatch):
    assert epochs_of(monkeypatch, LogOfEpochs([4, 4, 4, 4, 4, 5])).last == {("t", 0): 5}
    assert epochs_of(monkeypatch, LogOfEpochs([4, 4, 4, 4, 4, None, 5])).last == {}


@pytest.mark.parametrize(
    ("epochs", "is_truncated"),
    [
        ([4, 4, 4, 4, 4, 4], False),
        ([4, 4, 4, 5, 5, 5], False),  # a clean election
        ([4, 4, 5, 5, 5, 5], True),  # the record before the range is another one now
        ([4, 4, None, 5, 5, 5, 5], False),  # it is a marker of a transaction, or compacted
    ],
)
def test_a_log_that_was_truncated_and_has_grown_again_is_noticed_by_its_leader_epochs(
    monkeypatch, epochs, is_truncated
):
    """The offsets are contiguous, as if nothing had happened."""
    found = epochs_of(monkeypatch, LogOfEpochs(epochs), epoch_before=4)

    assert [one[:4] for one in found.truncated] == [("t", 0, 3, 6)] * is_truncated


def test_only_the_range_at_the_begin_of_a_partition_knows_the_epoch_before_it():
    shares = shares_of(
        {("t", 0): (3, 9), ("t", 1): (0, 2)}, tasks=2, records_per_task=4, epochs={("t", 0): 7}
    )

    assert [one.epoch_before for share in shares for one in share] == [7, UNKNOWN, UNKNOWN]
