"""CPU and resident memory of running programs, sampled while they run."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import psutil

from benchmarks.pipeline.arms.lateness import BLOCK_S
from benchmarks.pipeline.measure import cpu_s_of, memory_of

CPU_EVERY_S, MEMORY_EVERY_S = 1.0, 5.0
GB = 1e9

Processes = Callable[[], Sequence[psutil.Process]]
"""A function that returns the current processes of a program; its workers start and end over time."""


class Usage:
    """Samples of each program: CPU once a second, memory once in five seconds by default."""

    def __init__(
        self,
        programs: Mapping[str, Processes],
        *,
        memory_every_s: float = MEMORY_EVERY_S,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Sample the given programs, by name."""
        self._programs, self._memory_every_s, self._clock = programs, memory_every_s, clock
        self._cpu_at, self._memory_at = list[float](), list[float]()
        self._cpu_s: dict[str, list[float]] = {name: [] for name in programs}
        self._bytes: dict[str, list[int]] = {name: [] for name in programs}
        self._is_pss = True

    def look(self) -> None:
        """Take the samples that are due."""
        now = self._clock()
        is_cpu_due = not self._cpu_at or now >= self._cpu_at[-1] + CPU_EVERY_S
        is_memory_due = not self._memory_at or now >= self._memory_at[-1] + self._memory_every_s
        if not is_cpu_due:
            return
        of = {name: processes() for name, processes in self._programs.items()}
        self._cpu_at.append(now)
        for name, processes in of.items():
            self._cpu_s[name].append(sum(map(cpu_s_of, processes)))
        if is_memory_due:
            self._memory_at.append(now)
            for name, processes in of.items():
                self._bytes[name].append(self._resident(processes))

    def between(self, begin: float, end: float) -> dict[str, dict[str, Any]]:
        """
        Return figures of each program between two instants.

        They are `cores`, also of each block of a minute (`cores_of_blocks`), and mean and peak of the memory
        `samples`: `memory_gb` and `peak_gb`.
        """
        at = np.array(self._memory_at)
        within = (at >= begin) & (at <= end)
        if not within.any():
            within[-1:] = True
        figures, edges = {}, np.linspace(begin, end, max(1, int((end - begin) / BLOCK_S)) + 1)
        for name in self._programs:
            used_s = np.interp(edges, self._cpu_at, self._cpu_s[name])
            resident = np.array(self._bytes[name])[within] / GB
            figures[name] = {
                "cores": float(used_s[-1] - used_s[0]) / (end - begin),
                "cores_of_blocks": (np.diff(used_s) / np.diff(edges)).tolist(),
                "samples": int(within.sum()),
                "memory_gb": float(resident.mean()),
                "peak_gb": float(resident.max()),
            }
        return figures

    def cpu_s(self, name: str, begin: float, end: float) -> float:
        """Return the CPU seconds of a program between two instants."""
        return float(np.diff(np.interp([begin, end], self._cpu_at, self._cpu_s[name]))[0])

    @property
    def memory_is(self) -> str:
        """Return `PSS`, or `RSS` if the kernel had no PSS of some process."""
        return "PSS" if self._is_pss else "RSS"

    def _resident(self, processes: Sequence[psutil.Process]) -> int:
        total = 0
        for process in processes:
            resident, is_pss = memory_of(process)
            total += resident
            self._is_pss = self._is_pss and is_pss
        return total
