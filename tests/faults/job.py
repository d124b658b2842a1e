"""A job as a process of its own: how far it got, and all the ways to end it."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

import psutil

from conf.settings import PROJECT, Settings
from engine.process.fail_points import VARIABLE

INGEST, GOLD, MAINTAIN = "ingest", "build-gold", "maintain"
QUERIES = {INGEST: "ingest_*", GOLD: "build_gold*"}
VICTIMS = ("all", "python", "jvm")
ENDS_WITHIN_S = 240.0
LOOK_EVERY_S = 0.05


class Job:
    """One start of `plumbline WORD`; its last words are in `said`."""

    def __init__(self, conf: Path, word: str, *options: str, fail_at: str = "") -> None:
        """Start it, in a session of its own: Ctrl-C at the campaign is not Ctrl-C here."""
        self.word, self._said = word, conf.parent / f"{word}.txt"
        self._children = list[psutil.Process]()
        self._checkpoints = Path(Settings.load(conf).warehouse.checkpoints)
        self._begun, self.started_at = self._finished(), time.monotonic()
        with self._said.open("ab") as sink:
            self._said_from = sink.tell()
            self._process = subprocess.Popen(
                [sys.executable, "-m", "plumbline", word, "--conf", str(conf), *options],
                cwd=PROJECT,
                env=os.environ | ({VARIABLE: fail_at} if fail_at else {}),
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=sink,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """The process's id."""
        return self._process.pid

    @property
    def code(self) -> int | None:
        """The exit code, -9 after a kill, None while it runs."""
        code = self._process.poll()
        if code is None and not self._children:
            # Known while it lives: a process is found again by pid and start, and a pid alone is reused.
            with suppress(psutil.NoSuchProcess):
                self._children = psutil.Process(self._process.pid).children(recursive=True)
        return code

    @property
    def said(self) -> str:
        """What this start has printed, on both streams."""
        with self._said.open("rb") as printed:
            printed.seek(self._said_from)
            return printed.read().decode(errors="replace")

    @property
    def batches(self) -> int:
        """How many batches Spark has marked as done since the start, over all queries of the job."""
        return self._finished() - self._begun

    @property
    def is_in_batch(self) -> bool:
        """Tell whether some batch was begun and is not marked as done."""
        return any(_newest(folder / "offsets") > _newest(folder / "commits") for folder in self._queries())

    @property
    def has_left_its_jvm(self) -> bool:
        """Tell whether the JVM outlived the Python process: it should end by itself within moments."""
        return self.code is not None and any(map(_is_alive, self._children))

    def ended(self, within_s: float) -> bool:
        """Wait for its end; tell whether it came in time."""
        try:
            self._process.wait(within_s)
        except subprocess.TimeoutExpired:
            return False
        return True

    def kill(self, victim: str = "all") -> None:
        """End the Python process, its JVM, or both at once, by SIGKILL; both where there is no JVM yet."""
        is_alone = self.code is None and not self._children
        if victim != "jvm" or is_alone:
            self._process.kill()
        if victim != "python":
            self._kill_children()
        if victim != "jvm" or is_alone:
            self._process.wait()

    def bury(self) -> None:
        """End whatever is left of it."""
        self.kill()

    def stop(self) -> int | None:
        """Ask it to end, as SIGTERM does, and give its exit code; None when it did not end in time."""
        self._process.terminate()
        return self._process.returncode if self.ended(ENDS_WITHIN_S) else None

    def _kill_children(self) -> None:
        for child in self._children:
            with suppress(psutil.NoSuchProcess):
                child.kill()

    def _finished(self) -> int:
        return sum(_newest(folder / "commits") + 1 for folder in self._queries())

    def _queries(self) -> list[Path]:
        """Give the checkpoints of the job's queries; it may have none."""
        return list(self._checkpoints.glob(QUERIES[self.word])) if self.word in QUERIES else []


def batch_ends(checkpoint: Path, known: Collection[int] = ()) -> dict[int, dict[tuple[str, int], int]]:
    """Give, by batch not known yet, up to which offset a Kafka query reads, from Spark's own log."""
    ends = dict[int, dict[tuple[str, int], int]]()
    for file in checkpoint.glob("offsets/*"):
        if not file.name.isdigit() or int(file.name) in known:
            continue
        with suppress(FileNotFoundError, json.JSONDecodeError, IndexError):  # purged, or not yet whole
            told = json.loads(file.read_text().splitlines()[-1])
            ends[int(file.name)] = {(t, int(p)): end for t, of in told.items() for p, end in of.items()}
    return ends


def _is_alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _newest(folder: Path) -> int:
    return max((int(file.name) for file in folder.glob("*") if file.name.isdigit()), default=-1)
