"""Start and stop of the queries; their output: tests/live/test_ingest.py."""

import threading
from unittest.mock import Mock

import pytest

from conf.settings import Settings, Telemetry
from engine.ingest.checkpoints import NoTopicError
from engine.ingest.losses import LostError, LostOffsets, TopicRecreatedError, TruncatedError
from engine.streams.log import StreamLog
from jobs import ingest
from jobs.ingest import offsets_of


@pytest.fixture
def spark(monkeypatch):
    """Replace everything that a query needs by stubs."""
    monkeypatch.setattr(ingest, "finish_if_gone", Mock())
    monkeypatch.setattr(ingest, "writer_of", Mock())
    return Mock()


@pytest.mark.parametrize("step", ["writer_of", "start"])
def test_a_query_that_cannot_start_stops_those_that_have_started(spark, monkeypatch, step):
    first = Mock()
    monkeypatch.setattr(ingest, "start", Mock(return_value=first))
    monkeypatch.setattr(ingest, step, Mock(side_effect=[first, ValueError("no second")]))

    with pytest.raises(ValueError, match="no second"):
        ingest.run(spark, Settings(), Mock(), threading.Event(), once=True)

    first.stop.assert_called_once_with()


@pytest.fixture
def log(tmp_path):
    log = StreamLog(tmp_path)
    log.write_ends(0, {("t.a", 0): 10})
    return log


@pytest.fixture(autouse=True)
def held(monkeypatch):
    held = {0: (7, 50), 1: (0, 5)}
    monkeypatch.setattr(ingest, "offsets_held", lambda _telemetry, _topic: held)
    return held


def test_a_batch_begins_at_the_end_of_the_batch_before(log):
    log.write_ends(1, {("t.a", 0): 30})

    assert offsets_of(log, 1, Telemetry()) == {("t.a", 0): (10, 30)}


def test_a_later_topic_begins_at_its_first_available_offset_even_when_the_batch_is_retried(log, held):
    log.write_ends(1, {("t.a", 0): 10, ("t.b", 0): 40, ("t.b", 1): 5})
    first = offsets_of(log, 1, Telemetry())
    held[0] = (20, 50)  # retention deletes more

    assert first == offsets_of(log, 1, Telemetry())
    assert first == {("t.a", 0): (10, 10), ("t.b", 0): (7, 40), ("t.b", 1): (0, 5)}


def test_a_partition_that_is_added_to_a_topic_begins_at_0_so_that_deleted_lines_are_missed(log, held):
    """Retention has deleted the offsets 0 to 6: to begin at 7 would lose them without a word."""
    held[3] = (7, 50)
    log.write_ends(1, {("t.a", 0): 10, ("t.a", 3): 40})

    assert offsets_of(log, 1, Telemetry()) == {("t.a", 0): (10, 10), ("t.a", 3): (0, 40)}


@pytest.mark.parametrize(
    ("is_same", "error", "message"),
    [
        (False, TopicRecreatedError, "partition 0 ends at 3 and was read up to 10"),
        (True, TruncatedError, "partition 0 was truncated by an unclean leader election"),
    ],
)
def test_a_partition_that_ends_before_the_read_position_lost_lines(log, monkeypatch, is_same, error, message):
    monkeypatch.setattr(ingest, "check_same_topic", lambda *_: is_same)
    log.write_ends(1, {("t.a", 0): 3})

    with pytest.raises(error, match=message):
        offsets_of(log, 1, Telemetry())


def test_a_topic_that_is_gone_stops_the_job(log):
    log.write_ends(1, {("t.b", 0): 40})

    with pytest.raises(NoTopicError, match=r"t\.a partition 0 was read but no longer exists"):
        offsets_of(log, 1, Telemetry())


def failed(message):
    """Return a query that failed with a traceback."""
    return Mock(exception=lambda: RuntimeError(f"Traceback (most recent call last):\n{message}"))


def test_a_batch_that_cannot_be_read_is_explained_by_the_topics(monkeypatch):
    """The exit code is then 3, as for the same loss found at the start."""
    recreated = TopicRecreatedError("t", "its id is b and was a")
    monkeypatch.setattr(ingest, "check_nothing_lost", Mock(side_effect=recreated))

    with pytest.raises(TopicRecreatedError):
        ingest._raise_failure([failed("UnreadError: t")], Settings(), [])


def test_a_loss_that_a_batch_found_ends_the_job_with_its_own_error():
    """The exit code is 3, and the message is the one that names the offsets."""
    loss = LostError([LostOffsets(topic="t", partition=0, first=3, end=5)])

    with pytest.raises(LostError, match="t partition 0: offsets 3 to 4"):
        ingest._raise_failure([failed("LostError: lines are lost")], Settings(), [loss])
