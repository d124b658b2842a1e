"""A lab of its own: its processes come and go by pid."""

import psutil
import pytest

from lab import cluster, processes, topics
from lab.layout import Lab

pytestmark = [pytest.mark.live, pytest.mark.usefixtures("c1_brokers")]


@pytest.fixture
def own_state(tmp_path):
    """Return the folder of a cluster that one test starts for itself; stop it whatever the test did."""
    state = tmp_path / "lab"
    yield state
    cluster.stop(state)


def test_after_a_crash_the_next_start_works_and_stop_leaves_no_process(own_state):
    """A cluster of its own: the proxy and a broker are killed, and started again over the leftovers."""
    state = own_state
    first = cluster.start(state, brokers=2)
    for name in ("proxy", "broker-2"):
        victim = psutil.Process(int(first.processes[name]["pid"]))
        victim.kill()
        psutil.wait_procs([victim], timeout=5)
    assert cluster.status(state)["is_running"] is False

    second = cluster.start(state, brokers=2)
    assert not any(processes.find(record) for record in first.processes.values())
    assert cluster.status(state)["is_running"] is True
    assert sum(topics.leaders(second).values()) == 3

    cluster.stop(state)
    assert not any(processes.find(record) for record in second.processes.values())
    assert Lab.load(state).status == "stopped"
    assert not [
        p for p in psutil.process_iter(["cmdline"]) if str(state) in " ".join(p.info["cmdline"] or [])
    ]
