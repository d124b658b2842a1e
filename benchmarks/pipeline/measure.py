"""CPU seconds, wall seconds and memory of a process and its descendants."""

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
        pss = getattr(process.memory_full_info(), "pss", 0)
        return (int(pss), True) if pss else (int(process.memory_info().rss), False)
    except psutil.NoSuchProcess:
        return 0, True
    except psutil.AccessDenied:
        return int(process.memory_info().rss), False


def cpu_s() -> float:
    """Return the CPU seconds of this process and of all its descendants, ended ones included."""
    return sum(map(cpu_s_of, tree(psutil.Process())))


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
