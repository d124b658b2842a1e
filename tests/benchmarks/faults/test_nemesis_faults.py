"""The faults of a nemesis: each hits what it names, heals, and says so if there was nothing to hit."""

import random
import subprocess
import sys
import time
from contextlib import contextmanager
from types import SimpleNamespace

import psutil
import pytest

from benchmarks.faults.job import GOLD, INGEST, MAINTAIN
from benchmarks.faults.nemesis import faults
from benchmarks.faults.nemesis.faults import FaultTargets
from benchmarks.faults.nemesis.supervisor import Supervisor


class RecordingHost:
    """A host, a disk or a cluster that records what is done to it."""

    ids = (1, 2, 3)
    lost = 0

    def __init__(self, done, name, takes=5):
        """Add to `done`; a power cut takes `takes` files."""
        self._done, self._name, self._takes = done, name, takes

    def __getattr__(self, what):
        """Return a function that records its call."""
        return lambda *arguments: self._done.append((self._name, what, *arguments))

    @contextmanager
    def frozen(self, broker_id):
        """Record both ends of the block."""
        self._done.append((self._name, "freeze", broker_id))
        yield
        self._done.append((self._name, "thaw", broker_id))

    def cut(self, _dice):
        """Lose files."""
        self._done.append((self._name, "cut"))
        self.lost += self._takes


@pytest.fixture
def done(monkeypatch):
    """Return the list of what was done; no disk is filled and no table is written."""
    done = []
    monkeypatch.setattr(faults, "fill", lambda _disk, left: done.append(("disk", "fill", left)))
    monkeypatch.setattr(faults, "free", lambda _disk: done.append(("disk", "free")))
    monkeypatch.setattr(faults, "checkpoint_whole_often", lambda *_: None)
    monkeypatch.setattr(faults, "COMES_TO_WORK_S", 0.2)
    return done


@pytest.fixture
def targets(done, tmp_path):
    supervisor = Supervisor(SimpleNamespace(conf=None, root=None), {})
    return FaultTargets(
        cluster=RecordingHost(done, "cluster"),
        producer=RecordingHost(done, "collector"),
        written=SimpleNamespace(root=tmp_path),
        disk=tmp_path,
        power=RecordingHost(done, "power"),
        hosts={word: RecordingHost(done, word) for word in (INGEST, GOLD, MAINTAIN)},
        supervisor=supervisor,
    )


class SleepingJob:
    """A job that sleeps."""

    batches, is_in_batch = 0, False

    def __init__(self):
        """Start it."""
        self._process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        self.pid = self._process.pid

    @property
    def code(self):
        """Return the exit code; None while it runs."""
        return self._process.poll()

    def kill(self, _victim="all"):
        """Kill it."""
        self._process.kill()
        self._process.wait()

    bury = kill


@pytest.fixture
def job(targets):
    job = SleepingJob()
    targets.supervisor.jobs.update({INGEST: job, GOLD: job})
    targets.supervisor._runs.append(job)
    job.word = INGEST
    yield job
    job.kill()


def comes_to(is_so):
    """Wait until the kernel has delivered a signal."""
    give_up_at = time.monotonic() + 10.0
    while not is_so() and time.monotonic() < give_up_at:
        time.sleep(0.01)
    return is_so()


def hit(fault, targets, seed=1):
    with fault(targets, random.Random(seed)) as what:
        return what


def test_a_stopped_job_stands_still_and_one_that_has_ended_is_not_hit(targets, job):
    with faults.stopped(targets, random.Random(1)) as what:
        assert what in {INGEST, GOLD}
        assert comes_to(lambda: psutil.Process(job.pid).status() == psutil.STATUS_STOPPED)
    assert comes_to(lambda: psutil.Process(job.pid).status() != psutil.STATUS_STOPPED)

    job.kill()
    assert hit(faults.stopped, targets) == ""


