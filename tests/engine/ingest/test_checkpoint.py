"""Comparison of a checkpoint with its topic; the broker's answers are stubs."""

from concurrent.futures import Future
from unittest.mock import Mock

import pytest

from conf.kafka_refusals import Refusals
from conf.kafka_security import KafkaSecurity
from conf.settings import Telemetry
from engine.ingest import checkpoints
from engine.ingest.checkpoints import (
    NO_ID,
    TOPIC_ID,
    NoTopicError,
    check_same_topic,
    has_topic,
    lost,
    offsets_held,
    read_until,
)
from engine.ingest.losses import LostOffsets, TopicRecreatedError, TruncatedError
from engine.streams.log import StreamLog
from tests.tls import tls_server

TOPIC, ID = "t.request-log", "dKxJ3w_zS8-1b2c3d4e5fA"


@pytest.fixture
def log(tmp_path):
    return StreamLog(tmp_path / "checkpoint")


@pytest.fixture
def holds(monkeypatch):
    """Return a function that sets the offsets in the topic."""
    return lambda held: monkeypatch.setattr(checkpoints, "offsets_held", lambda *_: held)


def began(log, at):
    file = log.folder / "sources" / "0" / "0"
    file.parent.mkdir(parents=True)
    file.write_text(f'\x00v1\n{{"{TOPIC}":{{"0":{at}}}}}')


def test_a_new_checkpoint_has_read_nothing(log):
    assert read_until(log.folder) == {}


def test_the_first_batch_begins_where_the_stream_began_and_in_later_partitions_at_0(log):
    began(log, 5)
    log.write_ends(0, {(TOPIC, 0): 10, (TOPIC, 1): 10})

    assert read_until(log.folder) == {(TOPIC, 0): 5, (TOPIC, 1): 0}


def test_the_first_batch_begins_at_0_when_the_file_with_its_first_offsets_is_lost(log):
    log.write_ends(0, {(TOPIC, 0): 10})

    assert read_until(log.folder) == {(TOPIC, 0): 0}


def test_a_finished_batch_is_read_and_a_begun_one_is_not(log):
    log.write_ends(0, {(TOPIC, 0): 10})
    log.write_commit(0)
    log.write_ends(1, {(TOPIC, 0): 20})

    assert read_until(log.folder) == {(TOPIC, 0): 10}


def test_a_new_partition_begins_at_0_and_may_have_lost_lines(holds):
    holds({0: (0, 10), 1: (0, 5), 2: (50, 80)})

    assert lost(Telemetry(), TOPIC, {(TOPIC, 0): 10}, is_same=True) == [
        LostOffsets(topic=TOPIC, partition=2, first=0, end=50)
    ]


def test_a_new_stream_has_lost_nothing_because_it_begins_at_the_first_available_offset(holds):
    holds({0: (50, 80)})

    assert lost(Telemetry(), TOPIC, {}, is_same=True) == []


def test_the_same_topic_that_ends_before_the_read_position_was_truncated_by_an_unclean_election(holds):
    holds({0: (0, 10), 1: (0, 5)})
    read = {(TOPIC, 0): 10, (TOPIC, 1): 9}

    with pytest.raises(
        TruncatedError, match=r"partition 1 was truncated .*\(it ends at 5 and was read up to 9;"
    ):
        lost(Telemetry(), TOPIC, read, is_same=True)


def test_a_topic_whose_id_is_unknown_and_that_ends_too_early_counts_as_created_again(holds):
    holds({0: (0, 5)})

    with pytest.raises(TopicRecreatedError, match="partition 0 ends at 5 and was read up to 9"):
        lost(Telemetry(), TOPIC, {(TOPIC, 0): 9}, is_same=False)


@pytest.fixture
def topic(monkeypatch):
    """Set the id of the topic."""
    monkeypatch.setattr(checkpoints, "topic_id", lambda *_: ID)


@pytest.mark.usefixtures("topic")
@pytest.mark.parametrize("stored", [None, b"", b"\x00" * 22, b"\xff" * 22, ID[:9].encode(), ID.encode()])
def test_a_topic_id_that_is_missing_or_torn_is_written_again(tmp_path, stored):
    if stored is not None:
        (tmp_path / f"{TOPIC_ID}.{TOPIC}").write_bytes(stored)

    is_same = check_same_topic(Telemetry(), TOPIC, tmp_path)

    assert is_same == (stored == ID.encode())
    assert (tmp_path / f"{TOPIC_ID}.{TOPIC}").read_text() == ID


@pytest.mark.usefixtures("topic")
def test_a_whole_id_of_another_topic_stops_the_job(tmp_path):
    (tmp_path / f"{TOPIC_ID}.{TOPIC}").write_text(ID[::-1])

    with pytest.raises(TopicRecreatedError, match=f"its id is {ID} and was {ID[::-1]}"):
        check_same_topic(Telemetry(), TOPIC, tmp_path)


LIBRDKAFKA, KAFKA = "dKxJ3w/zS8+1b2c3d4e5fA", "dKxJ3w_zS8-1b2c3d4e5fA"


def test_ids_are_compared_as_kafka_writes_them(tmp_path, monkeypatch):
    """Half of all ids have a `+` or `/` as librdkafka and former checkpoints write them."""
    (tmp_path / f"{TOPIC_ID}.{TOPIC}").write_text(LIBRDKAFKA)
    answer = Mock()
    answer.result.return_value.topic_id = LIBRDKAFKA
    admin = Mock(describe_topics=lambda *_, **__: {TOPIC: answer})
    monkeypatch.setattr(checkpoints, "admin_of", lambda _: (admin, None))
    assert checkpoints.topic_id(Telemetry(), TOPIC) == KAFKA
    assert check_same_topic(Telemetry(), TOPIC, tmp_path)

    answer.result.return_value.topic_id = "x" + LIBRDKAFKA[1:]
    with pytest.raises(TopicRecreatedError):
        check_same_topic(Telemetry(), TOPIC, tmp_path)


def test_a_topic_id_that_never_comes_ends_with_the_reason(monkeypatch):
    admin = Mock(describe_topics=lambda *_, **__: {TOPIC: Future()})
    monkeypatch.setattr(checkpoints, "admin_of", lambda _: (admin, Refusals()))
    with pytest.raises(NoTopicError, match=f"cannot describe {TOPIC}: no broker has answered for 0"):
        checkpoints.topic_id(Telemetry(), TOPIC, 0.1)


@pytest.mark.parametrize("stored", [NO_ID, ID])
def test_a_cluster_without_topic_ids_is_accepted(tmp_path, monkeypatch, stored):
    (tmp_path / f"{TOPIC_ID}.{TOPIC}").write_text(stored)
    for answer in (NO_ID, ID):
        monkeypatch.setattr(checkpoints, "topic_id", lambda *_, answer=answer: answer)
        check_same_topic(Telemetry(), TOPIC, tmp_path)

    assert (tmp_path / f"{TOPIC_ID}.{TOPIC}").read_text() == ID


def test_a_cluster_that_is_not_trusted_is_an_error_with_the_reason(monkeypatch, tmp_path):
    monkeypatch.setattr(checkpoints, "ANSWER_TIMEOUT_S", 1.0)
    with tls_server(tmp_path) as address:
        telemetry = Telemetry(bootstrap_servers=address, security=KafkaSecurity(security_protocol="SSL"))
        for ask in (offsets_held, has_topic):
            with pytest.raises(NoTopicError, match=f"{address} does not answer.*verify failed"):
                ask(telemetry, TOPIC)
