"""How the queries are started and stopped together; what they write: tests/live/test_ingest.py."""

import threading
from unittest.mock import Mock

import pytest

from conf.settings import Settings
from jobs import ingest, ingest_checkpoint, ingest_state
from jobs.sources import SOURCES


@pytest.fixture
def spark(monkeypatch):
    """Let all that a query needs be there."""
    monkeypatch.setattr(ingest, "finish_if_gone", Mock())
    monkeypatch.setattr(ingest, "writer_of", Mock())
    monkeypatch.setattr(ingest, "sources_of", Mock(return_value=list(SOURCES)))
    return Mock()


@pytest.mark.parametrize("step", ["writer_of", "start"])
def test_a_query_that_cannot_start_stops_those_that_have_started(spark, monkeypatch, step):
    first = Mock()
    monkeypatch.setattr(ingest, "start", Mock(return_value=first))
    monkeypatch.setattr(ingest, step, Mock(side_effect=[first, ValueError("no second")]))

    with pytest.raises(ValueError, match="no second"):
        ingest.run(spark, Settings(), Mock(), threading.Event(), once=True)

    first.stop.assert_called_once_with()
    spark.streams.removeListener.assert_called_once()


def test_a_topic_that_comes_later_is_read_from_then_on(spark, monkeypatch):
    stop = threading.Event()
    queries = [Mock(isActive=True, exception=Mock(return_value=None)) for _ in SOURCES]
    starting = Mock(side_effect=queries)
    monkeypatch.setattr(ingest, "LOOK_S", 0)
    monkeypatch.setattr(ingest, "start", starting)
    monkeypatch.setattr(ingest, "sources_of", Mock(return_value=list(SOURCES[:2])))

    def later(_settings, known):
        if len(known) == len(SOURCES):
            stop.set()
        return [source for source in SOURCES if source not in known]

    monkeypatch.setattr(ingest, "new_sources", later)
    ingest.run(spark, Settings(), Mock(), stop, once=False)

    assert [call.args[2] for call in ingest.writer_of.call_args_list] == list(SOURCES)
    assert all(query.stop.called for query in queries)


def test_only_topics_that_are_there_are_new(monkeypatch):
    optional = [source for source in SOURCES if source.is_optional]
    there = Mock(side_effect=[True, *(False for _ in optional[1:])])
    monkeypatch.setattr(ingest_checkpoint, "has_topic", there)
    known = [source for source in SOURCES if not source.is_optional]

    assert ingest_state.new_sources(Settings(), known) == optional[:1]
    assert ingest_state.new_sources(Settings(), SOURCES) == []

    there.side_effect = ingest_checkpoint.NoTopicError("no answer")
    assert ingest_state.new_sources(Settings(), known) == []
