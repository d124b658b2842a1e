"""A function runs over many inputs in other processes, and these never outlive the work."""

import multiprocessing
import os
import signal
import threading
import time
from concurrent.futures.process import BrokenProcessPool

import pytest

from engine.process import cores
from engine.process.cores import SMALL_BYTES, mapper


@pytest.fixture(autouse=True)
def _two_cores(monkeypatch):
    monkeypatch.setattr(cores.os, "sched_getaffinity", lambda _process: {0, 1})


def slow(seconds):
    time.sleep(seconds)
    return os.getpid()


def test_a_small_input_stays_in_this_process():
    with mapper(SMALL_BYTES - 1) as run_all:
        assert list(run_all(slow, [0, 0])) == [os.getpid()] * 2


def test_a_large_input_has_its_results_in_order_and_leaves_no_process():
    with mapper(SMALL_BYTES) as run_all:
        assert list(run_all(divmod, range(50), [7] * 50)) == [divmod(n, 7) for n in range(50)]
        assert os.getpid() not in set(run_all(slow, [0.01] * 4))
    assert multiprocessing.active_children() == []


def test_an_exception_is_raised_here():
    with pytest.raises(ZeroDivisionError), mapper(SMALL_BYTES) as run_all:
        list(run_all(divmod, [1], [0]))


def test_a_process_that_is_killed_ends_the_work_with_an_error():
    with pytest.raises(BrokenProcessPool), mapper(SMALL_BYTES) as run_all:
        list(run_all(os._exit, [1]))


def test_ctrl_c_ends_running_processes_at_once():
    began = time.monotonic()
    threading.Timer(2.0, signal.pthread_kill, [threading.main_thread().ident, signal.SIGINT]).start()
    with pytest.raises(KeyboardInterrupt), mapper(SMALL_BYTES) as run_all:
        list(run_all(slow, [100.0] * 4))
    assert time.monotonic() - began < 60
    assert multiprocessing.active_children() == []
