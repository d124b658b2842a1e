"""How the queries are started and stopped together; what they write: tests/live/test_ingest.py."""

import threading
from unittest.mock import Mock

import pytest

from conf.settings import Settings
from jobs import ingest


@pytest.fixture
def spark(monkeypatch):
    """Let all that a query needs be there."""
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
    spark.streams.removeListener.assert_called_once()
