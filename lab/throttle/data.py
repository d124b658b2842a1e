"""The topics of a scenario's parts and what is in them beforehand: every partition the same, to the byte."""

from confluent_kafka import KafkaException, Producer
from confluent_kafka.cimpl import NewTopic

from lab import topics
from lab.errors import LabError
from lab.layout import Lab
from lab.throttle.parts import Part

RECORD_BYTES = 1_048_400
"""
With its batch just below the 1 MiB that a fetch takes of a partition. A fetch is cut at 1 MiB wherever that
is, and the quota counts the piece of a batch at its end, which the follower throws away and fetches again:
with batches of 128 kB that were 2 % that no disk ever sees.
"""

FLUSH_S = 60.0
_SETTINGS = {
    # Nothing is to be dropped, and a deleted topic is to give its disk back soon.
    "retention.bytes": "-1",
    "file.delete.delay.ms": "1000",
}


def create(lab: Lab, topic: str, part: Part) -> None:
    """Create a part's topic with its replicas where they are before the move."""
    before = [replicas for replicas, _ in part.placed(lab.broker_ids)]
    new = NewTopic(topic, num_partitions=len(before), replica_assignment=before, config=_SETTINGS)
    topics.create(lab, [new])


def fill(lab: Lab, topic: str, part: Part) -> None:
    """
    Produce the same number of records to each partition, as fast as it goes.

    Raises:
        LabError: a record was not taken.

    """
    failures: list[object] = []
    told = {
        "bootstrap.servers": lab.bootstrap_servers,
        "client.id": "lab-fill",
        "batch.num.messages": 1,
        "message.max.bytes": 2 * RECORD_BYTES,
        "queue.buffering.max.messages": 100,
        "acks": 1,
        "enable.idempotence": False,
    }
    producer = Producer(told, logger=topics.quiet)
    for nth in range(part.total_bytes // RECORD_BYTES):
        _produce(producer, topic, nth % part.partitions, failures)
    left = producer.flush(FLUSH_S)
    if failures or left:
        message = f"{len(failures)} records were not taken by {topic}, {left} not answered: {failures[:1]}"
        raise LabError(message)


_VALUE = bytes(RECORD_BYTES)


def _produce(producer: Producer, topic: str, partition: int, failures: list[object]) -> None:
    def delivered(error: object, _message: object) -> None:
        if error is not None:
            failures.append(error)

    while True:
        try:
            producer.produce(topic, _VALUE, partition=partition, on_delivery=delivered)
            producer.poll(0)
        except BufferError:
            producer.poll(0.05)
            continue
        except KafkaException as error:
            message = f"{topic} takes no records: {error}"
            raise LabError(message) from error
        return
