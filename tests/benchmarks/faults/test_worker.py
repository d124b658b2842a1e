"""Runs in worker processes: one that fails or dies stops no other, and a signal leaves no process."""

import atexit
import multiprocessing
import os
import signal
import subprocess
import threading
import time

import psutil
import pytest

from benchmarks.faults import campaign
from benchmarks.faults.plan import Entry
from benchmarks.faults.steady import KillOutcome
from benchmarks.faults.worker import PlannedRun, RunSetup, workers


def drawn(_servers, _folder, dice):
    return KillOutcome(wrong=[], hits=[{"drawn": dice.random()}])


def raises(_servers, folder, _dice):
    (folder / "left.txt").write_text("here")
    raise RuntimeError(str(folder))


def dies(_servers, _folder, _dice):
    os.kill(os.getpid(), signal.SIGKILL)


def waits(_servers, folder, _dice):
    """Start a job in a session of its own, as the campaign does, and wait for it; brokers end at the exit."""
    atexit.register(folder.with_suffix(".ended").touch)
    job = subprocess.Popen(["sleep", "600"], start_new_session=True)  # noqa: S607 (whichever sleep there is)
    try:
        (folder.parents[1] / f"{folder.name}.pid").write_text(f"{job.pid} {os.getpid()}")
        job.wait()
    finally:
        job.kill()
        job.wait()
    return KillOutcome(wrong=[])


RUNS = {run.__name__: run for run in (drawn, raises, dies, waits)}


def entry(name):
    """Return a fault of these tests; a worker finds it by its name."""
    return Entry(name=name, group=f"group of {name}", run=RUNS[name], times=1)


def planned(*names):
    return [PlannedRun(name, number, 4, "code") for number, name in enumerate(names)]


@pytest.fixture
def do(tmp_path, monkeypatch):
    """Return a function that does runs, two at once, and returns results and what was printed."""
    monkeypatch.setattr(campaign, "code_of", lambda _entry: "code")

    def do_runs(*names):
        results, printed = [], []
        runs, setup = planned(*names), RunSetup(entry, tmp_path, "nowhere", 2)
        with workers(2, setup) as crew:
            pace = campaign._Pace([], entry)
            campaign._do(
                runs, crew, pace, lambda result, left: results.append((result, left)), printed.append
            )
        return [result for result, _ in results], [left for _, left in results]

    return do_runs


def test_a_run_that_raises_and_a_process_that_dies_are_failures_and_stop_no_other_run(do, tmp_path):
    results, left = do("raises", "dies", "drawn", "drawn", "drawn")

    wrong = {(result.fault, result.number): result.wrong for result in results}
    assert f"RuntimeError: {tmp_path}" in wrong["raises", 0][0]
    assert wrong["dies", 1] == ["the process of the run died with exit code -9"]
    assert [wrong["drawn", number] for number in (2, 3, 4)] == [[], [], []]
    assert left[-1] == "about 0 minutes left"
    assert (tmp_path / "runs" / "raises-4-0" / "left.txt").exists()
    assert not (tmp_path / "runs" / "drawn-4-2").exists()
    assert {(result.group, result.at_once) for result in results if result.fault == "dies"} == {
        ("group of dies", 2)
    }
    assert not multiprocessing.active_children()


def test_each_number_draws_its_own_and_the_same_number_the_same():
    first, second = planned("drawn", "drawn")

    assert first.dice.random() == first.dice.random() != second.dice.random()


def test_ctrl_c_ends_the_runs_under_way_with_all_that_they_started(tmp_path):
    """A terminal sends it to the campaign's process group; no worker is in that group."""
    pids, groups = [], set()

    def press():
        while len(files := [*tmp_path.glob("waits-4-*.pid")]) < 2 or not all(f.read_text() for f in files):
            time.sleep(0.05)
        pids.extend(int(pid) for file in files for pid in file.read_text().split())
        groups.update(map(os.getpgid, pids))
        os.kill(os.getpid(), signal.SIGINT)

    pressing = threading.Thread(target=press)
    pressing.start()
    with pytest.raises(KeyboardInterrupt), workers(2, RunSetup(entry, tmp_path, "nowhere", 2)) as crew:
        campaign._do(planned("waits", "waits"), crew, campaign._Pace([], entry), print, print)
    pressing.join()

    assert len(pids) == 4
    assert os.getpgrp() not in groups
    assert not [pid for pid in pids if psutil.pid_exists(pid)]
    assert len([*tmp_path.glob("runs/waits-4-*.ended")]) == 2
