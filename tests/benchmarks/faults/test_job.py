"""A job of the faults: a kill reaches all its processes."""

import subprocess
import sys
import time

import psutil
import pytest

from benchmarks.faults import job as one_job
from benchmarks.faults.job import INGEST, Job

JVM = """
import subprocess, sys, time
time.sleep(0.5)
worker = subprocess.Popen([sys.executable, "-c", "import os, time; os.setpgid(0, 0); time.sleep(60)"])
print(worker.pid, flush=True)
time.sleep(60)
"""
"""As Spark's JVM does, it starts a worker after a while, in a process group of its own."""


@pytest.fixture
def job(tmp_path, monkeypatch):
    conf = tmp_path / "site.toml"
    conf.write_text(f'[warehouse]\nroot = "{tmp_path}/w"\ncheckpoints = "{tmp_path}/c"\n')
    started = subprocess.Popen
    command = ["-c", f"import subprocess, sys; subprocess.run([sys.executable, '-c', {JVM!r}])"]
    monkeypatch.setattr(
        one_job.subprocess, "Popen", lambda _, **options: started([sys.executable, *command], **options)
    )
    job = Job(conf, INGEST)
    monkeypatch.undo()
    yield job
    job.bury()


def test_a_kill_ends_also_the_workers_that_came_after_the_children_were_listed(job):
    give_up_at = time.monotonic() + 30.0
    while not (job.code is None and job.has_jvm and job.output.strip()) and time.monotonic() < give_up_at:
        time.sleep(0.05)
    worker = psutil.Process(int(job.output))
    assert worker.pid not in {child.pid for child in job._children}

    job.kill()

    assert not worker.is_running() or worker.status() == psutil.STATUS_ZOMBIE
    assert job.code == -9
