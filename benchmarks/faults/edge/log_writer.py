"""
The process that writes a log, rotates it as log4j2 and logrotate do, and keeps the ledger of its lines.

`python -m benchmarks.faults.edge.log_writer LIVE_FILE LEDGER NODE SEED` reads one command per line and
answers each with `done`. After each line of the log it writes one JSON object to the ledger, for `site.py`.
"""

import gzip
import hashlib
import json
import os
import random
import select
import shutil
import sys
from pathlib import Path

from collectors.log_files.lines import fingerprint
from tests.engine import made_logs

STEP_S = 0.01
LINES_A_STEP = 8
ROTATES_ONE_STEP_IN = 25


class LogWriter:
    """One log of one node; a rotated file is `NAME.1`, the older ones count up."""

    def __init__(self, live: Path, ledger: Path, node: str, seed: str) -> None:
        """Begin the log."""
        self._live, self._node, self._dice = live, node, random.Random(seed)
        self._ledger = ledger.open("a", buffering=1)
        self._written, self._begun = 0, b""
        self._open()

    def _open(self) -> None:
        """Open the live file as Java does, to append; the old one is closed before it is renamed."""
        self._out = os.open(self._live, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        self._begin()

    def _begin(self) -> None:
        self._mark, self._offset, self._held = "", 0, list[str]()

    def write(self, lines: str) -> None:
        """Write a number of whole lines, one system call each."""
        for _ in range(int(lines)):
            self.part()
            self.finish()

    def part(self) -> None:
        """Begin a line, without its end."""
        line = self._next_line()
        at = self._dice.randrange(1, len(line))
        os.write(self._out, line[:at])
        self._begun, self._rest = line[:at], line[at:]

    def finish(self) -> None:
        """Write the rest of the line; it is whole from here on."""
        os.write(self._out, self._rest)
        value = (self._begun + self._rest).removesuffix(b"\n")
        self._begun = b""
        self._mark = self._mark or fingerprint(value)
        position = f"{self._node}/{self._mark}/{self._offset}"
        self._offset += len(value) + 1
        self._held.append(position)
        self._tell(
            position=position, sha256=hashlib.sha256(value).hexdigest(), mark=self._mark, end=self._offset
        )

    def rotate(self, style: str) -> None:
        """Rotate by `rename`, `gzip` (rename, then compress) or `copy` (copy, then truncate)."""
        if not self._offset:
            return
        for older in sorted(self._rotated(), key=_index, reverse=True):
            name, _, rest = older.name.removeprefix(self._live.name + ".").partition(".")
            older.rename(
                self._live.with_name(f"{self._live.name}.{int(name) + 1}{'.' + rest if rest else ''}")
            )
        newest = self._live.with_name(f"{self._live.name}.1")
        if style == "copy":
            shutil.copy(self._live, newest)
            os.truncate(self._live, 0)
            self._begin()
            return
        os.close(self._out)
        self._live.rename(newest)
        self._open()
        if style == "gzip":
            self.compress()

    def compress(self) -> None:
        """Compress every rotated file; the plain one goes once the other is whole."""
        for path in self._rotated():
            if path.suffix != ".gz":
                with path.open("rb") as plain, gzip.open(f"{path}.gz", "wb", compresslevel=1) as packed:
                    shutil.copyfileobj(plain, packed)
                path.unlink()

    def delete(self, from_offset: str) -> None:
        """Throw the live file away and begin a new one; the ledger tells which unread lines are gone."""
        os.close(self._out)
        self._live.unlink()
        for position in self._held:
            if int(position.rsplit("/", 1)[1]) >= int(from_offset):
                self._tell(gone=position)
        self._open()

    def lose(self, lines: str) -> None:
        """Copy, write some more, truncate: these lines are in no file."""
        shutil.copy(self._live, self._live.with_name(f"{self._live.name}.copied-{self._written}"))
        before = len(self._held)
        self.write(lines)
        for position in self._held[before:]:
            self._tell(gone=position)
        os.truncate(self._live, 0)
        self._begin()

    def step(self, style: str) -> None:
        """Write a few lines; now and then rotate."""
        self.write(str(self._dice.randint(1, LINES_A_STEP)))
        if style != "none" and not self._dice.randrange(ROTATES_ONE_STEP_IN):
            self.rotate(self._dice.choice(style.split("|")))

    def _rotated(self) -> list[Path]:
        return [path for path in self._live.parent.glob(self._live.name + ".*") if _index(path) > 0]

    def _tell(self, **row: object) -> None:
        self._ledger.write(json.dumps(row) + "\n")

    def _next_line(self) -> bytes:
        self._written += 1
        follower = 2 + self._written % 2
        at_ns = made_logs.START_NS + self._written * made_logs.MS
        body = made_logs.REQUEST.format(
            id=self._written,
            follower=follower,
            leader=1,
            session=made_logs.SESSION,
            total=501.25,
            remote=500.5,
        )
        return made_logs._line(at_ns, f"Completed request:{body}", "kafka.request.logger").encode()


def _index(path: Path) -> int:
    name = path.name.removesuffix(".gz").rpartition(".")[2]
    return int(name) if name.isdigit() else 0


def main() -> None:
    """Obey until the input ends; `go STYLES [STEP_S]` writes on and on, until the next command."""
    live, ledger, node, seed = sys.argv[1:]
    writer, style = LogWriter(Path(live), Path(ledger), node, seed), ""
    step_s = STEP_S
    while True:
        ready, _, _ = select.select([sys.stdin], [], [], step_s if style else None)
        if not ready:
            writer.step(style)
            continue
        words = sys.stdin.readline().split()
        if not words:
            return
        word, *rest = words
        style = rest[0] if word == "go" else ""
        step_s = float(rest[1]) if len(rest) > 1 else STEP_S
        if word not in ("go", "pause"):
            getattr(writer, word)(*rest)
        sys.stdout.write("done\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
