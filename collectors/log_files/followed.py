"""The state of one log in a collector."""

from dataclasses import dataclass

from collectors.log_files.positions import InFlight
from collectors.log_files.tail import Tailer
from conf.settings import TailedFile


@dataclass(slots=True)
class FollowedLog:
    """A log with its tailer and its unacknowledged records."""

    file: TailedFile
    name: str
    tailer: Tailer
    flight: InFlight
    counted_acks: int = 0

    def tidy(self) -> None:
        """Remove the finished files that the tailer has removed."""
        for mark in [m for m, p in self.flight.safe.items() if p.is_finished and m not in self.tailer.known]:
            del self.flight.safe[mark]
