"""The lines of a performance test on their way to Kafka."""

import threading
from dataclasses import dataclass, field
from typing import Any

from collectors.errors import CollectorError
from collectors.log_files.lines import RawLine
from collectors.publish import Publisher
from conf.settings import Settings

FLUSH_S, QUIET_S = 60.0, 20.0


@dataclass(slots=True)
class Sent:
    """Records handed to the producer and not lost."""

    lines: int = 0
    failures: list[str] = field(default_factory=list)


class Sender:
    """Publishes lines and waits for their acks; a failure is told at the end, for the file has every line."""

    def __init__(self, settings: Settings) -> None:
        """
        Reach the telemetry brokers first: a test is not begun that nobody would hear of.

        Raises:
            PublishError: nobody answers.

        """
        self._publisher = Publisher(settings.telemetry, settings.collector, threading.Event(), once=True)
        self._publisher.check()
        self.sent = Sent()

    def send(self, line: RawLine) -> None:
        """Hand one line to the producer."""
        if self.sent.failures:
            return
        try:
            self._publisher.send(line, self._delivered)
            self._publisher.serve()
            self.sent.lines += 1
        except CollectorError as error:
            self.sent.failures.append(str(error))

    def finish(self) -> Sent:
        """Wait for the acks."""
        left = self._publisher.flush(FLUSH_S, QUIET_S)
        if left:
            self.sent.failures.append(f"{left} lines were not acknowledged")
            self._publisher.abandon()
        return self.sent

    def _delivered(self, error: Any, _message: object) -> None:  # noqa: ANN401 (librdkafka's error or None)
        if error is not None:
            self.sent.failures.append(f"a line was not delivered: {error.str()}")
