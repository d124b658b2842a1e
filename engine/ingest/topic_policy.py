"""The policy of the telemetry topics, read at the start: compaction is refused, a short retention named."""

from collections.abc import Callable, Mapping, Sequence

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import ConfigResource, ResourceType  # type: ignore[attr-defined]

from conf.exit_codes import WrongUseError
from conf.kafka_refusals import answer_of
from conf.settings import Settings, Telemetry
from engine.ingest.checkpoints import ANSWER_TIMEOUT_S, NoTopicError, admin_of, reason_of
from engine.ingest.positions import topics_of
from engine.ingest.sources import QUERIES

Policy = Mapping[str, str]
"""The settings of a topic that delete its records, by name."""

CLEANUP, RETENTION_MS, RETENTION_BYTES = "cleanup.policy", "retention.ms", "retention.bytes"
SETTINGS = (CLEANUP, RETENTION_MS, RETENTION_BYTES)
UNLIMITED = -1

SHORT_MS = 86_400_000
"""A day: an ingest that stops in the evening must find its lines the next morning. Kafka keeps a week."""

SMALL_BYTES = 1 << 30
"""Kafka's default size of a segment. A partition that holds less has a mistaken unit, or is for tests."""

HOUR_MS = 3_600_000


class CompactedTopicError(WrongUseError):
    """Log compaction of a telemetry topic deletes lines, whether they were read or not."""

    def __init__(self, topic: str, policy: str) -> None:
        """Build the message, which names the setting and the fix."""
        super().__init__(
            f"{topic} has {CLEANUP}={policy}: compaction keeps one line of each key, which is the node, and "
            "deletes the others, read or not; nothing was read. Set it to delete: kafka-configs.sh --alter "
            f"--entity-type topics --entity-name {topic} --add-config {CLEANUP}=delete"
        )


def check_policies(settings: Settings, say: Callable[[str], None]) -> None:
    """
    Check the policy of each telemetry topic that exists.

    Print a warning about a short retention, or if the policy cannot be read.

    Raises:
        CompactedTopicError: a topic is compacted.
        NoTopicError: the cluster cannot be reached.

    """
    topics = [topic for query in QUERIES for topic in topics_of(settings, query)]
    for topic, policy in policies(settings.telemetry, topics).items():
        if isinstance(policy, str):
            say(
                f"{topic}: its settings cannot be read ({policy}), so neither compaction nor a short "
                "retention is noticed. Grant the ingest the ACL DescribeConfigs on the topic"
            )
            continue
        if "compact" in policy[CLEANUP]:
            raise CompactedTopicError(topic, policy[CLEANUP])
        for warning in warnings_of(topic, policy):
            say(warning)


def policies(telemetry: Telemetry, topics: Sequence[str]) -> dict[str, Policy | str]:
    """
    Return the policy of each topic that exists, or the error that hides it.

    Raises:
        NoTopicError: the cluster cannot be reached.

    """
    admin, refusals = admin_of(telemetry)
    asked = admin.describe_configs(
        [ConfigResource(ResourceType.TOPIC, topic) for topic in topics], request_timeout=ANSWER_TIMEOUT_S
    )
    found: dict[str, Policy | str] = {}
    for resource, answer in asked.items():
        try:
            entries = answer_of(answer, ANSWER_TIMEOUT_S)
        except KafkaException as error:
            code = error.args[0].code()
            if code == KafkaError.UNKNOWN_TOPIC_OR_PART:
                continue
            if code != KafkaError.TOPIC_AUTHORIZATION_FAILED:
                why = reason_of(admin, refusals, error)
                message = f"{telemetry.bootstrap_servers} does not answer: {why}"
                raise NoTopicError(message) from error
            found[resource.name] = error.args[0].str()
        else:
            found[resource.name] = {name: entries[name].value for name in SETTINGS}
    return found


def warnings_of(topic: str, policy: Policy) -> list[str]:
    """
    Return a sentence about each setting that deletes lines soon.

    >>> warnings_of("t", {"cleanup.policy": "delete", "retention.ms": "3600000", "retention.bytes": "-1"})
    ['t has retention.ms=3600000: lines that are not read within 1.0 hours are deleted']
    """
    if "delete" not in policy[CLEANUP]:
        return []
    warnings = []
    kept_ms, kept_bytes = int(policy[RETENTION_MS]), int(policy[RETENTION_BYTES])
    if kept_ms != UNLIMITED and kept_ms < SHORT_MS:
        hours = f"{kept_ms / HOUR_MS:.1f} hours"
        warnings.append(
            f"{topic} has {RETENTION_MS}={kept_ms}: lines that are not read within {hours} are deleted"
        )
    if kept_bytes != UNLIMITED and kept_bytes < SMALL_BYTES:
        warnings.append(
            f"{topic} has {RETENTION_BYTES}={kept_bytes}: a partition that grows beyond it deletes lines of "
            "any age, read or not"
        )
    return warnings
