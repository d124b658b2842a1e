"""Positions of each log: how far it was read, and how far its lines are acknowledged."""

import json
from collections import deque
from collections.abc import Callable, Container
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from confluent_kafka import KafkaError

from collectors.errors import CollectorError
from collectors.log_files.lines import Fingerprints
from conf.atomic_file import write_atomically

REMEMBERED_FILES = 64  # finished and deleted files to keep, so that a file that comes back is not sent twice


@dataclass(slots=True)
class FileProgress:
    """How far one file was read; its mark identifies the file."""

    offset: int  # bytes, uncompressed; always the start of a line
    is_finished: bool = False
    head: Fingerprints = ()  # empty in positions of a former version


LogProgress = dict[str, FileProgress]
"""Mark to progress, for all files of one log."""


class PositionFileError(CollectorError):
    """The saved positions cannot be read."""


def load_positions(path: Path) -> dict[str, LogProgress]:
    """
    Return the saved progress of each log; empty if the file does not exist.

    Raises:
        PositionFileError: the file cannot be read, or was not written by `save_positions`.

    """
    try:
        logs = json.loads(path.read_text())["logs"]
        return {
            log: {
                mark: FileProgress(
                    int(row["offset"]), bool(row["is_finished"]), tuple(map(str, row.get("head", ())))
                )
                for mark, row in rows.items()
            }
            for log, rows in logs.items()
        }
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        message = (
            f"{path}: the saved positions cannot be read ({error!r}); restore the file, or delete it to send "
            "all logs again (a line that is sent twice has the same position, so the duplicate is removed)"
        )
        raise PositionFileError(message) from error


def save_positions(path: Path, logs: dict[str, LogProgress]) -> None:
    """Replace the file atomically and sync it: after a crash it has the old or the new content."""
    rows = {log: {mark: asdict(p) for mark, p in progresses.items()} for log, progresses in logs.items()}
    write_atomically(path, json.dumps({"version": 2, "logs": rows}, indent=1), is_synced=True)


def copied(progresses: LogProgress) -> LogProgress:
    """Return a deep copy: read and acknowledged progress advance separately."""
    return {mark: replace(progress) for mark, progress in progresses.items()}


def forget(progresses: LogProgress, present: Container[str]) -> None:
    """
    Remove finished files that no longer exist, except the newest 64.

    A file whose mark is the first line of another one stays: a later file must not get its mark.
    """
    shared = {p.head[0] for mark, p in progresses.items() if p.head and p.head[0] != mark}
    finished = [mark for mark, progress in progresses.items() if progress.is_finished]
    gone = [mark for mark in finished if mark not in present and mark not in shared]
    for mark in gone[: max(0, len(gone) - REMEMBERED_FILES)]:
        del progresses[mark]


class InFlight:
    """
    The records of one log that are sent but not yet safe.

    A record is safe when it and all records before it are acknowledged. Only then does `safe` advance, so a
    restart sends at most the records in flight again and skips none.
    """

    def __init__(self, safe: LogProgress, failed: Callable[[KafkaError], None]) -> None:
        """Start from the saved progress; `failed` is called when a delivery fails permanently."""
        self.safe = safe
        self.failed = failed
        self.acked_records = 0
        self._receipts: deque[Receipt] = deque()

    def __len__(self) -> int:
        """Return the number of records that are not safe yet."""
        return len(self._receipts)

    def identify(self, mark: str, head: Fingerprints) -> None:
        """Store the first lines of a file, before its first record is sent."""
        self.safe.setdefault(mark, FileProgress(0)).head = head

    def expect(self, mark: str, end_offset: int) -> "Receipt":
        """Add a record before it is sent; return its delivery callback."""
        receipt = Receipt(self, mark, end_offset)
        self._receipts.append(receipt)
        return receipt

    def withdraw(self, receipt: "Receipt") -> None:
        """Remove the last receipt, because the producer did not accept its record."""
        if self._receipts and self._receipts[-1] is receipt:
            self._receipts.pop()

    def finish(self, mark: str, end_offset: int) -> None:
        """Mark the end of a file, after its last record."""
        receipt = self.expect(mark, end_offset)
        receipt.is_last = receipt.is_acked = True
        self.settle()

    def settle(self) -> None:
        """Advance `safe` up to the first record that is not acknowledged."""
        receipts = self._receipts
        while receipts and receipts[0].is_acked:
            receipt = receipts.popleft()
            progress = self.safe.setdefault(receipt.mark, FileProgress(0))
            progress.offset, progress.is_finished = receipt.end_offset, receipt.is_last
            self.acked_records += not receipt.is_last


class Receipt:
    """The delivery callback of one record, with the offset to continue from once the record is safe."""

    __slots__ = ("end_offset", "flight", "is_acked", "is_last", "mark")

    def __init__(self, flight: InFlight, mark: str, end_offset: int) -> None:
        """Create an unacknowledged receipt of `flight`."""
        self.flight = flight
        self.mark = mark
        self.end_offset = end_offset
        self.is_acked = False
        self.is_last = False

    def __call__(self, error: KafkaError | None, _message: object) -> None:
        """Handle the delivery report: acknowledged by all in-sync replicas, or failed permanently."""
        if error is not None:
            self.flight.failed(error)
            return
        self.is_acked = True
        self.flight.settle()
