"""The supervisor of a nemesis: it starts jobs again, as systemd does, and judges how each of them ended."""

import re
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from math import inf

from benchmarks.faults.job import GOLD, INGEST, LOOK_EVERY_S, MAINTAIN, Job, says_jvm_gone
from benchmarks.faults.nemesis.schedule import FaultKind
from benchmarks.faults.oracles import where
from benchmarks.faults.site import JobsWarehouse
from benchmarks.faults.steady import ENDS_BY_ITSELF_S, FAILED, KILLED, MAINTAINED_EVERY_S, last_line
from conf.exit_codes import ExitCode
from schemas.silver.requests import REQUESTS

STREAMS = (INGEST, GOLD)
WORDS = {
    INGEST: (),
    GOLD: ("--follow",),
    MAINTAIN: (),
}
"""The jobs and their options."""

DAMAGED = r": /\S+ .*; nothing was written: "
"""What a job says of a file that only the ingest repairs."""

ONLY_INGEST_REPAIRS = ((GOLD, ExitCode.STATE, DAMAGED), (MAINTAIN, FAILED, rf" failed: .*{DAMAGED}"))
READING = r"Kernel error: |\[DELTA_STREAMING_TRAILING_COMMIT_MISSING\] "
"""What Delta says of a file that is torn while it reads the table."""

OF_KAFKA = r"does not answer|[Tt]imed? ?out|[Dd]isconnect|not available|NotLeader|broker"
MAY_END: dict[FaultKind, tuple[tuple[str, int, str], ...]] = {
    FaultKind.FULL_DISK: (
        (".*", ExitCode.FULL, "the disk is full: "),
        (MAINTAIN, FAILED, " failed: the disk is full: "),
    ),
    FaultKind.BROKER: ((INGEST, FAILED, f"^ingest stopped: .*({OF_KAFKA})"),),
    FaultKind.CLOCK: ((f"{INGEST}|{GOLD}", FAILED, "stopped: the clock of this host was set back by "),),
    FaultKind.TORN: (
        *ONLY_INGEST_REPAIRS,
        (GOLD, FAILED, f"^build_gold stopped: ({READING})"),
    ),
    FaultKind.POWER: ONLY_INGEST_REPAIRS,
}
"""How jobs may end because of a fault: the job, its exit code and its sentence. A kill has its own rule."""

SHOWN = 120
"""Characters of a sentence that are enough to recognize it."""

NOTICED_WITHIN_S = 90.0
"""A job may end because of a fault that ended so long ago: Kafka's clients wait a minute."""


def may_end(word: str, code: int | None, line: str, kinds: Iterable[FaultKind]) -> bool:
    """
    Return whether a fault of these kinds may end a job with this exit code and this sentence.

    >>> may_end("ingest", 6, "the disk is full: /w", [FaultKind.FULL_DISK])
    True
    >>> may_end("ingest", 5, "a file is damaged", [FaultKind.TORN]), may_end("ingest", 6, "", FaultKind)
    (False, False)
    """
    return any(
        re.fullmatch(words, word) and code == expected and re.search(sentence, line)
        for kind in kinds
        for words, expected, sentence in MAY_END.get(kind, ())
    )


def sentences(word: str, output: str) -> list[str]:
    """
    Return why a job ended; `maintain` has a line for each table that failed.

    A thread that fails when the JVM is gone may print a traceback after the sentence.
    """
    lines = output.splitlines()
    failed = [line for line in lines if " failed: " in line] if word == MAINTAIN else []
    stopped = [line for line in lines if line.startswith(f"{word.replace('-', '_')} stopped: ")]
    return failed or [last_line("\n".join(stopped) or output)]


def without_names(sentence: str) -> str:
    """
    Return a sentence without what differs each time, to count it.

    >>> without_names("silver.topics failed: the disk is full: /a/b (warehouse, 4,096 bytes free); free some")
    'a table failed: the disk is full: … (warehouse, # bytes free)'
    """
    of_any = re.sub(r"^\w+\.\w+ failed", "a table failed", sentence.partition(";")[0])
    return re.sub(r"\d[\d,.:]*", "#", re.sub(r"/\S+|faults-[\w.-]+", "…", of_any))[:SHOWN]


