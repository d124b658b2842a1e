"""A delivery report without an error and without an offset: the record may be in no log."""

import threading
from unittest.mock import MagicMock

import pytest

from collectors import publish
from collectors.log_files.lines import RawLine
from collectors.publish import Publisher
from conf.settings import Collector, Telemetry

LINE = RawLine(b"line", "broker-1", "a.log", "broker-1/mark/0", "request-log")


class Queue:
    """A producer whose queue may be full, and whose reports have the offsets that a test states."""

    def __init__(self):
        """Begin with an empty queue."""
        self.sent, self.queue, self.offsets, self.is_full = [], [], [], False

    def __call__(self, *_, **__):
        """Stand in for the class."""
        return self

    def produce(self, topic, value, *, on_delivery, **options):
        """Take a record."""
        if self.is_full:
            raise BufferError
        self.sent.append((topic, value, options))
        self.queue.append(on_delivery)

    def poll(self, _timeout_s):
        """Report what is in the queue."""
        reports, self.queue = self.queue, []
        for report in reports:
            message = MagicMock()
            message.offset.return_value = self.offsets.pop(0)
            report(None, message)

    def flush(self, timeout_s):
        """Report, as `poll` does; return how many records wait."""
        self.poll(timeout_s)
        return len(self.queue)


@pytest.fixture
def sending(monkeypatch):
    """Return a publisher and its queue."""
    monkeypatch.setattr(publish, "Producer", queue := Queue())
    return Publisher(Telemetry(), Collector(cluster="prod"), threading.Event()), queue


def test_it_is_sent_again_until_a_report_has_its_offset(sending):
    publisher, queue = sending
    delivered, queue.offsets = MagicMock(), [None, None, 7]

    publisher.send(LINE, delivered)
    for _ in range(2):
        publisher.serve()
        delivered.assert_not_called()
    publisher.serve()

    delivered.assert_called_once()
    assert queue.sent == [queue.sent[0]] * 3


def test_it_waits_while_the_queue_is_full(sending):
    publisher, queue = sending
    delivered, queue.offsets = MagicMock(), [None, 7]
    publisher.send(LINE, delivered)
    queue.is_full = True
    publisher.serve()
    queue.is_full = False
    publisher.serve()
    publisher.serve()

    delivered.assert_called_once()
    assert len(queue.sent) == 2


def test_the_last_flush_waits_for_it_too(sending):
    publisher, queue = sending
    delivered, queue.offsets = MagicMock(), [None, 7]
    publisher.send(LINE, delivered)

    assert publisher.flush(10.0, 5.0) == 0
    delivered.assert_called_once()


def test_what_the_last_flush_cannot_send_again_is_not_acknowledged(sending):
    publisher, queue = sending
    delivered, queue.offsets = MagicMock(), [None]
    publisher.send(LINE, delivered)
    queue.is_full = True

    assert publisher.flush(0.2, 0.1) == 1
    delivered.assert_not_called()
