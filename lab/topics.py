"""The topics of a lab, and whether they are ready."""

import logging
import time
from collections.abc import Sequence

from confluent_kafka import Consumer, ElectionType, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient, PartitionMetadata  # type: ignore[attr-defined]
from confluent_kafka.cimpl import NewTopic

from conf.names import Kind
from conf.settings import Telemetry
from lab import config
from lab.errors import LabError
from lab.layout import LOAD_TOPIC, Lab

REQUEST_TIMEOUT_S, LOOK_EVERY_S = 15.0, 0.25
MANY, MANY_TIMEOUT_S = 100, 120.0
quiet = logging.getLogger("lab.librdkafka")
quiet.addHandler(logging.NullHandler())
quiet.propagate = False  # a broker that is not up yet is what we wait for, not news


def admin(bootstrap_servers: str) -> AdminClient:
    """Return an admin client that logs nothing."""
    return AdminClient({"bootstrap.servers": bootstrap_servers, "client.id": "lab-admin"}, logger=quiet)


def registered(bootstrap_servers: str) -> int:
    """Return how many brokers the cluster knows, 0 while nobody answers."""
    try:
        return len(admin(bootstrap_servers).list_topics(timeout=2).brokers)
    except KafkaException:
        return 0


def spread(brokers: list[int], partitions: int, replication_factor: int) -> list[list[int]]:
    """
    Assign replicas so that leaders rotate, and then the followers behind each leader.

    With N brokers and N * (N - 1) partitions every ordered pair replicates, whatever the factor (>= 2).

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
    """Create a topic on the observed cluster whose leaders are spread over all brokers."""
    n = len(lab.brokers)
    count = partitions or max(1, n * (n - 1))
    assignment = spread(lab.broker_ids, count, replication_factor)
    _create(lab.bootstrap_servers, [NewTopic(name, num_partitions=count, replica_assignment=assignment)])


def create_telemetry_topics(lab: Lab) -> None:
    """Create the topics collectors write to, those that are not there yet."""
    prefix = Telemetry().topic_prefix
    kinds = (Kind.REQUEST_LOG, Kind.CLIENT_LOG, Kind.STATE_CHANGE, Kind.METRICS, Kind.PERF_TEST)
    there = admin(lab.telemetry_bootstrap_servers).list_topics(timeout=REQUEST_TIMEOUT_S).topics
    missing = [f"{prefix}{kind}" for kind in kinds if f"{prefix}{kind}" not in there]
    settings = {"max.message.bytes": str(config.MAX_MESSAGE_BYTES)}
    made = [
        NewTopic(name, num_partitions=lab.telemetry_partitions, replication_factor=1, config=settings)
        for name in missing
    ]
    if made:
        _create(lab.telemetry_bootstrap_servers, made)


def _create(bootstrap_servers: str, made: list[NewTopic]) -> None:
    client = admin(bootstrap_servers)  # held until the results are there: it cancels them when it goes
    patience_s = REQUEST_TIMEOUT_S if len(made) < MANY else MANY_TIMEOUT_S
    for name, created in client.create_topics(
        made, operation_timeout=patience_s, request_timeout=patience_s
    ).items():
        try:
            created.result(timeout=patience_s)
        except (KafkaException, TimeoutError) as error:
            message = f"topic {name} was not created at {bootstrap_servers}: {error}"
            raise LabError(message) from error


def create(lab: Lab, made: list[NewTopic]) -> None:
    """
    Create topics on the observed cluster.

    Raises:
        LabError: one of them was not created.

    """
    _create(lab.bootstrap_servers, made)


def create_many(lab: Lab, names: Sequence[str]) -> None:
    """Create topics of one partition and one replica on the observed cluster, leaders spread over it."""
    made = [
        NewTopic(name, num_partitions=1, replica_assignment=[[lab.broker_ids[nth % len(lab.broker_ids)]]])
        for nth, name in enumerate(names)
    ]
    _create(lab.bootstrap_servers, made)


def delete_many(lab: Lab, names: Sequence[str]) -> None:
    """Delete topics of the observed cluster; what it holds is no part of the next round."""
    client = admin(lab.bootstrap_servers)
    for name, deleted in client.delete_topics(list(names), operation_timeout=MANY_TIMEOUT_S).items():
        try:
            deleted.result(timeout=MANY_TIMEOUT_S)
        except (KafkaException, TimeoutError) as error:
            message = f"topic {name} was not deleted: {error}"
            raise LabError(message) from error


def id_of(lab: Lab, topic: str) -> str:
    """
    Return a topic's id as Kafka's logs write it; librdkafka's alphabet is another one.

    A broker that has just been told of by another may not know the topic yet: it is asked again.

    Raises:
        LabError: the topic is not known within the time.

    """
    client, deadline = admin(lab.bootstrap_servers), time.monotonic() + REQUEST_TIMEOUT_S
    while True:
        (answered,) = client.describe_topics(TopicCollection([topic])).values()
        try:
            return logged_id(str(answered.result(timeout=REQUEST_TIMEOUT_S).topic_id))
        except KafkaException as error:
            if time.monotonic() > deadline:
                message = f"topic {topic} has no id: {error}"
                raise LabError(message) from error
        time.sleep(LOOK_EVERY_S)


def logged_id(topic_id: str) -> str:
    """
    Write an id in base64's alphabet for URLs.

    >>> logged_id("7/s+mc2GSZ2tb97+O3ZvsA")
    '7_s-mc2GSZ2tb97-O3ZvsA'
    """
    return topic_id.translate(str.maketrans("+/", "-_"))


def leaders(lab: Lab, topic: str = LOAD_TOPIC) -> dict[int, int]:
    """Return each partition's leader."""
    told = admin(lab.bootstrap_servers).list_topics(topic, timeout=REQUEST_TIMEOUT_S).topics[topic]
    return {number: partition.leader for number, partition in told.partitions.items()}


