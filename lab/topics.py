"""The topics of a lab, and whether they are ready."""

import logging

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from conf.names import Kind
from conf.settings import Telemetry
from lab import config
from lab.errors import LabError
from lab.layout import LOAD_TOPIC, Lab

REQUEST_TIMEOUT_S = 15.0
_quiet = logging.getLogger("lab.librdkafka")
_quiet.addHandler(logging.NullHandler())
_quiet.propagate = False  # a broker that is not up yet is what we wait for, not news


def admin(bootstrap_servers: str) -> AdminClient:
    """Return an admin client that logs nothing."""
    return AdminClient({"bootstrap.servers": bootstrap_servers, "client.id": "lab-admin"}, logger=_quiet)


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


def create_load_topic(lab: Lab, *, name: str = LOAD_TOPIC, partitions: int = 0) -> None:
    """Create a topic on the observed cluster whose leaders are spread over all brokers."""
    n = len(lab.brokers)
    count = partitions or max(1, n * (n - 1))
    assignment = spread(lab.broker_ids, count, 3)
    _create(lab.bootstrap_servers, [NewTopic(name, num_partitions=count, replica_assignment=assignment)])


def create_telemetry_topics(lab: Lab) -> None:
    """Create the topics collectors write to, those that are not there yet."""
    prefix = Telemetry().topic_prefix
    kinds = (Kind.REQUEST_LOG, Kind.CLIENT_LOG, Kind.METRICS)
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
    for name, created in client.create_topics(made, operation_timeout=REQUEST_TIMEOUT_S).items():
        try:
            created.result(timeout=REQUEST_TIMEOUT_S)
        except (KafkaException, TimeoutError) as error:
            message = f"topic {name} was not created at {bootstrap_servers}: {error}"
            raise LabError(message) from error


def leaders(lab: Lab, topic: str = LOAD_TOPIC) -> dict[int, int]:
    """Return each partition's leader."""
    told = admin(lab.bootstrap_servers).list_topics(topic, timeout=REQUEST_TIMEOUT_S).topics[topic]
    return {number: partition.leader for number, partition in told.partitions.items()}


def is_in_sync(lab: Lab, topic: str = LOAD_TOPIC) -> bool:
    """Tell whether every partition has its first replica as leader and all replicas in sync."""
    try:
        told = admin(lab.bootstrap_servers).list_topics(topic, timeout=2).topics[topic]
    except KafkaException:
        return False
    partitions = list(told.partitions.values())
    return bool(partitions) and all(
        len(p.isrs) == len(p.replicas) and p.leader == p.replicas[0] for p in partitions
    )
