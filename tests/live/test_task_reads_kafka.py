"""The tasks' Kafka reader on a real broker: it returns every record of a range once, or raises an error."""

import uuid

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from engine.ingest.task import kafka, records
from engine.ingest.task.kafka import Epochs, Range, UnreadError, messages_of
from engine.ingest.task.records import from_messages

pytestmark = pytest.mark.live

RECORDS = 1_000


class FilledTopic:
    """A topic with two partitions."""

    def __init__(self, lab):
        """Create the topic and fill it evenly."""
        self.bootstrap, self.name = lab.telemetry_bootstrap_servers, f"test-{uuid.uuid4().hex[:8]}"
        self.options = (("bootstrap.servers", self.bootstrap), ("group.id", "test"))
        self.admin = AdminClient({"bootstrap.servers": self.bootstrap})
        self.admin.create_topics([NewTopic(self.name, 2, 1)])[self.name].result(30)
        self.publish({}, RECORDS)

    def publish(self, options, records):
        """Publish records; in a transaction the end marker uses an offset too."""
        producer = Producer({"bootstrap.servers": self.bootstrap} | options)
        if options:
            producer.init_transactions(30)
            producer.begin_transaction()
        for n in range(records):
            producer.produce(self.name, b"%d" % n, partition=n % 2)
        assert producer.flush(30) == 0
        if options:
            producer.commit_transaction(30)

    def read(self, *ranges):
        """Return the offsets read by partition, and the sizes of the batches."""
        found, sizes = {}, []
        taken = messages_of(self.options, [Range(self.name, *one) for one in ranges], Epochs())
        for batch in from_messages(taken, ingested_at=0):
            sizes.append(len(batch.records))
            for record in batch.records:
                found.setdefault(record.partition, []).append(record.offset)
        return found, sizes


@pytest.fixture(scope="module")
def topic(lab):
    return FilledTopic(lab)


def test_each_record_of_the_ranges_is_read_once_and_in_order(topic):
    for _ in range(2):  # the second time with the same consumer
        found, _ = topic.read((0, 17, 480), (1, 0, 3))

        assert found == {0: list(range(17, 480)), 1: [0, 1, 2]}


def test_a_batch_ends_when_it_has_enough_bytes(topic, monkeypatch):
    monkeypatch.setattr(records, "BATCH_BYTES", 300)

    found, sizes = topic.read((0, 0, 500))

    assert found == {0: list(range(500))}
    assert max(sizes) <= 300 / 2 + kafka.TAKEN_RECORDS


def test_a_transaction_marker_at_the_end_of_a_range_ends_it(topic):
    """The marker is no record; the driver detects fewer records than offsets."""
    topic.publish({"transactional.id": uuid.uuid4().hex}, 2)

    found, _ = topic.read((0, 499, 502))

    assert found == {0: [499, 500]}


def test_deleted_records_are_reported(topic):
    topic.admin.delete_records([TopicPartition(topic.name, 1, 100)])
    for deleted in topic.admin.delete_records([TopicPartition(topic.name, 1, 100)]).values():
        deleted.result(30)

    with pytest.raises(UnreadError, match=f"{topic.name} partition 1: .*[Oo]ffset out of range"):
        topic.read((1, 50, 200))
    assert topic.read((1, 100, 200))[0] == {1: list(range(100, 200))}


def test_a_broker_that_does_not_answer_is_reported(monkeypatch):
    monkeypatch.setattr(kafka, "PATIENCE_S", 1.0)
    away = (("bootstrap.servers", "127.0.0.1:1"), ("group.id", "test"))

    with pytest.raises(UnreadError, match=r"t partition 0: no broker has answered for 1 s"):
        list(messages_of(away, [Range("t", 0, 0, 1)], Epochs()))