def end_offsets(lab: Lab, topic: str) -> dict[int, int]:
    """Return where each partition's log ends."""
    settings = {"bootstrap.servers": lab.bootstrap_servers, "group.id": "lab-admin"}
    consumer = Consumer(settings, logger=quiet)
    try:
        return {
            nth: consumer.get_watermark_offsets(TopicPartition(topic, nth), REQUEST_TIMEOUT_S)[1]
            for nth in leaders(lab, topic)
        }
    finally:
        consumer.close()


def has_orders(
    lab: Lab, topic: str, orders: Sequence[Sequence[int]], *, client: AdminClient | None = None
) -> bool:
    """Tell whether the partitions have these replicas in this order, all in sync; a client is used again."""
    asked = client or admin(lab.bootstrap_servers)
    told = asked.list_topics(topic, timeout=REQUEST_TIMEOUT_S).topics[topic].partitions
    return len(told) >= len(orders) and all(
        list(told[nth].replicas) == list(order) and len(told[nth].isrs) == len(order)
        for nth, order in enumerate(orders)
    )


def wait_until_placed(lab: Lab, topic: str, replicas: Sequence[Sequence[int]], timeout_s: float) -> None:
    """
    Return when every partition has these replicas in this order, all in sync.

    Raises:
        LabError: they have not within the time.

    """
    deadline = time.monotonic() + timeout_s
    while not has_orders(lab, topic, replicas):
        if time.monotonic() > deadline:
            message = f"the replicas of {topic} are not at {replicas} within {timeout_s:g} s"
            raise LabError(message)
        time.sleep(LOOK_EVERY_S)


def is_in_sync(lab: Lab, topic: str = LOAD_TOPIC) -> bool:
    """Tell whether every partition has its first replica as leader and all replicas in sync."""
    partitions = _partitions(lab, topic)
    return _is_replicated(partitions) and all(of.leader == of.replicas[0] for of in partitions)


def is_replicated(lab: Lab, topic: str) -> bool:
    """Tell whether every partition has all its replicas in sync."""
    return _is_replicated(_partitions(lab, topic))


def _is_replicated(partitions: Sequence[PartitionMetadata]) -> bool:
    return bool(partitions) and all(len(of.isrs) == len(of.replicas) for of in partitions)


def _partitions(lab: Lab, topic: str) -> list[PartitionMetadata]:
    try:
        told = admin(lab.bootstrap_servers).list_topics(topic, timeout=2).topics[topic]
        return list(told.partitions.values())
    except KafkaException:
        return []


def lead_as_before(lab: Lab) -> None:
    """
    Let the first replicas lead again: a broker that comes back leads nothing.

    Raises:
        LabError: the election failed.

    """
    client = admin(lab.bootstrap_servers)
    try:
        client.elect_leaders(ElectionType.PREFERRED, None).result(timeout=MANY_TIMEOUT_S)
    except (KafkaException, TimeoutError) as error:
        message = f"the preferred leaders were not elected: {error}"
        raise LabError(message) from error
