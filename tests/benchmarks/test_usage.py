"""CPU and memory of programs under test, sampled while they run."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from benchmarks.pipeline import measure, usage
from benchmarks.pipeline.usage import Usage


class Clock:
    """A clock that is set by hand."""

    now = 100.0


@pytest.fixture
def sampled(monkeypatch):
    """Return a clock, and the usage of a program of two processes: 0.5 cores, 2 GB that grow by 1 GB/s."""
    clock = Clock()
    monkeypatch.setattr(usage, "cpu_s_of", lambda _: (clock.now - 100) * 0.25)
    monkeypatch.setattr(usage, "memory_of", lambda _: (int(1e9 + (clock.now - 100) * 0.5e9), True))
    return clock, Usage({"ingest": lambda: [object(), object()]}, clock=lambda: clock.now)


def test_cores_and_memory_add_up_all_processes_of_a_program(sampled):
    clock, used = sampled
    for nth in range(21):
        clock.now = 100.0 + nth
        used.look()

    figures = used.between(105.0, 115.0)["ingest"]

    assert figures["cores"] == pytest.approx(0.5)
    # Samples at 105, 110 and 115 s: 7, 12 and 17 GB.
    assert (figures["memory_gb"], figures["peak_gb"]) == pytest.approx((12.0, 17.0))
    assert figures["samples"] == 3
    assert used.memory_is == "PSS"


def test_cores_are_those_of_each_minute_too(sampled, monkeypatch):
    clock, used = sampled
    # A program of two processes: 0.5 cores in the first minute, 1 in the second.
    monkeypatch.setattr(usage, "cpu_s_of", lambda _: (clock.now - 100 + max(0, clock.now - 160)) / 4)
    for nth in range(131):
        clock.now = 100.0 + nth
        used.look()

    figures = used.between(100.0, 220.0)["ingest"]

    assert figures["cores_of_blocks"] == pytest.approx([0.5, 1.0])
    assert figures["cores"] == pytest.approx(0.75)


def test_an_early_look_takes_no_sample(sampled):
    clock, used = sampled
    used.look()
    clock.now = 100.5
    used.look()

    assert len(used._cpu_at) == 1


def test_one_process_without_pss_makes_the_figure_rss(sampled, monkeypatch):
    _, used = sampled
    monkeypatch.setattr(usage, "memory_of", lambda _: (1, False))
    used.look()

    assert used.memory_is == "RSS"


def test_an_ended_process_uses_nothing():
    child = multiprocessing.get_context("spawn").Process(target=os.getpid)
    child.start()
    process = psutil.Process(child.pid)
    child.join()

    assert measure.tree(process) == []
    assert measure.cpu_s_of(process) == 0.0
    assert measure.memory_of(process) == (0, True)


def test_the_cpu_of_an_ended_child_still_counts():
    with measure.Measured() as took:
        child = multiprocessing.get_context("spawn").Process(target=_work)
        child.start()
        child.join()

    assert took.cpu_s >= 0.1


def test_the_earlier_cpu_of_a_forgotten_child_is_not_subtracted():
    """Spark's daemon ignores SIGCHLD, so the CPU time of its ended workers is in no counter."""
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
        _until(0.3, lambda: measure.cpu_s_of(psutil.Process(busy.pid)))
        busy.send_signal(signal.SIGSTOP)
        with measure.Measured() as took:
            busy.kill()
            busy.wait()
    finally:
        signal.signal(signal.SIGCHLD, before)

    assert 0 <= took.cpu_s < 0.3


def test_the_cpu_of_a_lab_is_not_counted():
    """A program that outlives the benchmark has its own session."""
    with measure.Measured() as took:
        busy = [sys.executable, "-c", "while True: pass"]
        process = subprocess.Popen(busy, start_new_session=True)
        _until(0.3, lambda: measure.cpu_s_of(psutil.Process(process.pid)))
    process.kill()
    process.wait()

    assert took.cpu_s < 0.3


def _until(cpu_s, used):
    while used() < cpu_s:
        time.sleep(0.02)


def _work():
    until = 0.15
    while sum(os.times()[:2]) < until:
        pass
