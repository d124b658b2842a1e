"""Create and fill the topics of the parts. Every partition gets the same number of bytes."""

from confluent_kafka import KafkaException, Producer
from confluent_kafka.cimpl import NewTopic

from lab import topics
from lab.errors import LabError
from lab.layout import Lab
from lab.throttle.parts import ThrottlePart

RECORD_BYTES = 1_048_400
"""
One batch per record, slightly smaller than replica.fetch.max.bytes (1 MiB). A fetch response ends at 1 MiB,
even within a batch. The quota counts the incomplete batch, but the follower discards it and fetches it
again. With batches of 128 kB, 2 % of the counted bytes would never reach a disk.
"""

FLUSH_S = 60.0
_SETTINGS = {
    # Delete no segment, and free the disk soon after the topic is deleted.
    "retention.bytes": "-1",
    "file.delete.delay.ms": "1000",
}


def create(lab: Lab, topic: str, part: ThrottlePart) -> None:
    """Create a part's topic with the replicas that it has before the move."""
    before = [replicas for replicas, _ in part.placements(lab.broker_ids)]
    new = NewTopic(topic, num_partitions=len(before), replica_assignment=before, config=_SETTINGS)
    topics.create(lab, [new])


def fill(lab: Lab, topic: str, part: ThrottlePart) -> None:
    """
    Produce the same number of records to each partition, as fast as possible.

    Raises:
        LabError: a record was not acknowledged.

    """
    failures: list[object] = []
    settings = {
        "bootstrap.servers": lab.bootstrap_servers,
        "client.id": "lab-fill",
        "batch.num.messages": 1,
        "message.max.bytes": 2 * RECORD_BYTES,
        "queue.buffering.max.messages": 100,
        "acks": 1,
        "enable.idempotence": False,
    }
    producer = Producer(settings, logger=topics.silent_logger)
    for nth in range(part.total_bytes // RECORD_BYTES):
        _produce(producer, topic, nth % part.partitions, failures)
    left = producer.flush(FLUSH_S)
    if failures or left:
        message = f"{topic}: {len(failures)} records failed, {left} were not acknowledged: {failures[:1]}"
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
            message = f"cannot produce to {topic}: {error}"
            raise LabError(message) from error
        return
