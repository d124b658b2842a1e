"""CPU-seconds and wall seconds of what a process and its children do."""

import time
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import psutil


def cpu_s() -> float:
    """Give the CPU-seconds of this process and its living children, user and system."""
    me = psutil.Process()
    total = 0.0
    for process in (me, *me.children(recursive=True)):
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system
    # What ended within the block is told by the parent alone.
    own = me.cpu_times()
    return float(total + own.children_user + own.children_system)


@dataclass(slots=True)
class Measured:
    """What a block of code took; read it behind the block."""

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
