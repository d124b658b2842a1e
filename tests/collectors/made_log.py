# ruff: noqa: D102, D107 (a step of a test is named by what it does)
"""A log as a broker writes it, with a tailer on it."""

import gzip
from pathlib import Path

from collectors.log_files.positions import copied
from collectors.log_files.tail import Tailer
from conf.settings import TailedFile


class Log:
    """A log as a broker writes it, and everything a tailer has read of it."""

    def __init__(self, folder: Path, pattern: str = "kafka-request.log") -> None:
        self.live = folder / "kafka-request.log"
        self.file = TailedFile(path=str(folder / pattern), kind="request-log", node="broker-1")
        self.now = 0.0
        self.lost = []
        self.read: list[tuple[str, bytes]] = []
        self.tailer = self.tailing(None)

    def tailing(self, saved, **options):
        return Tailer(self.file, saved, settle_s=1.0, clock=lambda: self.now, **options)

    def restart(self) -> None:
        self.tailer.close()
        self.tailer = self.tailing(copied(self.tailer.known))

    def append(self, content: bytes) -> None:
        with self.live.open("ab") as out:
            out.write(content)

    def rename_to(self, name: str) -> Path:
        return self.live.rename(self.live.with_name(name))

    def pack_behind_the_first_line(self, lines: bytes) -> tuple[Path, bytes]:
        """Read these; then be one that has read but the first, with the log gone. Give where to pack it."""
        self.append(lines)
        packed = gzip.compress(self.live.read_bytes())
        self.tailer.poll()
        self.tailer.close()
        self.tailer.known[next(iter(self.tailer.known))].offset = lines.index(b"\n") + 1
        self.restart()
        self.live.unlink()
        return self.live.with_name("kafka-request.log.1.gz"), packed

    def poll(self) -> list[bytes]:
        """Read until nothing comes; then let the settling time pass and read again."""
        before = len(self.read)
        for _ in range(3):
            while batch := self.tailer.poll():
                self.read += [(line.position, line.value) for line in batch.lines]
                self.lost += [batch.lost] if batch.lost else []
            self.now += 1.0
        return [value for _, value in self.read[before:]]


def compress(path: Path) -> None:
    path.with_name(path.name + ".gz").write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()
