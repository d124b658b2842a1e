"""A topic's id, asked of brokers that do not know it yet."""

from concurrent.futures import Future
from unittest.mock import Mock

import pytest
from confluent_kafka import KafkaError, KafkaException

from lab import topics
from lab.errors import LabError


def answered(told):
    answer = Future()
    if isinstance(told, Exception):
        answer.set_exception(told)
    else:
        answer.set_result(Mock(topic_id=told))
    return {"t": answer}


@pytest.fixture
def asked(monkeypatch):
    client = Mock()
    monkeypatch.setattr(topics, "admin", lambda _servers: client)
    monkeypatch.setattr(topics, "POLL_INTERVAL_S", 0.01)
    return client.describe_topics


def test_a_topic_that_is_not_known_everywhere_yet_is_asked_for_again(asked):
    unknown = KafkaException(KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART))
    asked.side_effect = [answered(unknown), answered(unknown), answered("7/s+mc2GSZ2tb97+O3ZvsA")]

    assert topics.id_of(Mock(), "t") == "7_s-mc2GSZ2tb97-O3ZvsA"


def test_a_topic_that_nobody_comes_to_know_is_an_error(asked, monkeypatch):
    monkeypatch.setattr(topics, "READ_TIMEOUT_S", 0.05)
    asked.side_effect = lambda _of: answered(KafkaException(KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART)))

    with pytest.raises(LabError, match="topic t has no id"):
        topics.id_of(Mock(), "t")
