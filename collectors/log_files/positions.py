"""How far each log was read and safely delivered: the collector's memory across restarts."""

import json
import os
from collections import deque
from collections.abc import Callable, Container
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from confluent_kafka import KafkaError

from collectors.errors import CollectorError

REMEMBERED_FILES = 64  # finished files that are gone, kept so that a file that comes back is not sent twice


@dataclass(slots=True)
class Progress:
    """How far one file, known by its fingerprint, was read."""

    offset: int  # bytes, uncompressed; always the start of a line
    is_finished: bool = False


Progresses = dict[str, Progress]
"""Fingerprint to progress, of all files one log has had."""


class PositionFileError(CollectorError):
    """The saved positions cannot be read."""


def load_positions(path: Path) -> dict[str, Progresses]:
    """
    Read the saved progress of every log; nothing when there is no such file.

    Raises:
        PositionFileError: the file is not what `save_positions` writes.

    """
    try:
        logs = json.loads(path.read_text())["logs"]
        return {
            log: {mark: Progress(int(row["offset"]), bool(row["is_finished"])) for mark, row in rows.items()}
            for log, rows in logs.items()
        }
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        message = (
            f"{path}: the saved positions cannot be read ({error!r}); restore the file, or delete it to send "
            "all logs again (a line sent twice keeps its position, so it is recognised)"
        )
        raise PositionFileError(message) from error


def save_positions(path: Path, logs: dict[str, Progresses]) -> None:
    """Replace the file in one step: after a crash it is the old one or the new one, on the disk."""
    rows = {log: {mark: asdict(p) for mark, p in progresses.items()} for log, progresses in logs.items()}
    new = path.with_name(path.name + ".new")
    with new.open("w") as out:
        json.dump({"version": 1, "logs": rows}, out, indent=1)
        out.flush()
        os.fsync(out.fileno())
    new.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def copied(progresses: Progresses) -> Progresses:
    """Copy deeply: what was read and what is safe move apart."""
    return {mark: replace(progress) for mark, progress in progresses.items()}


def forget(progresses: Progresses, present: Container[str]) -> None:
    """Drop the oldest finished files that are gone, all but the last 64."""
    gone = [mark for mark, progress in progresses.items() if progress.is_finished and mark not in present]
    for mark in gone[: max(0, len(gone) - REMEMBERED_FILES)]:
        del progresses[mark]


class InFlight:
    """
    What was handed to the producer for one log, until all that was read before it is acknowledged too.

    Only then does `safe` move: a restart re-sends at most what was in flight and skips nothing.
    """

    def __init__(self, safe: Progresses, failed: Callable[[KafkaError], None]) -> None:
        """Start from what is safe already; `failed` hears of a delivery that failed for good."""
        self.safe = safe
        self.failed = failed
        self.acked_records = 0
        self._receipts: deque[Receipt] = deque()

    def __len__(self) -> int:
        """Count what is not safe yet."""
        return len(self._receipts)

    def expect(self, mark: str, end_offset: int) -> "Receipt":
        """Note a record that is about to be sent; its receipt is the producer's delivery callback."""
        receipt = Receipt(self, mark, end_offset)
        self._receipts.append(receipt)
        return receipt

    def withdraw(self, receipt: "Receipt") -> None:
        """Take back the last receipt: the producer did not take its record."""
        if self._receipts and self._receipts[-1] is receipt:
            self._receipts.pop()

    def finish(self, mark: str, end_offset: int) -> None:
        """Note that nothing more comes from this file."""
        receipt = self.expect(mark, end_offset)
        receipt.is_last = receipt.is_acked = True
        self.settle()

    def settle(self) -> None:
        """Move `safe` over every record before the first one that is not acknowledged."""
        receipts = self._receipts
        while receipts and receipts[0].is_acked:
            receipt = receipts.popleft()
            progress = self.safe.setdefault(receipt.mark, Progress(0))
            progress.offset, progress.is_finished = receipt.end_offset, receipt.is_last
            self.acked_records += not receipt.is_last


class Receipt:
    """The delivery callback of one record, and where its log may be read on once it is safe."""

    __slots__ = ("end_offset", "flight", "is_acked", "is_last", "mark")

    def __init__(self, flight: InFlight, mark: str, end_offset: int) -> None:
        """Belong to `flight`; nothing is acknowledged yet."""
        self.flight = flight
        self.mark = mark
        self.end_offset = end_offset
        self.is_acked = False
        self.is_last = False

    def __call__(self, error: KafkaError | None, _message: object) -> None:
        """Take the producer's word: acknowledged by all in-sync replicas, or failed for good."""
        if error is not None:
            self.flight.failed(error)
            return
        self.is_acked = True
        self.flight.settle()