class Supervisor(threading.Thread):
    """
    A thread that keeps the jobs of a warehouse alive.

    `wrong` has each end that no fault explains, `excused` how often each sentence was explained.
    """

    def __init__(self, written: JobsWarehouse, variables: Mapping[str, Mapping[str, str]]) -> None:
        """Use the environment `variables` of each job; no job runs before the start of the thread."""
        super().__init__(name="supervisor", daemon=True)
        self.jobs, self.wrong = dict[str, Job](), list[str]()
        self.ends, self.excused = Counter[str](), Counter[str]()
        self._written, self._variables = written, variables
        self._locks = {word: threading.RLock() for word in WORDS}
        self._runs, self._killed = list[Job](), set[Job]()
        self._expected = dict[object, tuple[FaultKind, float]]()  # the kind of each fault, and when it ended
        self._maintain_at, self._is_over = 0.0, threading.Event()

    def run(self) -> None:
        """Start and judge jobs until `finish`."""
        try:
            while not self._is_over.wait(LOOK_EVERY_S):
                for word in WORDS:
                    self._look_after(word)
        except Exception as error:  # noqa: BLE001 (it would end the thread unseen)
            self.wrong.append(f"the supervisor itself failed: {error!r}")

    @contextmanager
    def expecting(self, kind: FaultKind) -> Iterator[None]:
        """Expect the ends that a fault causes, from now until a while after the block."""
        key = object()
        self._expected[key] = kind, inf
        try:
            yield
        finally:
            self._expected[key] = kind, time.monotonic()

    def kill(self, word: str, victim: str = "all") -> str:
        """Kill a job that runs; return where it was, or ''."""
        with self._locks[word]:
            job = self.jobs.get(word)
            if job is None or job.code is not None:
                return ""
            was = f"{'inside' if job.is_in_batch else 'outside'} a batch, {job.batches} done"
            self._killed.add(job)
            job.kill(victim)
            return was

    @contextmanager
    def dead(self, *words: str) -> Iterator[None]:
        """Kill jobs and what is left of former ones, and keep them dead during the block."""
        with ExitStack() as held:
            for word in (word for word in WORDS if word in words):  # one order for all: no deadlock
                held.enter_context(self._locks[word])
            for word in words:
                self.kill(word)
            for job in self._runs:
                if job.word in words:
                    job.bury()
            yield

    def finish(self) -> None:
        """Stop all jobs; each stream must end with 0, and no JVM may live on."""
        self._is_over.set()
        self.join()
        for word, job in self.jobs.items():
            if word == MAINTAIN:
                job.ended(ENDS_BY_ITSELF_S)
            if word == MAINTAIN or job.code is not None:
                self._judge(job)
            elif job.stop() != 0:
                self.wrong.append(f"{word} did not stop but ended with {job.code}: {last_line(job.output)}")
        give_up_at = time.monotonic() + ENDS_BY_ITSELF_S
        while left := [job for job in self._runs if job.has_left_its_jvm]:
            if time.monotonic() > give_up_at:
                alive = [child.pid for child in left[0]._children if child.is_running()]
                self.wrong.append(
                    f"{left[0].word} ended with {left[0].code}, and its processes {alive} still run after "
                    f"{ENDS_BY_ITSELF_S:g} s or more"
                )
                return
            time.sleep(LOOK_EVERY_S)

    def close(self) -> None:
        """Kill whatever still runs."""
        self._is_over.set()
        if self.is_alive():
            self.join()
        for job in self._runs:
            job.bury()

    def _look_after(self, word: str) -> None:
        if not self._locks[word].acquire(blocking=False):
            return  # A fault keeps it dead.
        try:
            job = self.jobs.get(word)
            if job is not None and job.code is None:
                return
            if job is not None:
                self._judge(self.jobs.pop(word))
                if word == MAINTAIN:
                    self._maintain_at = time.monotonic() + MAINTAINED_EVERY_S
            if word != MAINTAIN or self._is_maintainable():
                variables = self._variables[word]
                self.jobs[word] = Job(self._written.conf, word, *WORDS[word], variables=variables)
                self._runs.append(self.jobs[word])
        finally:
            self._locks[word].release()

    def _is_maintainable(self) -> bool:
        log = where(self._written.root, REQUESTS) / "_delta_log"
        return time.monotonic() > self._maintain_at and any(log.glob("*.json"))

    def _judge(self, job: Job) -> None:
        said = sentences(job.word, job.output)
        self.ends[f"{job.word} {job.code}"] += 1
        now = time.monotonic()
        lately = {kind for kind, over_at in [*self._expected.values()] if now - over_at < NOTICED_WITHIN_S}
        is_killed = job in self._killed and (
            job.code == KILLED or (job.code == FAILED and says_jvm_gone(said[-1]))
        )
        if is_killed or (job.word == MAINTAIN and job.code == 0):
            return
        for line in said:
            if may_end(job.word, job.code, line, lately):
                self.excused[f"{job.word} {job.code}: {without_names(line)}"] += 1
            else:
                at = datetime.now(UTC)
                self.wrong.append(f"{job.word} ended with exit code {job.code} at {at:%H:%M:%S}: {line}")


def is_at_work(job: Job | None) -> bool:
    """Return whether a stream has finished a batch since its start."""
    return job is not None and job.code is None and job.batches > 0
