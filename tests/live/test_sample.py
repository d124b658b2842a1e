"""A sample of a real broker: levels are back after an end, a signal, a kill, a broker that was away."""

import json
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from collectors.sampling import record, watchdog
from collectors.sampling.brokers import TIMEOUT_S, Brokers, ChangeResult, LevelChange
from conf.exit_codes import ExitCode
from lab import cluster, jvm

pytestmark = [pytest.mark.live, pytest.mark.usefixtures("c1_brokers")]

REQUEST, INHERITED = "kafka.request.logger", "org.apache.kafka.clients.NetworkClient"
SOON_S = 60
UNREACHABLE = range(1_001, 1_014)
"""Ids of no broker: one after the other, at 10 s each, they exceed the time limit of the Java program."""


@pytest.fixture(scope="module")
def one_broker(tmp_path_factory):
    """One observed broker without a request log; NetworkClient has no level of its own."""
    started = cluster.start(tmp_path_factory.mktemp("sampled") / "lab", brokers=1, request_log=False)
    tool = ("--bootstrap-server", started.bootstrap_servers, "--entity-type", "broker-loggers")
    unset = ("--entity-name", "1", "--alter", "--delete-config", INHERITED)
    jvm.run_tool(jvm.tool("kafka.admin.ConfigCommand", *tool, *unset))
    yield started
    cluster.stop(started.state)


@pytest.fixture
def levels(one_broker):
    """Give what the broker says its loggers' levels are."""

    def ask():
        found, failures = Brokers(one_broker.bootstrap_servers).levels("all", (REQUEST, INHERITED))
        assert not failures
        return {each.logger: each.level for each in found}

    assert ask() == {REQUEST: "WARN", INHERITED: "INFO"}
    return ask


@contextmanager
def sampling(lab, folder, *options):
    """Run the command until the loggers are at DEBUG; at the end of the block it has ended."""
    command = [sys.executable, "-m", "plumbline", "sample", "--bootstrap-server", lab.bootstrap_servers]
    command += ["--logger", REQUEST, "--logger", INHERITED, "--state", str(folder), *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as job:
        try:
            assert any("at DEBUG" in line for line in job.stderr)
            yield job
        finally:
            job.kill()


def until(holds):
    """Wait until something holds."""
    give_up_at = time.monotonic() + SOON_S
    while not holds():
        assert time.monotonic() < give_up_at
        time.sleep(0.5)


def lines(lab):
    """Count the completed requests that the broker has logged."""
    return (Path(lab.brokers[0].logs) / "kafka-request.log").read_text().count("Completed request:")


def test_many_brokers_that_do_not_answer_do_not_delay_another(one_broker, levels):
    ids = [*UNREACHABLE, 1]
    brokers, began_at = Brokers(one_broker.bootstrap_servers), time.monotonic()
    results, failures = brokers.change([LevelChange(each, REQUEST, "WARN", "ERROR") for each in ids])
    assert time.monotonic() - began_at < TIMEOUT_S / 2
    found, unread = brokers.levels(",".join(map(str, ids)), (REQUEST,))
    brokers.change([LevelChange(1, REQUEST, "ERROR", "WARN")])

    assert results == [ChangeResult(1, REQUEST, is_done=True, level="ERROR")]
    assert [(each.broker, each.level) for each in found] == [(1, "ERROR")]
    assert list(failures) == list(unread) == list(UNREACHABLE)
    assert levels() == {REQUEST: "WARN", INHERITED: "INFO"}


def test_root_and_what_inherits_from_it_are_back(one_broker, levels, tmp_path):
    """Kafka refuses to remove the level of root."""
    with sampling(one_broker, tmp_path, "--logger", "root", "--for", "2s") as job:
        assert levels() == dict.fromkeys((REQUEST, INHERITED), "DEBUG")
        job.wait(SOON_S)
    (root,), _ = Brokers(one_broker.bootstrap_servers).levels("all", ("root",))

    assert job.returncode == 0
    assert levels() == {REQUEST: "WARN", INHERITED: "INFO"}
    assert root.level == "INFO"
    assert record.read(tmp_path) is None


def test_two_rounds_log_requests_and_leave_the_levels_as_they_were(one_broker, levels, tmp_path):
    before = lines(one_broker)
    with sampling(one_broker, tmp_path, "--for", "2s", "--every", "8s", "--times", "2") as job:
        assert levels() == dict.fromkeys((REQUEST, INHERITED), "DEBUG")
        job.wait(SOON_S)
    rounds = [json.loads(line) for line in (tmp_path / record.HISTORY).read_text().splitlines()]

    assert (job.returncode, [told["brokers"] for told in rounds]) == (0, [[1], [1]])
    assert lines(one_broker) > before
    assert levels() == {REQUEST: "WARN", INHERITED: "INFO"}


def test_a_level_that_was_inherited_is_inherited_again(one_broker, levels, tmp_path):
    with sampling(one_broker, tmp_path, "--for", "1s") as job:
        job.wait(SOON_S)
    jvm.set_logger(one_broker.bootstrap_servers, 1, "root", "ERROR")
    try:
        assert levels_now(one_broker) == {REQUEST: "WARN", INHERITED: "ERROR"}
    finally:
        jvm.set_logger(one_broker.bootstrap_servers, 1, "root", "INFO")
    assert levels() == {REQUEST: "WARN", INHERITED: "INFO"}


def levels_now(lab):
    """Read the levels, whatever they are."""
    found, _ = Brokers(lab.bootstrap_servers).levels("1", (REQUEST, INHERITED))
    return {each.logger: each.level for each in found}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_puts_the_levels_back_before_the_end(one_broker, levels, tmp_path, number):
    with sampling(one_broker, tmp_path, "--for", "10m") as job:
        job.send_signal(number)
        job.wait(SOON_S)

    assert job.returncode == 0
    assert levels() == {REQUEST: "WARN", INHERITED: "INFO"}


def test_after_a_kill_the_watchdog_puts_the_levels_back(one_broker, levels, tmp_path):
    with sampling(one_broker, tmp_path, "--for", "10m") as job:
        job.send_signal(signal.SIGKILL)
        job.wait(SOON_S)
    assert record.read(tmp_path) is not None
    until(lambda: record.read(tmp_path) is None)

    assert levels() == {REQUEST: "WARN", INHERITED: "INFO"}


def test_a_broker_that_is_away_gets_its_levels_when_it_is_back(one_broker, levels, tmp_path):
    """It stands still, as if cut off: what it holds at DEBUG, it still holds when it answers again."""
    broker = psutil.Process(int(one_broker.processes["broker-1"]["pid"]))
    with sampling(one_broker, tmp_path, "--for", "10m") as job:
        broker.suspend()
        try:
            job.send_signal(signal.SIGTERM)
            job.wait(SOON_S)
            until(lambda: "retrying" in (tmp_path / watchdog.LOG).read_text())
        finally:
            broker.resume()
    assert job.returncode == ExitCode.STATE
    until(lambda: record.read(tmp_path) is None)

    assert levels() == {REQUEST: "WARN", INHERITED: "INFO"}
