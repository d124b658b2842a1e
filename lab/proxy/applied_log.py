"""
The log of the delays that the proxies applied: one JSON line per exchange.

Keys: `at_epoch_ns` and `at_monotonic_ns` (when the response was written; the same clock as %N in the logs),
`follower`, `leader`, `connection` (the follower's TCP port), `nominal_ms` (round trip), `request_ms` and
`response_ms` (from the read of a frame's last byte to its write), and their sum `applied_ms`.
"""

import asyncio
import json
import time
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from lab.layout import Link

FLUSH_INTERVAL_S = 0.5
MAX_FILE_BYTES = 64 * 1024 * 1024
MAX_FILES = 40
_NS_PER_MS = 1e6


class AppliedLog:
    """Buffers lines in memory and writes them twice a second to numbered files of limited size."""

    def __init__(self, folder: Path) -> None:
        """Open no file: the first flush does."""
        self._folder = folder
        self._lines: list[str] = []
        self._file: IO[str] | None = None

    @classmethod
    def open(cls, folder: Path) -> "AppliedLog":
        """Return a log that starts a new file in the folder. Earlier files stay."""
        folder.mkdir(parents=True, exist_ok=True)
        return cls(folder)

    def add(self, link: Link, connection: int, nominal_ns: int, request_ns: int, response_ns: int) -> None:
        """Add an exchange that is complete now."""
        self._lines.append(
            f'{{"at_epoch_ns":{time.time_ns()},"at_monotonic_ns":{time.monotonic_ns()},'
            f'"follower":{link.follower},"leader":{link.leader},"connection":{connection},'
            f'"nominal_ms":{nominal_ns / _NS_PER_MS:.6g},"request_ms":{request_ns / _NS_PER_MS:.4f},'
            f'"response_ms":{response_ns / _NS_PER_MS:.4f},'
            f'"applied_ms":{(request_ns + response_ns) / _NS_PER_MS:.4f}}}\n'
        )

    def flush(self) -> None:
        """Write the buffered lines."""
        if not self._lines:
            return
        lines, self._lines = self._lines, []
        if self._file is None or self._file.tell() > MAX_FILE_BYTES:
            self._next_file()
        assert self._file is not None  # noqa: S101 (just opened)
        self._file.writelines(lines)
        self._file.flush()

    async def keep_flushed(self) -> None:
        """Flush twice a second until cancelled."""
        while True:
            await asyncio.sleep(FLUSH_INTERVAL_S)
            self.flush()

    def _next_file(self) -> None:
        if self._file is not None:
            self._file.close()
        existing = files(self._folder)
        for old in existing[: max(0, len(existing) + 1 - MAX_FILES)]:
            old.unlink()
        number = int(existing[-1].stem.rsplit("-", 1)[1]) + 1 if existing else 1
        self._file = (self._folder / f"applied-{number:06d}.jsonl").open("a")

    def __enter__(self) -> Self:
        """Return the log."""
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        """Flush and close the log."""
        self.flush()
        if self._file is not None:
            self._file.close()


def files(folder: Path) -> list[Path]:
    """Return the files of the log, oldest first."""
    return sorted(folder.glob("applied-*.jsonl"))


def read(folder: Path, *, since_ns: int, until_ns: int) -> Iterable[dict[str, float]]:
    """Yield the exchanges that ended in a range of epoch ns. Skip an incomplete last line."""
    for path in files(folder):
        if path.stat().st_mtime_ns < since_ns:
            continue
        with path.open() as lines:
            for line in lines:
                if line.endswith("\n"):
                    exchange: dict[str, float] = json.loads(line)
                    if since_ns <= exchange["at_epoch_ns"] < until_ns:
                        yield exchange
