"""Publish the lines of a performance test."""

import threading
from dataclasses import dataclass, field
from typing import Any

from collectors.errors import CollectorError
from collectors.log_files.lines import RawLine
from collectors.publish import Publisher
from conf.settings import Settings

FLUSH_S, QUIET_S = 60.0, 20.0


@dataclass(slots=True)
class SendResult:
    """The number of sent lines, and the failures."""

    lines: int = 0
    failures: list[str] = field(default_factory=list)


class Sender:
    """Publishes lines and waits for acks. Failures are reported at the end: the file has all lines."""

    def __init__(self, settings: Settings) -> None:
        """
        Check that the telemetry brokers answer, before a test starts.

        Raises:
            PublishError: no broker answers.

        """
        self._publisher = Publisher(settings.telemetry, settings.collector, threading.Event(), once=True)
        self._publisher.check()
        self.sent = SendResult()

    def send(self, line: RawLine) -> None:
        """Send one line; after a failure, do nothing."""
        if self.sent.failures:
            return
        try:
            self._publisher.send(line, self._delivered)
            self._publisher.serve()
            self.sent.lines += 1
        except CollectorError as error:
            self.sent.failures.append(str(error))

    def finish(self) -> SendResult:
        """Wait for the acks and return the result."""
        left = self._publisher.flush(FLUSH_S, QUIET_S)
        if left:
            self.sent.failures.append(f"{left} lines were not acknowledged")
            self._publisher.abandon()
        return self.sent

    def _delivered(self, error: Any, _message: object) -> None:  # noqa: ANN401 (librdkafka's error or None)
        if error is not None:
            self.sent.failures.append(f"a line was not delivered: {error.str()}")
