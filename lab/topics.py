"""Create, delete and inspect the topics of a lab."""

import logging
import time
from collections.abc import Mapping, Sequence

from confluent_kafka import Consumer, ElectionType, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient, PartitionMetadata  # type: ignore[attr-defined]
from confluent_kafka.cimpl import NewTopic

from conf.names import Kind
from conf.settings import Telemetry
from lab import config
from lab.errors import LabError
from lab.layout import LOAD_TOPIC, Lab

READ_TIMEOUT_S, POLL_INTERVAL_S = 15.0, 0.25
CHANGE_TIMEOUT_S = 120.0
"""Time limit for a change: of 500 topics, or by brokers that have just started on a busy machine."""

silent_logger = logging.getLogger("lab.librdkafka")
silent_logger.addHandler(logging.NullHandler())
silent_logger.propagate = False  # connection errors are expected while brokers start

KINDS = (Kind.REQUEST_LOG, Kind.CLIENT_LOG, Kind.STATE_CHANGE, Kind.METRICS, Kind.PERF_TEST)
"""The kinds of lines with a telemetry topic."""

MAX_MESSAGE = {"max.message.bytes": str(config.MAX_MESSAGE_BYTES)}
"""The topic settings for the largest record of a collector."""


def admin(bootstrap_servers: str) -> AdminClient:
    """Return an admin client that logs nothing."""
    return AdminClient(
        {"bootstrap.servers": bootstrap_servers, "client.id": "lab-admin"}, logger=silent_logger
    )


def broker_count(bootstrap_servers: str) -> int:
    """Return the number of registered brokers, 0 while the cluster does not answer."""
    try:
        return len(admin(bootstrap_servers).list_topics(timeout=2).brokers)
    except KafkaException:
        return 0


