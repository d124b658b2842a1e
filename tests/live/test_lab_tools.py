"""What the lab does to running brokers without a measurement: a load, and the switch of the request log."""

import time
from pathlib import Path

import pytest

from lab import cluster, load

pytestmark = pytest.mark.live


def test_a_load_of_so_many_records_sends_them_all(quiet_lab):
    running = load.begin(quiet_lab, load.Load(records_per_s=100, duration_s=3))
    running.wait()

    assert "300 records sent" in running.output.read_text().splitlines()[-1]


def test_the_request_log_is_switched_while_the_brokers_run(quiet_lab):
    log = Path(quiet_lab.brokers[0].logs) / "kafka-request.log"
    cluster.set_request_log(quiet_lab.state, is_on=False)
    time.sleep(1)
    size_when_off = log.stat().st_size
    time.sleep(2)
    still = log.stat().st_size
    cluster.set_request_log(quiet_lab.state, is_on=True)
    time.sleep(2)

    assert still == size_when_off
    assert log.stat().st_size > still
