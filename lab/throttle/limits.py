"""Set and remove throttles by their configuration names, for faults that Kafka's own tool does not cause."""

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
"""Broker settings, in bytes/s."""

LISTS = ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas")
"""Topic settings: PARTITION:BROKER,... or `*`."""


def set_rates(lab: Lab, broker_ids: list[int], limit_bytes_per_s: int) -> int:
    """Set both rates on each of these brokers. Return when the last broker acknowledged it (epoch ns)."""
    rates = dict.fromkeys(RATES, str(limit_bytes_per_s))
    for broker_id in broker_ids:
        _alter(lab, ResourceType.BROKER, str(broker_id), rates)
    return time.time_ns()


def set_lists(lab: Lab, topic: str, replicas: str) -> int:
    """Set both lists of a topic. Return when it was acknowledged (epoch ns)."""
    _alter(lab, ResourceType.TOPIC, topic, dict.fromkeys(LISTS, replicas))
    return time.time_ns()


def clear(lab: Lab, topic: str | None) -> int:
    """Remove both rates of every broker, and both lists of a topic. Return when it was acknowledged."""
    for broker_id in lab.broker_ids:
        _alter(lab, ResourceType.BROKER, str(broker_id), dict.fromkeys(RATES))
    if topic is not None:
        _alter(lab, ResourceType.TOPIC, topic, dict.fromkeys(LISTS))
    return time.time_ns()


def current_rates(lab: Lab) -> dict[int, dict[str, int]]:
    """Return the configured rates by broker and setting."""
    described = {
        broker_id: _described(lab, ResourceType.BROKER, str(broker_id)) for broker_id in lab.broker_ids
    }
    rates = {
        broker_id: {name: int(value) for name in RATES if (value := settings.get(name))}
        for broker_id, settings in described.items()
    }
    return {broker_id: by_name for broker_id, by_name in rates.items() if by_name}


def current_lists(lab: Lab, topic: str) -> dict[str, str]:
    """Return the configured lists of a topic by setting."""
    settings = _described(lab, ResourceType.TOPIC, topic)
    return {name: text for name in LISTS if (text := settings.get(name))}


def _alter(lab: Lab, kind: ResourceType, name: str, settings: Mapping[str, str | None]) -> None:
    entries = [
        ConfigEntry(
            key,
            value,
            incremental_operation=AlterConfigOpType.DELETE if value is None else AlterConfigOpType.SET,
        )
        for key, value in settings.items()
    ]
    resource = ConfigResource(kind, name, incremental_configs=entries)
    client = topics.admin(lab.bootstrap_servers)
    try:
        asked = client.incremental_alter_configs([resource], request_timeout=topics.CHANGE_TIMEOUT_S)
        for answered in asked.values():
            answered.result()
    except KafkaException as error:
        message = f"the throttle of {kind.name.lower()} {name} cannot be changed: {error}"
        raise LabError(message) from error


def _described(lab: Lab, kind: ResourceType, name: str) -> dict[str, str | None]:
    client: AdminClient = topics.admin(lab.bootstrap_servers)
    try:
        (answered,) = client.describe_configs([ConfigResource(kind, name)]).values()
        return {key: entry.value for key, entry in answered.result(timeout=topics.READ_TIMEOUT_S).items()}
    except (KafkaException, TimeoutError) as error:
        message = f"the settings of {kind.name.lower()} {name} cannot be read: {error}"
        raise LabError(message) from error
