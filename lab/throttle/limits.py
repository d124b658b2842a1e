"""Throttles set and taken away by their names, for the faults that Kafka's own tool does not make."""

import time
from collections.abc import Mapping

from confluent_kafka import KafkaException
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)

from lab import topics
from lab.errors import LabError
from lab.layout import Lab

RATES = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
"""Of a broker, in bytes/s."""

LISTS = ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas")
"""Of a topic: PARTITION:BROKER,... or `*`."""

_TIMEOUT_S = 15.0


def set_rates(lab: Lab, broker_ids: list[int], limit_bytes_per_s: int) -> int:
    """Set both rates on each of these brokers; return when the last one had answered (epoch ns)."""
    told = dict.fromkeys(RATES, str(limit_bytes_per_s))
    for broker_id in broker_ids:
        _alter(lab, ResourceType.BROKER, str(broker_id), told)
    return time.time_ns()


def set_lists(lab: Lab, topic: str, replicas: str) -> int:
    """Set both lists of a topic; return when it was answered (epoch ns)."""
    _alter(lab, ResourceType.TOPIC, topic, dict.fromkeys(LISTS, replicas))
    return time.time_ns()


def clear(lab: Lab, topic: str | None) -> int:
    """Take both rates from every broker, and both lists from a topic; return when that was answered."""
    for broker_id in lab.broker_ids:
        _alter(lab, ResourceType.BROKER, str(broker_id), dict.fromkeys(RATES))
    if topic is not None:
        _alter(lab, ResourceType.TOPIC, topic, dict.fromkeys(LISTS))
    return time.time_ns()


def in_force(lab: Lab) -> dict[int, dict[str, int]]:
    """Return the rates that are set, by broker and name."""
    found = {broker_id: _described(lab, ResourceType.BROKER, str(broker_id)) for broker_id in lab.broker_ids}
    rates = {
        broker_id: {name: int(value) for name in RATES if (value := told.get(name))}
        for broker_id, told in found.items()
    }
    return {broker_id: told for broker_id, told in rates.items() if told}


def listed(lab: Lab, topic: str) -> dict[str, str]:
    """Return the lists that are set on a topic, by name."""
    told = _described(lab, ResourceType.TOPIC, topic)
    return {name: text for name in LISTS if (text := told.get(name))}


def _alter(lab: Lab, kind: ResourceType, name: str, told: Mapping[str, str | None]) -> None:
    entries = [
        ConfigEntry(
            key,
            value,
            incremental_operation=AlterConfigOpType.DELETE if value is None else AlterConfigOpType.SET,
        )
        for key, value in told.items()
    ]
    resource = ConfigResource(kind, name, incremental_configs=entries)
    client = topics.admin(lab.bootstrap_servers)
    try:
        for answered in client.incremental_alter_configs([resource]).values():
            answered.result(timeout=_TIMEOUT_S)
    except (KafkaException, TimeoutError) as error:
        message = f"the throttle of {kind.name.lower()} {name} could not be changed: {error}"
        raise LabError(message) from error


def _described(lab: Lab, kind: ResourceType, name: str) -> dict[str, str | None]:
    client: AdminClient = topics.admin(lab.bootstrap_servers)
    try:
        (answered,) = client.describe_configs([ConfigResource(kind, name)]).values()
        return {key: entry.value for key, entry in answered.result(timeout=_TIMEOUT_S).items()}
    except (KafkaException, TimeoutError) as error:
        message = f"the settings of {kind.name.lower()} {name} could not be read: {error}"
        raise LabError(message) from error
