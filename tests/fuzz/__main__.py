"""
Search for lines that break a parser by mutating real ones: `make fuzz`, or `python -m tests.fuzz`.

atheris mutates towards code that no line has reached yet. Without it, `harms.py` mutates lines.
"""

import gc
import hashlib
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from conf.names import Kind
from conf.settings import PROJECT

try:
    import atheris
except ImportError:
    atheris = None

with atheris.instrument_imports(include=["transforms"]) if atheris else nullcontext():
    from engine.ingest.task.arrow_rows import TABLES, record_batch
    from engine.ingest.task.parsers import ParserOptions, parsers_of
    from transforms.parse.record import Kept, Quarantined, Record, Skipped

from benchmarks.faults.lines.move_lines import of_moves
from tests.transforms.parse import perf_lines
from tests.transforms.parse.harms import HARMS
from tests.transforms.parse.records import CLIENT_LINES, DATA, REQUEST_LINES, TEXTS

MOST_CPU_S, TRIES = 0.05, 3
LONGEST_BYTES, PAGE_LINES, SECONDS, SEED = 16_384, 40, 95, 1


def seeds(kind):
    """Return real lines of a kind; scrapes are pages of a few lines each."""
    if kind == Kind.METRICS:
        pages = [path.read_bytes().splitlines(keepends=True) for path in sorted(DATA.glob("metrics/*.txt"))]
        return [b"".join(page[n : n + PAGE_LINES]) for page in pages for n in range(0, len(page), PAGE_LINES)]
    return {
        Kind.REQUEST_LOG: [*REQUEST_LINES.values(), *TEXTS],
        Kind.CLIENT_LOG: CLIENT_LINES,
        Kind.STATE_CHANGE: (DATA / "state-change.txt").read_bytes().splitlines(),
        Kind.PERF_TEST: perf_lines.LINES,
        Kind.CLUSTER: [line.value for _, line in of_moves(SECONDS) if line.kind == Kind.CLUSTER],
    }[kind]


class Checker:
    """A checker of one kind's parser, called as in a task, that saves each new kind of failure once."""

    def __init__(self, kind, found=DATA / "fuzz", parse=None):
        """Use the parser of the ingest's tasks, or `parse` in a test."""
        self.kind, self.findings = kind, {}
        self._folder = found / kind.value
        self._parse = parse or parsers_of(ParserOptions(), "fuzz")[kind.value]

    def check(self, value):
        """Parse one line; save and print it if it breaks the parser contract in a new way."""
        failure = self.failure(value)
        if failure is None or failure in self.findings:
            return
        file = self.findings[failure] = self._folder / hashlib.sha256(value).hexdigest()
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(value)
        print(f"{self.kind}: {failure}\n  saved: {file}", flush=True)

    def failure(self, value):
        """Return how a line breaks the parser contract; None if it does not."""
        try:
            took_s = self._parsed(value)
            for _ in range(TRIES - 1):  # A loaded machine may disturb one measurement.
                if took_s > MOST_CPU_S:
                    took_s = min(took_s, self._parsed(value))
        except Exception as error:  # noqa: BLE001 (any exception of a parser is a finding)
            place = traceback.extract_tb(error.__traceback__)[-1]
            return f"{type(error).__name__} at {Path(place.filename).name}:{place.lineno}"
        return f"over {MOST_CPU_S * 1e3:g} ms of CPU" if took_s > MOST_CPU_S else None

    def _parsed(self, value):
        headers = [("run", b"r1"), ("arm", b"sticky")] if self.kind == Kind.PERF_TEST else None
        place = {"cluster": "lab", "node": "broker-1", "kind": self.kind.value, "time_zone": "UTC"}
        record = Record(value, **place, source="a.log", position="p/0", timestamp=0, headers=headers)
        began_s = time.thread_time()
        outcome = self._parse(record)
        took_s = time.thread_time() - began_s
        assert type(outcome) in (Kept, Skipped, Quarantined), f"{type(outcome).__name__} is no outcome"
        for table, rows in outcome.rows.items() if type(outcome) is Kept else ():
            if rows:
                record_batch(TABLES[table], rows)
        return took_s


def fuzz(kind, lines):
    """Check `lines` lines; end the process with exit code 1 if there are findings."""
    checker, real, corpus, n = Checker(kind), seeds(kind), Path(tempfile.mkdtemp()), 0
    gc.disable()  # As in a task, since a collection would count as parser time.

    def one(value):
        nonlocal n
        checker.check(value)
        n += 1
        gc.collect(0)
        if n >= lines:
            print(f"{kind}: {n:,} lines, {len(checker.findings)} findings", flush=True)
            shutil.rmtree(corpus)
            os._exit(1 if checker.findings else 0)  # libFuzzer has no other way to end.

    if atheris is None:
        dice = random.Random(SEED)
        while True:
            one(dice.choice(HARMS)(dice.choice(real), dice.choice(real), dice))
    for nth, line in enumerate(real):
        (corpus / str(nth)).write_bytes(line)
    atheris.Setup(["fuzz", f"-max_len={LONGEST_BYTES}", f"-seed={SEED}", "-verbosity=0", str(corpus)], one)
    atheris.Fuzz()


def main(
    lines: Annotated[int, typer.Option(min=1, help="Lines of each kind.")] = 100_000,
    kind: Annotated[Kind | None, typer.Option(help="Default: all kinds.")] = None,
):
    """
    Search for lines that break a parser; the exit code is 1 if there are any.

    Example: `python -m tests.fuzz --lines 20000`

    Example: `python -m tests.fuzz --kind metrics`
    """
    if kind is not None:
        fuzz(kind, lines)
    command = [sys.executable, "-m", "tests.fuzz", "--lines", str(lines), "--kind"]
    codes = [subprocess.run([*command, name], cwd=PROJECT, check=False).returncode for name in Kind]
    raise typer.Exit(int(any(codes)))


if __name__ == "__main__":
    typer.run(main)
