"""CPU seconds, wall seconds and memory of a process and its descendants."""

import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

import psutil


def tree(process: psutil.Process) -> list[psutil.Process]:
    """Return a process and its living descendants; empty after the process has ended."""
    try:
        return [process, *process.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def cpu_s_of(process: psutil.Process) -> float:
    """Return user and system CPU seconds, with those of ended children; 0 after the process has ended."""
    try:
        return float(sum(process.cpu_times()[:4]))
    except psutil.NoSuchProcess:
        return 0.0


def memory_of(process: psutil.Process) -> tuple[int, bool]:
    """
    Return the resident bytes of a process, and whether they are PSS.

    PSS counts a page that n processes share as 1/n in each, so a sum over forked workers counts it once. RSS
    counts it n times; it is the fallback if the kernel has no PSS. A process that ended has 0.
    """
    try:
        memory = process.memory_full_info()
        pss = getattr(memory, "pss", 0)
        return (int(pss), True) if pss or not memory.rss else (int(memory.rss), False)
    except psutil.NoSuchProcess:
        return 0, True
    except psutil.AccessDenied:
        return int(process.memory_info().rss), False


def cpu_s_by_process() -> dict[psutil.Process, float]:
    """
    Return the CPU seconds of this process and of each descendant, with those of ended children.

    A program that outlives this one, such as a lab's broker, has its own session and is left out.
    """
    return {of: cpu_s_of(of) for of in tree(psutil.Process()) if _session(of) == os.getsid(0)}


def _session(process: psutil.Process) -> int | None:
    try:
        return os.getsid(process.pid)
    except ProcessLookupError:
        return None


def is_forgotten(process: psutil.Process) -> bool:
    """Return whether the CPU time of a process is lost when it ends, because its parent ignores SIGCHLD."""
    try:
        status = Path(f"/proc/{process.ppid()}/status").read_text()
    except (psutil.NoSuchProcess, OSError):
        return False
    ignored = next((line.split()[1] for line in status.splitlines() if line.startswith("SigIgn")), "0")
    return bool(int(ignored, 16) >> (signal.SIGCHLD - 1) & 1)


@dataclass(slots=True)
class Measured:
    """
    CPU and wall seconds of a block of code; read them after the block.

    The CPU time of children before the block is subtracted, unless a child ends in the block and its CPU time
    is lost. This happens for Spark's idle Python workers.
    """

    cpu_s: float = 0.0
    wall_s: float = 0.0
    _before: dict[psutil.Process, float] = field(default_factory=dict)
    _forgotten: set[psutil.Process] = field(default_factory=set)

    def __enter__(self) -> Self:
        """Start measuring."""
        self._before = cpu_s_by_process()
        self._forgotten = set(filter(is_forgotten, self._before))
        self.wall_s = time.monotonic()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop measuring."""
        self.wall_s = time.monotonic() - self.wall_s
        after = cpu_s_by_process()
        before = (used for of, used in self._before.items() if of in after or of not in self._forgotten)
        self.cpu_s = sum(after.values()) - sum(before)


class Timed(NamedTuple):
    """The CPU and wall seconds of a call in its process, and what it returned."""

    cpu_s: float
    wall_s: float
    result: Any


def timed(run: Callable[..., Any], *arguments: object) -> Timed:
    """Call a function and return its cost: CPU of this process and its descendants."""
    with Measured() as took:
        result = run(*arguments)
    return Timed(took.cpu_s, took.wall_s, result)
