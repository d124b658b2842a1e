"""One real cluster for all tests of a run that need one; who delays links or ends processes tidies up."""

import pytest

from lab import cluster
from lab.layout import Lab
from lab.proxy_control import set_delay


@pytest.fixture(scope="session")
def lab(tmp_path_factory):
    """Three observed brokers, the proxies and a telemetry broker; ended with the session."""
    state = tmp_path_factory.mktemp("live") / "lab"
    started = cluster.start(state)
    yield started
    cluster.stop(state)


@pytest.fixture
def quiet_lab(lab):
    """Give the running cluster, without a delay on any link before and after the test."""
    current = Lab.load(lab.state)
    no_delay = dict.fromkeys(current.pairs(), 0.0)
    set_delay(lab.state, no_delay)
    yield current
    set_delay(lab.state, no_delay)
