"""How much of each new replica is on disk: the real rate of a move, seen by no log and no metric."""

import json
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from lab import truth
from lab.layout import Lab

INTERVAL_S = 0.5
Replica = tuple[int, int]
"""Broker and partition."""


def folder_of(lab: Lab, topic: str, replica: Replica) -> Path:
    """Return where a broker keeps a partition's log."""
    broker_id, partition = replica
    return lab.state / f"broker-{broker_id}" / "data" / f"{topic}-{partition}"


def bytes_on_disk(folder: Path) -> int:
    """Return the bytes of a log's segments, 0 when there is no such folder (yet)."""
    total = 0
    for segment in folder.glob("*.log"):
        try:
            total += segment.stat().st_size
        except FileNotFoundError:  # deleted since the folder was read
            continue
    return total


@dataclass(frozen=True, slots=True)
class Seen:
    """The sizes at one instant (epoch ns)."""

    at_ns: int
    sizes: Mapping[Replica, int]

    def total(self, replicas: Iterable[Replica]) -> int:
        """Sum up some of them."""
        return sum(self.sizes.get(replica, 0) for replica in replicas)


class Watch(threading.Thread):
    """Looks twice a second and appends what it saw to a file of JSON lines; a context that ends with it."""

    def __init__(self, lab: Lab, topic: str, part: str, replicas: Sequence[Replica], file: Path) -> None:
        """Prepare the thread."""
        super().__init__(name=f"sizes-{topic}", daemon=True)
        self.seen: list[Seen] = []
        self._folders = {replica: folder_of(lab, topic, replica) for replica in replicas}
        self._part, self._topic, self._file = part, topic, file
        self._stop_event = threading.Event()

    def __enter__(self) -> Self:
        """Begin to look."""
        self._file.parent.mkdir(parents=True, exist_ok=True)
        self.start()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        """Look no more."""
        self._stop_event.set()
        self.join()

    def run(self) -> None:
        """Look at a fixed pace until told to stop."""
        next_at = time.monotonic()
        with self._file.open("a") as lines:
            while not self._stop_event.is_set():
                lines.write(json.dumps(self._look()) + "\n")
                lines.flush()
                next_at = max(next_at + INTERVAL_S, time.monotonic())
                self._stop_event.wait(next_at - time.monotonic())

    def _look(self) -> dict[str, object]:
        sizes = {replica: bytes_on_disk(folder) for replica, folder in self._folders.items()}
        now = Seen(time.time_ns(), sizes)
        self.seen.append(now)
        replicas = [
            {"broker_id": broker_id, "partition": partition, "bytes": size}
            for (broker_id, partition), size in sizes.items()
        ]
        return {"part": self._part, "topic": self._topic, "at": truth.iso(now.at_ns), "replicas": replicas}
