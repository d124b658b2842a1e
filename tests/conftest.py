"""One real cluster and one real browser for all tests; who delays links or ends processes tidies up."""

import shutil
from contextlib import closing

import pytest
from playwright.sync_api import sync_playwright

from lab import cluster, jvm
from lab.layout import Lab
from lab.proxy.control import set_delay
from tests.jvm_options import C1

FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)


@pytest.fixture(scope="session")
def browser():
    """Start Chromium, once: Playwright knows one of its kind in a process."""
    found = shutil.which("chromium")
    if found is None:
        pytest.skip("needs Chromium: apt-get install chromium")
    with (
        sync_playwright() as playwright,
        closing(playwright.chromium.launch(executable_path=found, args=FLAGS.split())) as started,
    ):
        yield started


@pytest.fixture(scope="module")
def c1_brokers():
    """Start brokers with C1 alone while a module runs: they live for a minute or two."""
    with pytest.MonkeyPatch.context() as options:
        options.setattr(jvm, "_BROKER_OPTIONS", (*jvm._BROKER_OPTIONS, C1))
        yield


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
