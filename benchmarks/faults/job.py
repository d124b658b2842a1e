"""A job as a separate process: its progress, and all the ways to end it."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import MappingProxyType

import psutil

from benchmarks.pipeline.measure import tree
from conf.settings import PROJECT, Settings
from engine.process.fail_points import VARIABLE
from engine.process.session import DIED, NOT_STARTED

INGEST, GOLD, MAINTAIN = "ingest", "build-gold", "maintain"
QUERIES = {INGEST: "ingest_*", GOLD: "build_gold*"}
VICTIMS = ("all", "python", "jvm")
ENDS_WITHIN_S = 240.0
ENDS_BY_KILL_S = 10.0
LOOK_EVERY_S = 0.05


class Job:
    """One start of `plumbline WORD`; `said` has its output."""

    def __init__(
        self,
        conf: Path,
        word: str,
        *options: str,
        fail_at: str = "",
        variables: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """
        Start the job in its own session, so that Ctrl-C of the campaign does not reach it.

        `variables` are added to its environment.
        """
        self.word, self._said = word, conf.parent / f"{word}.txt"
        self._children = list[psutil.Process]()
        self._checkpoints = Path(Settings.load(conf).warehouse.checkpoints)
        self._begun, self.started_at = self._finished(), time.monotonic()
        with self._said.open("ab") as sink:
            self._said_from = sink.tell()
            self._process = subprocess.Popen(
                [sys.executable, "-m", "plumbline", word, "--conf", str(conf), *options],
                cwd=PROJECT,
                env=os.environ | ({VARIABLE: fail_at} if fail_at else {}) | dict(variables),
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=sink,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """Return the process id."""
        return self._process.pid

    @property
    def code(self) -> int | None:
        """Return the exit code: -9 after a kill, None while the job runs."""
        code = self._process.poll()
        if code is None and not self._children:
            # Children must be found while the job lives: psutil knows them by pid and start time.
            with suppress(psutil.NoSuchProcess):
                self._children = psutil.Process(self._process.pid).children(recursive=True)
        return code

    @property
    def output(self) -> str:
        """Return the output of this start, of both streams."""
        with self._said.open("rb") as printed:
            printed.seek(self._said_from)
            return printed.read().decode(errors="replace")

    @property
    def batches(self) -> int:
        """Return the number of batches that all queries of the job have committed since the start."""
        return self._finished() - self._begun

    @property
    def is_in_batch(self) -> bool:
        """Return whether a query has a batch that is started and not committed."""
        return any(_newest(folder / "offsets") > _newest(folder / "commits") for folder in self._queries())

    @property
    def has_jvm(self) -> bool:
        """Return whether the job has started its JVM, which it does after its audit."""
        return self.code is None and bool(self._children)

    @property
    def has_left_its_jvm(self) -> bool:
        """Return whether the JVM still runs after the Python process; it should end by itself soon."""
        return self.code is not None and any(map(_is_alive, self._children))

    def ended(self, within_s: float) -> bool:
        """Wait for the end of the job; return whether it ended in time."""
        try:
            self._process.wait(within_s)
        except subprocess.TimeoutExpired:
            return False
        return True

    def kill(self, victim: str = "all") -> None:
        """Send SIGKILL to the Python process, its JVM, or both; to Python if there is no JVM yet."""
        is_alone = self.code is None and not self._children
        if victim != "jvm" or is_alone:
            self._process.kill()
        if victim != "python":
            self._kill_children()
        if victim != "jvm" or is_alone:
            self._process.wait()

    def bury(self) -> None:
        """Kill all remaining processes of the job."""
        self.kill()

    def stop(self) -> int | None:
        """Send SIGTERM and return the exit code; None if the job did not end in time."""
        self._process.terminate()
        return self._process.returncode if self.ended(ENDS_WITHIN_S) else None

    def _kill_children(self) -> None:
        """Kill the JVM and its Python workers, also those younger than `_children`; wait for their end."""
        children = [process for process in psutil.process_iter() if self._is_of_session(process)]
        for child in children:
            with suppress(psutil.NoSuchProcess):
                child.kill()
        psutil.wait_procs(children, timeout=ENDS_BY_KILL_S)

    def _is_of_session(self, process: psutil.Process) -> bool:
        with suppress(ProcessLookupError):
            return process.pid != self.pid and os.getsid(process.pid) == self.pid
        return False

    def _finished(self) -> int:
        return sum(_newest(folder / "commits") + 1 for folder in self._queries())

    def _queries(self) -> list[Path]:
        """Return the checkpoint folders of the job's queries; a job may have none."""
        return list(self._checkpoints.glob(QUERIES[self.word])) if self.word in QUERIES else []


@contextmanager
def standing_still(jobs: Sequence[Job]) -> Iterator[bool]:
    """Stop all processes of the jobs that run, and let them go on after the block; yield whether any runs."""
    stopped = list[psutil.Process]()
    try:
        for _ in range(2):  # a process may have started another one before it stopped
            for process in (one for job in jobs if job.code is None for one in tree(psutil.Process(job.pid))):
                with suppress(psutil.NoSuchProcess):
                    process.suspend()
                    stopped.append(process)
        yield bool(stopped)
    finally:
        for process in stopped:
            with suppress(psutil.NoSuchProcess):
                process.resume()


def says_jvm_gone(sentence: str) -> bool:
    """Return whether a job ended because its JVM was killed: while Spark started, or later."""
    return any(said in sentence for said in (NOT_STARTED, DIED))


def batch_ends(checkpoint: Path, known: Collection[int] = ()) -> dict[int, dict[tuple[str, int], int]]:
    """Return the end offsets of each batch that is not in `known`, from Spark's offset log."""
    ends = dict[int, dict[tuple[str, int], int]]()
    for file in checkpoint.glob("offsets/*"):
        if not file.name.isdigit() or int(file.name) in known:
            continue
        with suppress(FileNotFoundError, json.JSONDecodeError, IndexError):  # It is purged or incomplete.
            topics = json.loads(file.read_text().splitlines()[-1])
            ends[int(file.name)] = {
                (topic, int(partition)): end
                for topic, partitions in topics.items()
                for partition, end in partitions.items()
            }
    return ends


def _is_alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _newest(folder: Path) -> int:
    return max((int(file.name) for file in folder.glob("*") if file.name.isdigit()), default=-1)
