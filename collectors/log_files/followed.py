"""One log that a collector follows."""

from dataclasses import dataclass

from collectors.log_files.positions import InFlight
from collectors.log_files.tail import Tailer
from conf.settings import TailedFile


@dataclass(slots=True)
class Followed:
    """One log: read on one side, safe on the other."""

    file: TailedFile
    name: str
    tailer: Tailer
    flight: InFlight
    counted_acks: int = 0

    def tidy(self) -> None:
        """Forget the finished files that the tailer has forgotten."""
        for mark in [m for m, p in self.flight.safe.items() if p.is_finished and m not in self.tailer.known]:
            del self.flight.safe[mark]
