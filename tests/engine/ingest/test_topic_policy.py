"""The policy of telemetry topics at the start; on a real broker: tests/live/test_kafka_losses.py."""

from concurrent.futures import Future
from unittest.mock import Mock

import pytest
from confluent_kafka import KafkaError, KafkaException

from conf.exit_codes import ExitCode
from conf.kafka_refusals import Refusals
from conf.settings import Settings
from engine.ingest import topic_policy
from engine.ingest.checkpoints import NoTopicError
from engine.ingest.topic_policy import CompactedTopicError, check_policies

DEFAULTS = {"cleanup.policy": "delete", "retention.ms": "604800000", "retention.bytes": "-1"}


@pytest.fixture
def said(monkeypatch):
    """Return a function that checks one topic, and returns the warnings."""

    def said(policy=None, error=None):
        answer = Mock()
        if error is None:
            entries = {name: Mock(value=value) for name, value in (DEFAULTS | policy).items()}
            answer.result.return_value = entries
        else:
            answer.result.side_effect = KafkaException(KafkaError(error))
        resource = Mock()
        resource.name = "t.metrics"
        admin = Mock(describe_configs=lambda *_, **__: {resource: answer})
        monkeypatch.setattr(topic_policy, "admin_of", lambda _: (admin, Refusals()))
        monkeypatch.setattr(topic_policy, "topics_of", lambda *_: ["t.metrics"])
        warnings = []
        check_policies(Settings(), warnings.append)
        return warnings

    return said


@pytest.mark.parametrize("policy", ["compact", "compact,delete"])
def test_a_compacted_topic_is_refused_with_the_setting_and_the_fix(said, policy):
    with pytest.raises(CompactedTopicError) as refused:
        said({"cleanup.policy": policy})

    assert refused.value.exit_code == ExitCode.WRONG
    assert f"t.metrics has cleanup.policy={policy}:" in str(refused.value)
    assert "--entity-name t.metrics --add-config cleanup.policy=delete" in str(refused.value)


@pytest.mark.parametrize(
    ("policy", "warning"),
    [
        ({}, ""),
        ({"retention.ms": "-1"}, ""),
        ({"retention.ms": "86400000"}, ""),
        ({"retention.ms": "86399999"}, "t.metrics has retention.ms=86399999"),
        ({"retention.bytes": "1073741824"}, ""),
        ({"retention.bytes": "1073741823"}, "t.metrics has retention.bytes=1073741823"),
        ({"cleanup.policy": "", "retention.ms": "1", "retention.bytes": "1"}, ""),
    ],
)
def test_a_retention_that_deletes_lines_soon_is_a_warning(said, policy, warning):
    assert [line[: len(warning)] for line in said(policy)] == ([warning] if warning else [])


def test_a_principal_that_may_not_read_the_settings_is_a_warning_with_what_is_missed_and_the_acl(said):
    [warning] = said(error=KafkaError.TOPIC_AUTHORIZATION_FAILED)

    assert "t.metrics: its settings cannot be read" in warning
    assert "neither compaction nor a short retention is noticed" in warning
    assert "ACL DescribeConfigs" in warning


def test_a_topic_that_does_not_exist_has_no_policy(said):
    assert said(error=KafkaError.UNKNOWN_TOPIC_OR_PART) == []


def test_a_cluster_that_does_not_answer_stops_the_job(said):
    with pytest.raises(NoTopicError, match="does not answer"):
        said(error=KafkaError._TIMED_OUT)


def test_an_answer_that_never_comes_ends_with_the_reason(monkeypatch):
    """Python's own error of a late answer has no text: the ingest stopped with "unknown error"."""
    monkeypatch.setattr(topic_policy, "ANSWER_TIMEOUT_S", 0.1)
    admin = Mock(describe_configs=lambda *_, **__: {Mock(): Future()})
    monkeypatch.setattr(topic_policy, "admin_of", lambda _: (admin, Refusals()))
    with pytest.raises(NoTopicError, match="does not answer: Failed to get metadata"):
        check_policies(Settings(), lambda _: None)
