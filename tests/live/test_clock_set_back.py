"""The clock of a host is set back under collector, ingest and gold, which wait for instants of that clock."""

import os
import re
import subprocess
import sys
import time

import pytest

from benchmarks.faults.nemesis.host import JobHost
from conf.host_clock import LOOK_EVERY_S
from tests.live.test_ingest import ENDS_WITHIN_S, IngestSite, wait_for

pytestmark = pytest.mark.live

AHEAD_S = 1_800
JOBS = {"collect": (), "ingest": (), "build-gold": ("--follow",)}


def output_of(site, word):
    return (site.conf.parent / f"{word}.txt").read_text()


@pytest.fixture
def jobs(lab, tmp_path):
    """Return a site, the host of its jobs, and the jobs, each of which has finished something."""
    site, host = IngestSite(lab, tmp_path), JobHost(tmp_path, "host")
    started = {}
    try:
        for word, options in JOBS.items():
            command = [sys.executable, "-m", "plumbline", word, "--conf", str(site.conf), *options]
            with (site.conf.parent / f"{word}.txt").open("w") as output:
                started[word] = subprocess.Popen(command, stderr=output, env=os.environ | host.variables)
            if word == "ingest":
                wait_for((site.warehouse / "silver" / "requests" / "_delta_log").is_dir)
        wait_for(lambda: "batch " in output_of(site, "build-gold"))
        yield site, host, started
    finally:
        for job in started.values():
            job.kill()
            job.wait()


def test_each_job_ends_and_says_why_instead_of_waiting_for_that_long(jobs):
    site, host, started = jobs
    host.step_clock(AHEAD_S)
    time.sleep(3 * LOOK_EVERY_S)
    assert [job.poll() for job in started.values()] == [None] * len(JOBS), "a step ahead ends no job"
    host.step_clock(0)

    for word, job in started.items():
        assert job.wait(ENDS_WITHIN_S) == 1, output_of(site, word)
        sentence = "stopped: the clock of this host was set back by 1,(799|800) s, "
        assert re.search(f"^{word.replace('-', '_')} {sentence}", output_of(site, word), re.MULTILINE)
    with site.start("ingest", "--once") as again:
        output = again.communicate(timeout=ENDS_WITHIN_S)[1]
    assert again.returncode == 0, output
