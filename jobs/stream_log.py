"""
The checkpoint of a Spark stream, read and mended without Spark: `offsets/N`, `commits/N`, `sources/0/0`.

Spark writes `offsets/N` before a batch is given and `commits/N` after it was written. At a start it takes
the newest of `offsets`; unless `commits` has it too, that batch is given again.
"""

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jobs.hadoop_files import is_as_written, write_whole

Place = tuple[str, int]
Ends = dict[Place, int]

METADATA: dict[str, Any] = {"batchWatermarkMs": 0, "conf": {}}
VERSION = "v1"
BEGINS = "plumbline-begins.json"
"""In a checkpoint: where partitions begin that came after the first batch."""

OF_ONE_SOURCE = 3
"""Lines of an entry in the offset log: version, metadata, and the offsets of each source."""

COMMITTED = 'v1\n{"nextBatchWatermarkMs":0}'


@dataclass(frozen=True, slots=True)
class StreamLog:
    """One checkpoint folder."""

    folder: Path

    @property
    def offsets(self) -> list[int]:
        """Batches in the offset log, torn ones too."""
        return _numbers(self.folder / "offsets")

    @property
    def commits(self) -> list[int]:
        """Batches in the commit log, torn ones too."""
        return _numbers(self.folder / "commits")

    def offsets_file(self, batch: int) -> Path:
        """Give the file of a batch in the offset log."""
        return self.folder / "offsets" / str(batch)

    def commits_file(self, batch: int) -> Path:
        """Give the file of a batch in the commit log."""
        return self.folder / "commits" / str(batch)

    def ends(self, batch: int) -> Ends | None:
        """Give where a batch of a Kafka stream ends in each partition; None when its file is not whole."""
        told = _lines(self.offsets_file(batch))
        return _ends(told[-1]) if told and len(told) == OF_ONE_SOURCE else None

    def initial(self) -> Ends | None:
        """Give where the stream began in each partition; None when the file is not whole."""
        file = self.folder / "sources" / "0" / "0"
        try:
            told = file.read_bytes().lstrip(b"\x00").decode().splitlines()
            return _ends(json.loads(told[1])) if told[0] == VERSION and is_as_written(file) else None
        except (OSError, ValueError, IndexError):
            return None

    def begin(self, batch: int) -> Ends:
        """Give where a batch begins: where the one before it ends, the first where the stream began."""
        if batch > 0:
            return self.begins() | (self.ends(batch - 1) or {})
        # Where it began is not told of a partition that came meanwhile, and not when that file is lost.
        return dict.fromkeys(self.ends(0) or {}, 0) | self.begins() | (self.initial() or {})

    def begins(self) -> Ends:
        """Return where partitions begin that came after the first batch; {} without a whole note."""
        try:
            return _ends(json.loads((self.folder / BEGINS).read_text())) or {}
        except (OSError, ValueError):
            return {}

    def note_begins(self, begins: Ends) -> None:
        """Note where partitions begin, before anything of them is read."""
        write_whole(self.folder / BEGINS, json.dumps(_by_topic(self.begins() | begins)))

    def is_offsets_whole(self, batch: int) -> bool:
        """Tell whether Spark can read the file of a batch in the offset log."""
        return _lines(self.offsets_file(batch)) is not None

    def sources(self, batch: int) -> list[dict[str, Any] | None]:
        """Give where a batch ends in each source of the stream; [] when its file is not whole."""
        return (_lines(self.offsets_file(batch)) or [])[2:]

    def is_commit_whole(self, batch: int) -> bool:
        """Tell whether Spark can read the file of a batch in the commit log."""
        return _lines(self.commits_file(batch)) is not None

    def write_ends(self, batch: int, ends: Ends) -> None:
        """Write a batch of a Kafka stream into the offset log as Spark would have."""
        metadata = next((told[0] for n in reversed(self.offsets) if (told := _whole(self, n))), METADATA)
        metadata = metadata | {"batchTimestampMs": int(time.time() * 1_000)}
        lines = (VERSION, json.dumps(metadata), json.dumps(_by_topic(ends), separators=(",", ":")))
        write_whole(self.offsets_file(batch), "\n".join(lines))

    def write_commit(self, batch: int) -> None:
        """Write a batch into the commit log as Spark would have."""
        write_whole(self.commits_file(batch), COMMITTED)


def is_json(file: Path) -> bool:
    """Tell whether a file is one whole JSON object."""
    try:
        return isinstance(json.loads(file.read_text()), dict) and is_as_written(file)
    except (OSError, ValueError):
        return False


def _whole(log: StreamLog, batch: int) -> list[Any] | None:
    told = _lines(log.offsets_file(batch))
    return told[1:] if told and isinstance(told[1], dict) else None


def _lines(file: Path) -> list[Any] | None:
    """Read `v1` and the JSON lines below it; `-` stands for a source without offsets."""
    try:
        told = file.read_text().splitlines()
        if not is_as_written(file) or told[:1] != [VERSION] or not told[1:]:
            return None
        return [VERSION, *(None if line == "-" else json.loads(line) for line in told[1:])]
    except (OSError, ValueError):
        return None


def _ends(told: Any) -> Ends | None:  # noqa: ANN401 (whatever stands in the file)
    try:
        return {(topic, int(p)): int(end) for topic, of in told.items() for p, end in of.items()}
    except (AttributeError, TypeError, ValueError):
        return None


def _by_topic(ends: Ends) -> dict[str, dict[str, int]]:
    topics: dict[str, dict[str, int]] = {}
    for (topic, partition), end in sorted(ends.items()):
        topics.setdefault(topic, {})[str(partition)] = end
    return topics


def _numbers(folder: Path) -> list[int]:
    return sorted(int(file.name) for file in folder.glob("*") if file.name.isdigit())
