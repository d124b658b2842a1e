"""Run commands of Plumbline in fresh processes, with their wall time, CPU time and peak memory."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

import psutil

from benchmarks.pipeline.measure import cpu_s_of
from conf.settings import PROJECT

GB = 1e9
LOOK_S = 0.02
_ADDRESS = re.compile(rb"http://\S+")


@dataclass(frozen=True, slots=True, kw_only=True)
class StepCost:
    """What one step cost; the peak memory is that of the process since its start."""

    wall_s: float
    cpu_s: float
    peak_gb: float


def run(*words: str) -> StepCost:
    """
    Run a command to its end.

    Raises:
        subprocess.CalledProcessError: its exit code is not 0.

    """
    with TemporaryFile() as output:
        began, process, peak_gb = time.monotonic(), _started(*words, output=output), 0.0
        # The kernel's `ru_maxrss` of a child begins with that of this process.
        while (ended := os.wait4(process.pid, os.WNOHANG))[0] == 0:
            peak_gb = max(peak_gb, _peak_gb(process.pid))
            time.sleep(LOOK_S)
        wall_s = time.monotonic() - began
        process.returncode = os.waitstatus_to_exitcode(ended[1])
        if process.returncode:
            output.seek(0)
            raise subprocess.CalledProcessError(process.returncode, words, output.read())
    return StepCost(wall_s=wall_s, cpu_s=ended[2].ru_utime + ended[2].ru_stime, peak_gb=peak_gb)


class Service:
    """A running command that serves HTTP."""

    def __init__(self, process: psutil.Process, address: str, start: StepCost) -> None:
        """Use a process that serves; `start` is what it cost until then."""
        self.address, self.start, self._process = address, start, process

    def cost(self, ask: Callable[[], object]) -> StepCost:
        """Return what the service spends while a function asks it, and how long that takes."""
        began, before = time.monotonic(), cpu_s_of(self._process)
        ask()
        wall_s = time.monotonic() - began
        return StepCost(
            wall_s=wall_s, cpu_s=cpu_s_of(self._process) - before, peak_gb=_peak_gb(self._process.pid)
        )


@contextmanager
def serving(*words: str) -> Iterator[Service]:
    """Start a command that prints its address, and end it after the block."""
    began, process = time.monotonic(), _started(*words)
    try:
        printed = b""
        while not (found := _ADDRESS.search(printed)):
            line = process.stdout.readline() if process.stdout else b""
            if not line:
                raise subprocess.CalledProcessError(process.wait(), words, printed)
            printed += line
        measured, wall_s = psutil.Process(process.pid), time.monotonic() - began
        start = StepCost(wall_s=wall_s, cpu_s=cpu_s_of(measured), peak_gb=_peak_gb(process.pid))
        yield Service(measured, found[0].decode(), start)
    finally:
        process.terminate()
        process.wait()


def _started(*words: str, output: IO[bytes] | int = subprocess.PIPE) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-u", "-m", "plumbline", *words]
    return subprocess.Popen(command, cwd=PROJECT, stdout=output, stderr=subprocess.STDOUT)


def _peak_gb(pid: int) -> float:
    """Return the peak so far; 0 for a process that has ended."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) * 1024 / GB if found else 0.0
