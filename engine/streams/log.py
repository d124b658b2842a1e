"""
The checkpoint of a Spark stream, read and repaired without Spark: `offsets/N`, `commits/N`, `sources/0/0`.

Spark writes `offsets/N` before it runs a batch and `commits/N` after the batch was written. A restart takes
the newest entry of `offsets`; if `commits` lacks it, Spark retries that batch.
"""

import json
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conf.atomic_file import sync, sync_name
from conf.names import TelemetryPartition
from engine.process.hadoop_files import is_as_written, sync_checked, write_whole

Ends = dict[TelemetryPartition, int]

METADATA: dict[str, Any] = {"batchWatermarkMs": 0, "conf": {}}
VERSION = "v1"
BEGINS = "plumbline-begins.json"
"""File in a checkpoint: the first offsets of the partitions that appeared after the first batch."""

ONE_SOURCE_LINES = 3
"""Lines of an offset log entry with one source: version, metadata, offsets."""

COMMITTED = 'v1\n{"nextBatchWatermarkMs":0}'


@dataclass(frozen=True, slots=True)
class StreamLog:
    """One checkpoint folder."""

    folder: Path

    @property
    def offsets(self) -> list[int]:
        """Batches in the offset log, including torn entries."""
        return _numbers(self.folder / "offsets")

    @property
    def commits(self) -> list[int]:
        """Batches in the commit log, including torn entries."""
        return _numbers(self.folder / "commits")

    def offsets_file(self, batch: int) -> Path:
        """Return the file of a batch in the offset log."""
        return self.folder / "offsets" / str(batch)

    def commits_file(self, batch: int) -> Path:
        """Return the file of a batch in the commit log."""
        return self.folder / "commits" / str(batch)

    def ends(self, batch: int) -> Ends | None:
        """Return the end offset of a Kafka stream's batch per partition; None when its file is not whole."""
        lines = _lines(self.offsets_file(batch))
        return _ends(lines[-1]) if lines and len(lines) == ONE_SOURCE_LINES else None

    def initial(self) -> Ends | None:
        """Return the first offset of the stream per partition; None when the file is not whole."""
        file = self.folder / "sources" / "0" / "0"
        try:
            lines = file.read_bytes().lstrip(b"\x00").decode().splitlines()
            return _ends(json.loads(lines[1])) if lines[0] == VERSION and is_as_written(file) else None
        except (OSError, ValueError, IndexError):
            return None

    def begin(self, batch: int) -> Ends:
        """Return the first offset of a batch per partition: the end of the batch before, or the initial."""
        if batch > 0:
            return self.begins() | (self.ends(batch - 1) or {})
        # A partition that appeared later has no initial offset, and the file may be lost: both begin at 0.
        return dict.fromkeys(self.ends(0) or {}, 0) | self.begins() | (self.initial() or {})

    def begins(self) -> Ends:
        """Return the first offsets of partitions that appeared after batch 0; {} if the file is not whole."""
        try:
            return _ends(json.loads((self.folder / BEGINS).read_text())) or {}
        except (OSError, ValueError):
            return {}

    def note_begins(self, begins: Ends) -> None:
        """Store the first offsets of new partitions, before any of their records is read."""
        write_whole(self.folder / BEGINS, json.dumps(_by_topic(self.begins() | begins)))

    def is_offsets_whole(self, batch: int) -> bool:
        """Return whether Spark can read the offset log entry of a batch."""
        return _lines(self.offsets_file(batch)) is not None

    def sources(self, batch: int) -> list[dict[str, Any] | None]:
        """Return the end offset of a batch per source of the stream; [] when its file is not whole."""
        return (_lines(self.offsets_file(batch)) or [])[2:]

    def is_commit_whole(self, batch: int) -> bool:
        """Return whether Spark can read the commit log entry of a batch."""
        return _lines(self.commits_file(batch)) is not None

    def write_ends(self, batch: int, ends: Ends) -> None:
        """Write a batch of a Kafka stream into the offset log as Spark would have."""
        metadata = next((entry[0] for n in reversed(self.offsets) if (entry := _whole(self, n))), METADATA)
        metadata = metadata | {"batchTimestampMs": int(time.time() * 1_000)}
        lines = (VERSION, json.dumps(metadata), json.dumps(_by_topic(ends), separators=(",", ":")))
        write_whole(self.offsets_file(batch), "\n".join(lines))

    def sync(self, batch: int) -> None:
        """
        Force a batch of the offset log to disk, which Spark does not.

        A batch calls this before its first commit to a table, so that no table is ever ahead of the offset
        log. The commit log needs no sync: a batch that it lost is retried, and the tables skip it.
        """
        files = [self.offsets_file(batch)]
        if batch == 0:
            files += [self.folder / "metadata", *self.folder.glob("sources/*/0")]
        for file in files:
            sync_checked(file)
        for folder in {file.parent for file in files}:
            sync(folder)
            sync_name(folder)

    def sync_commit(self, batch: int) -> None:
        """Force a finished batch of the commit log to disk, before anything is deleted that it has read."""
        with suppress(FileNotFoundError):  # no batch has finished, or Spark has just removed an old one
            sync_checked(self.commits_file(batch))
            sync(self.commits_file(batch).parent)

    def write_commit(self, batch: int) -> None:
        """Write a batch into the commit log as Spark would have."""
        write_whole(self.commits_file(batch), COMMITTED)


def is_json(file: Path) -> bool:
    """Return whether a file is one whole JSON object."""
    try:
        return isinstance(json.loads(file.read_text()), dict) and is_as_written(file)
    except (OSError, ValueError):
        return False


def _whole(log: StreamLog, batch: int) -> list[Any] | None:
    lines = _lines(log.offsets_file(batch))
    return lines[1:] if lines and isinstance(lines[1], dict) else None


def _lines(file: Path) -> list[Any] | None:
    """Parse `v1` and the JSON lines below it; `-` means a source without offsets."""
    try:
        lines = file.read_text().splitlines()
        if not is_as_written(file) or lines[:1] != [VERSION] or not lines[1:]:
            return None
        return [VERSION, *(None if line == "-" else json.loads(line) for line in lines[1:])]
    except (OSError, ValueError):
        return None


def _ends(offsets: Any) -> Ends | None:  # noqa: ANN401 (the file may contain any JSON value)
    try:
        return {(topic, int(p)): int(end) for topic, ends in offsets.items() for p, end in ends.items()}
    except (AttributeError, TypeError, ValueError):
        return None


def _by_topic(ends: Ends) -> dict[str, dict[str, int]]:
    topics: dict[str, dict[str, int]] = {}
    for (topic, partition), end in sorted(ends.items()):
        topics.setdefault(topic, {})[str(partition)] = end
    return topics


def _numbers(folder: Path) -> list[int]:
    return sorted(int(file.name) for file in folder.glob("*") if file.name.isdigit())
