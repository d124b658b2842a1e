"""The cost of a batch of gold: its duration from the log of build-gold, and the CPU time around it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.pipeline.programs import GOLD
from benchmarks.pipeline.usage import Usage

LOGGED = re.compile(r"batch \d+: \d+ lines up to \S+ (?P<built>.+), (?P<wall>[\d.]+) s$", re.MULTILINE)
BUILT = re.compile(r"windows of (\w+)")


@dataclass(frozen=True, slots=True)
class LoggedBatch:
    """One batch: when its line appeared in the log, its duration, and the builds with windows in it."""

    seen_at: float
    wall_s: float
    builds: tuple[str, ...]


class BatchLog:
    """The log of build-gold, read while it grows."""

    def __init__(self, file: Path) -> None:
        """Begin at the start of the file."""
        self._file, self._read = file, 0
        self.batches: list[LoggedBatch] = []

    def look(self, now: float) -> None:
        """Read the batches that were logged since the last call."""
        text = self._file.read_text()
        whole = text[self._read : text.rfind("\n") + 1]
        self._read += len(whole)
        self.batches += [
            LoggedBatch(now, float(line["wall"]), tuple(BUILT.findall(line["built"])))
            for line in LOGGED.finditer(whole)
        ]


def by_stage(
    batches: list[LoggedBatch], usage: Usage, stages: Mapping[str, tuple[float, float]]
) -> list[dict[str, object]]:
    """Return the costs of the batches of each stage of a run, whose begin and end are given by name."""
    return [
        {"stage": name} | batch for name, span in stages.items() for batch in costs(batches, usage, *span)
    ]


def costs(batches: list[LoggedBatch], usage: Usage, begin: float, end: float) -> list[dict[str, object]]:
    """
    Return builds, wall and CPU seconds of each batch between two instants.

    The CPU time of a batch is that between the middles of the pauses before and after it, so it includes the
    poll of the input and the commit of the checkpoint.
    """
    found = []
    for before, batch, after in zip(batches, batches[1:], batches[2:], strict=False):
        since = (before.seen_at + batch.seen_at - batch.wall_s) / 2
        until = (batch.seen_at + after.seen_at - after.wall_s) / 2
        if begin <= since and until <= end:
            cpu_s = round(usage.cpu_s(GOLD, since, until), 3)
            found.append({"builds": batch.builds, "wall_s": batch.wall_s, "cpu_s": cpu_s})
    return found
