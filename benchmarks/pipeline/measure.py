"""CPU seconds, wall seconds and memory of a process and its descendants."""

import os
import time
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import psutil


def tree(process: psutil.Process) -> list[psutil.Process]:
    """Return a process and its living descendants; empty once it has ended."""
    try:
        return [process, *process.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def cpu_s_of(process: psutil.Process) -> float:
    """Return user and system CPU seconds, with those of its children that have ended; 0 once it has ended."""
    try:
        return float(sum(process.cpu_times()[:4]))
    except psutil.NoSuchProcess:
        return 0.0


def memory_of(process: psutil.Process) -> tuple[int, bool]:
    """
    Return the resident bytes of a process, and whether they are its PSS.

    PSS counts a page that n processes share as 1/n in each, so a sum over forked workers counts it once. RSS
    counts it n times; it is the fallback where the kernel does not say PSS. A process that ended has 0.
    """
    try:
        memory = process.memory_full_info()
        pss = getattr(memory, "pss", 0)
        return (int(pss), True) if pss or not memory.rss else (int(memory.rss), False)
    except psutil.NoSuchProcess:
        return 0, True
    except psutil.AccessDenied:
        return int(process.memory_info().rss), False


def cpu_s() -> float:
    """
    Return the CPU seconds of this process and of all its descendants, ended ones included.

    A program that outlives this one, as a lab's broker does, has a session of its own and is not counted.
    """
    return sum(cpu_s_of(process) for process in tree(psutil.Process()) if _is_of_this_session(process))


def _is_of_this_session(process: psutil.Process) -> bool:
    try:
        return os.getsid(process.pid) == os.getsid(0)
    except ProcessLookupError:
        return False


@dataclass(slots=True)
class Measured:
    """CPU and wall seconds of a block of code; read them after the block."""

    cpu_s: float = 0.0
    wall_s: float = 0.0

    def __enter__(self) -> Self:
        """Begin."""
        self.cpu_s, self.wall_s = cpu_s(), time.monotonic()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End."""
        self.cpu_s, self.wall_s = cpu_s() - self.cpu_s, time.monotonic() - self.wall_s