def spread(brokers: list[int], partitions: int, replication_factor: int) -> list[list[int]]:
    """
    Assign replicas: first the leaders rotate over the brokers, then the followers of each leader.

    With N brokers and N * (N - 1) partitions every ordered pair replicates, for any replication factor >= 2.

    >>> spread([1, 2, 3], 6, 3)
    [[1, 2, 3], [2, 3, 1], [3, 1, 2], [1, 3, 2], [2, 1, 3], [3, 2, 1]]
    """
    n = len(brokers)
    others = max(1, n - 1)
    return [
        [brokers[p % n]]
        + [brokers[(p + 1 + (p // n + k) % others) % n] for k in range(min(replication_factor, n) - 1)]
        for p in range(partitions)
    ]


def create_load_topic(
    lab: Lab, *, name: str = LOAD_TOPIC, partitions: int = 0, replication_factor: int = 3
) -> None:
    """Create a topic on the observed cluster with its leaders spread over all brokers."""
    n = len(lab.brokers)
    count = partitions or max(1, n * (n - 1))
    assignment = spread(lab.broker_ids, count, replication_factor)
    _create(lab.bootstrap_servers, [NewTopic(name, num_partitions=count, replica_assignment=assignment)])


def create_telemetry_topics(
    lab: Lab,
    prefix: str = Telemetry().topic_prefix,
    *,
    kinds: Sequence[Kind] = KINDS,
    partitions: int = 0,
    settings: Mapping[str, str] = MAX_MESSAGE,
) -> None:
    """Create the missing topics that collectors write to; 0 partitions: as many as the lab's settings say."""
    there = admin(lab.telemetry_bootstrap_servers).list_topics(timeout=READ_TIMEOUT_S).topics
    missing = [f"{prefix}{kind}" for kind in kinds if f"{prefix}{kind}" not in there]
    count = partitions or lab.telemetry_partitions
    made = [
        NewTopic(name, num_partitions=count, replication_factor=1, config=dict(settings)) for name in missing
    ]
    if made:
        _create(lab.telemetry_bootstrap_servers, made)


def _create(bootstrap_servers: str, made: list[NewTopic]) -> None:
    client = admin(bootstrap_servers)  # keep a reference: the client cancels its requests when it is deleted
    for name, created in client.create_topics(
        made, operation_timeout=CHANGE_TIMEOUT_S, request_timeout=CHANGE_TIMEOUT_S
    ).items():
        try:
            created.result()
        except KafkaException as error:
            message = f"topic {name} was not created at {bootstrap_servers}: {error}"
            raise LabError(message) from error


def create(lab: Lab, made: list[NewTopic]) -> None:
    """
    Create topics on the observed cluster.

    Raises:
        LabError: a topic was not created.

    """
    _create(lab.bootstrap_servers, made)


def create_many(lab: Lab, names: Sequence[str]) -> None:
    """Create topics with one partition and one replica on the observed cluster. Spread the leaders."""
    made = [
        NewTopic(name, num_partitions=1, replica_assignment=[[lab.broker_ids[nth % len(lab.broker_ids)]]])
        for nth, name in enumerate(names)
    ]
    _create(lab.bootstrap_servers, made)


def delete_many(lab: Lab, names: Sequence[str]) -> None:
    """
    Delete topics of the observed cluster.

    Raises:
        LabError: a topic was not deleted.

    """
    client = admin(lab.bootstrap_servers)
    for name, deleted in client.delete_topics(
        list(names), operation_timeout=CHANGE_TIMEOUT_S, request_timeout=CHANGE_TIMEOUT_S
    ).items():
        try:
            deleted.result()
        except KafkaException as error:
            message = f"topic {name} was not deleted: {error}"
            raise LabError(message) from error


def id_of(lab: Lab, topic: str) -> str:
    """
    Return the id of a topic as Kafka's logs print it: URL-safe base64. librdkafka uses standard base64.

    Retries until the broker that answers knows the new topic.

    Raises:
        LabError: no broker knows the topic in time.

    """
    client, deadline = admin(lab.bootstrap_servers), time.monotonic() + READ_TIMEOUT_S
    while True:
        (answered,) = client.describe_topics(TopicCollection([topic])).values()
        try:
            return logged_id(str(answered.result(timeout=READ_TIMEOUT_S).topic_id))
        except KafkaException as error:
            if time.monotonic() > deadline:
                message = f"topic {topic} has no id: {error}"
                raise LabError(message) from error
        time.sleep(POLL_INTERVAL_S)


def logged_id(topic_id: str) -> str:
    """
    Convert an id to URL-safe base64.

    >>> logged_id("7/s+mc2GSZ2tb97+O3ZvsA")
    '7_s-mc2GSZ2tb97-O3ZvsA'
    """
    return topic_id.translate(str.maketrans("+/", "-_"))


def leaders(lab: Lab, topic: str = LOAD_TOPIC) -> dict[int, int]:
    """Return the leader of each partition."""
    metadata = admin(lab.bootstrap_servers).list_topics(topic, timeout=READ_TIMEOUT_S).topics[topic]
    return {number: partition.leader for number, partition in metadata.partitions.items()}


def end_offsets(lab: Lab, topic: str) -> dict[int, int]:
    """Return the log end offset of each partition."""
    settings = {"bootstrap.servers": lab.bootstrap_servers, "group.id": "lab-admin"}
    consumer = Consumer(settings, logger=silent_logger)
    try:
        return {
            nth: consumer.get_watermark_offsets(TopicPartition(topic, nth), READ_TIMEOUT_S)[1]
            for nth in leaders(lab, topic)
        }
    finally:
        consumer.close()


def has_replica_orders(
    lab: Lab, topic: str, orders: Sequence[Sequence[int]], *, client: AdminClient | None = None
) -> bool:
    """
    Return whether the partitions have these replicas in this order, all in sync.

    Pass `client` to reuse one admin client over many calls.
    """
    admin_client = client or admin(lab.bootstrap_servers)
    partitions = admin_client.list_topics(topic, timeout=READ_TIMEOUT_S).topics[topic].partitions
    return len(partitions) >= len(orders) and all(
        list(partitions[nth].replicas) == list(order) and len(partitions[nth].isrs) == len(order)
        for nth, order in enumerate(orders)
    )


def wait_until_placed(lab: Lab, topic: str, replicas: Sequence[Sequence[int]], timeout_s: float) -> None:
    """
    Return when every partition has these replicas in this order, all in sync.

    Raises:
        LabError: the partitions do not have them in time.

    """
    deadline = time.monotonic() + timeout_s
    while not has_replica_orders(lab, topic, replicas):
        if time.monotonic() > deadline:
            message = f"{topic} did not reach the replicas {replicas} within {timeout_s:g} s"
            raise LabError(message)
        time.sleep(POLL_INTERVAL_S)


def is_in_sync(lab: Lab, topic: str = LOAD_TOPIC) -> bool:
    """Return whether the preferred replica leads every partition and all replicas are in sync."""
    partitions = _partitions(lab, topic)
    return _is_replicated(partitions) and all(p.leader == p.replicas[0] for p in partitions)


def is_replicated(lab: Lab, topic: str) -> bool:
    """Return whether all replicas of every partition are in sync."""
    return _is_replicated(_partitions(lab, topic))


def _is_replicated(partitions: Sequence[PartitionMetadata]) -> bool:
    return bool(partitions) and all(len(p.isrs) == len(p.replicas) for p in partitions)


def _partitions(lab: Lab, topic: str) -> list[PartitionMetadata]:
    try:
        metadata = admin(lab.bootstrap_servers).list_topics(topic, timeout=2).topics[topic]
        return list(metadata.partitions.values())
    except KafkaException:
        return []


def elect_preferred_leaders(lab: Lab) -> None:
    """
    Elect the preferred replicas as leaders. A restarted broker leads no partition until then.

    Raises:
        LabError: the election failed.

    """
    client = admin(lab.bootstrap_servers)
    try:
        # confluent-kafka 2.16.1 fails on `request_timeout` here, so the request ends at librdkafka's 60 s.
        client.elect_leaders(ElectionType.PREFERRED, None).result()
    except KafkaException as error:
        message = f"the preferred leaders were not elected: {error}"
        raise LabError(message) from error