def test_a_kill_kills_and_one_of_a_job_that_has_ended_is_not_hit(targets, job):
    for word in (INGEST, GOLD, MAINTAIN):
        targets.supervisor.jobs[word] = job
    assert " (" in hit(faults.killed, targets)
    assert job.code == -9
    assert hit(faults.killed, targets) == ""


def test_a_full_disk_is_filled_once_and_freed(targets, done):
    with faults.full_disk(targets, random.Random(1)) as what:
        assert done == [("disk", "fill", int(what.split()[0]))]
        assert hit(faults.full_disk, targets) == ""
        assert len(done) == 1
    assert done[1:] == [("disk", "free")]


def test_a_power_cut_kills_loses_files_and_leaves_a_full_disk_full(targets, done, job):
    assert hit(faults.power_cut, targets) == "5 files and folders lost"
    assert job.code == -9
    assert done == [("disk", "free"), ("power", "cut"), ("power", "seal")]

    done.clear()
    with faults.full_disk(targets, random.Random(1)):
        assert hit(faults.power_cut, targets) == "5 files and folders lost"
        assert done[-1] == done[0]
        assert done[0][:2] == ("disk", "fill")


def test_a_power_cut_that_takes_nothing_does_not_count(targets, done):
    targets.power = RecordingHost(done, "power", takes=0)
    assert hit(faults.power_cut, targets) == ""


def test_a_lost_broker_is_frozen_or_killed_and_no_other_fault_has_it(targets, done):
    whats = set()
    for seed in range(20):
        done.clear()
        with faults.broker_lost(targets, random.Random(seed)) as what:
            whats.add(what.split()[-1])
            broker_id = int(what.split()[1])
            others = [faults.broker_lost(targets, random.Random(0)) for _ in range(3)]
            found = [other.__enter__() for other in others]
            for other in others:
                other.__exit__(None, None, None)
            assert {text.split()[1] for text in found if text} == {"1", "2", "3"} - {str(broker_id)}
            assert "" in found
        assert done[0] in {("cluster", "freeze", broker_id), ("cluster", "kill", broker_id)}
        assert done[-1] in {("cluster", "thaw", broker_id), ("cluster", "start", broker_id)}
    assert whats == {"frozen", "killed"}


def test_only_the_clock_of_a_running_job_or_of_the_collector_steps_and_only_once(targets, done, job):
    targets.supervisor.jobs = {INGEST: job, MAINTAIN: None}
    with (
        faults.clock_stepped(targets, random.Random(1)) as first,
        faults.clock_stepped(targets, random.Random(1)) as second,
        faults.clock_stepped(targets, random.Random(1)) as third,
    ):
        assert {first.split()[0], second.split()[0]} == {INGEST, faults.COLLECTOR}
        assert third == ""
        assert all(step[2] != 0.0 for step in done)
    assert sorted(done[-2:]) == [("collector", "step_clock", 0.0), (INGEST, "step_clock", 0.0)]


def test_a_slow_disk_slows_every_job_and_a_second_one_does_not_count(targets, done):
    with faults.slow_disk(targets, random.Random(1)) as what:
        assert what.endswith("ms for each fsync")
        assert {step[0] for step in done} == {INGEST, GOLD, MAINTAIN}
        assert hit(faults.slow_disk, targets) == ""
    assert [step[2] for step in done[3:]] == [0.0] * 3


def test_a_file_is_torn_only_of_a_stream_at_work(targets, job, monkeypatch):
    assert hit(faults.torn, targets) == ""

    job.batches = 1
    (targets.disk / "a").mkdir()
    file = targets.disk / "a" / "offsets"
    monkeypatch.setattr(faults, "repairable", lambda *_: [lambda _written, _how: file])
    monkeypatch.setattr(FaultTargets, "synced", lambda *_: None)
    with faults.torn(targets, random.Random(1)) as what:
        assert what.startswith("a/offsets ")
        assert job.code == -9
        again = targets.supervisor.jobs[GOLD] = SleepingJob()
        again.batches = 1
        assert hit(faults.torn, targets) == ""  # the other tear is not repaired yet
        assert again.code is None
    again.kill()
