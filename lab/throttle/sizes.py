"""Sample the size of each new replica on disk: the true rate of a move, independent of logs and metrics."""

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
    """Return the folder of a partition's log on a broker."""
    broker_id, partition = replica
    return lab.state / f"broker-{broker_id}" / "data" / f"{topic}-{partition}"


def bytes_on_disk(folder: Path) -> int:
    """Return the bytes of a log's segments, 0 if the folder does not exist."""
    total = 0
    for segment in folder.glob("*.log"):
        try:
            total += segment.stat().st_size
        except FileNotFoundError:  # deleted since the folder was listed
            continue
    return total


@dataclass(frozen=True, slots=True)
class DiskSizes:
    """The sizes at one instant (epoch ns)."""

    at_ns: int
    sizes: Mapping[Replica, int]

    def total(self, replicas: Iterable[Replica]) -> int:
        """Return the sum of the sizes of these replicas."""
        return sum(self.sizes.get(replica, 0) for replica in replicas)


class SizeWatcher(threading.Thread):
    """Samples sizes twice a second into a JSON lines file, while its context is open."""

    def __init__(self, lab: Lab, topic: str, part: str, replicas: Sequence[Replica], file: Path) -> None:
        """Prepare the thread."""
        super().__init__(name=f"sizes-{topic}", daemon=True)
        self.samples: list[DiskSizes] = []
        self._folders = {replica: folder_of(lab, topic, replica) for replica in replicas}
        self._part, self._topic, self._file = part, topic, file
        self._stop_event = threading.Event()

    def __enter__(self) -> Self:
        """Start to sample."""
        self._file.parent.mkdir(parents=True, exist_ok=True)
        self.start()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        """Stop the thread."""
        self._stop_event.set()
        self.join()

    def run(self) -> None:
        """Sample at a fixed interval until the context ends."""
        next_at = time.monotonic()
        with self._file.open("a") as lines:
            while not self._stop_event.is_set():
                lines.write(json.dumps(self._sample()) + "\n")
                lines.flush()
                next_at = max(next_at + INTERVAL_S, time.monotonic())
                self._stop_event.wait(next_at - time.monotonic())

    def _sample(self) -> dict[str, object]:
        sizes = {replica: bytes_on_disk(folder) for replica, folder in self._folders.items()}
        now = DiskSizes(time.time_ns(), sizes)
        self.samples.append(now)
        replicas = [
            {"broker_id": broker_id, "partition": partition, "bytes": size}
            for (broker_id, partition), size in sizes.items()
        ]
        return {"part": self._part, "topic": self._topic, "at": truth.iso(now.at_ns), "replicas": replicas}
