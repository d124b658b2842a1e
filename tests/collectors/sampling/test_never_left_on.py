"""DEBUG is never left on: a full disk, an answer that is lost, a reboot, a lost folder."""

import errno
import shlex
import shutil
import subprocess
import threading
from configparser import ConfigParser
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from collectors.sampling import cli, record, restore, watchdog
from collectors.sampling.errors import SampleError
from collectors.sampling.record import LevelRecord, LoggerLevel
from collectors.sampling.rounds import SamplingPlan, SamplingRun
from conf.exit_codes import ExitCode
from conf.settings import PROJECT
from plumbline.cli import COMMANDS, app
from tests.collectors.sampling.fake_loggers import CLIENT, REQUEST, ROOT, FakeLoggers

TARGET = LevelRecord("b:9092", "", ())
PLAN = SamplingPlan(brokers="all", loggers=(REQUEST,), for_s=0.02, every_s=None, times=None)
UNITS = sorted((PROJECT / "conf" / "systemd").glob("*.service"))


class SlowLoggers(FakeLoggers):
    """Brokers of which some answer no ALTER, and carry it out later."""

    def __init__(self, folder, own):
        """No broker is slow."""
        super().__init__(folder, own)
        self.slow, self.pending = set(), []

    def change(self, changes):
        """Keep the changes of slow brokers to DEBUG for `land`."""
        self.pending += [each for each in changes if each.broker in self.slow and each.to == "DEBUG"]
        results, failures = super().change([each for each in changes if each.broker not in self.slow])
        return results, failures | dict.fromkeys(self.slow & {each.broker for each in changes}, "timed out")

    def land(self):
        """Carry out what was kept."""
        pending, self.pending = self.pending, []
        super().change(pending)


@pytest.fixture
def cluster(tmp_path):
    return SlowLoggers(tmp_path, {1: {REQUEST: "WARN"}, 2: {REQUEST: "WARN"}})


@pytest.fixture
def clock(monkeypatch):
    """Give the seconds that `restore` sees; a test moves them."""

    class RestoreClock:
        now = 1_000.0

        def time(self):
            return self.now

    clock = RestoreClock()
    monkeypatch.setattr(restore, "time", clock)
    return clock


def sample(cluster, show=lambda _: None, plan=PLAN):
    run = SamplingRun(
        plan,
        folder=cluster.folder,
        target=TARGET,
        loggers=cluster,
        is_guarded=lambda: True,
        stop=threading.Event(),
    )
    return run.run(show, lambda _: None)


def full_disk(monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(record, "write_atomically", full)


def test_an_alter_that_times_out_and_lands_later_is_taken_back(cluster, clock):
    cluster.slow = {2}
    left = sample(cluster)
    cluster.slow = set()
    assert (list(left), cluster.level(2, REQUEST)) == ([2], "WARN")

    waits = []

    def sleep(seconds):
        waits.append(seconds)
        clock.now += seconds
        if len(waits) == 2:
            cluster.land()
            assert cluster.level(2, REQUEST) == "DEBUG"

    assert watchdog.watch(cluster.folder, lambda _: cluster, sleep) == 0
    assert cluster.own == {1: {REQUEST: "WARN"}, 2: {REQUEST: "WARN"}}
    assert len(waits) >= 2


def test_an_alter_that_is_lost_is_waited_for_a_minute_after_the_first_answer(cluster, clock):
    cluster.slow = {2}
    sample(cluster)
    clock.now += 10_000  # the broker stood still for hours: its socket may hold the request
    cluster.pending.clear()
    cluster.slow, began, waited = set(), clock.now, []

    def sleep(seconds):
        clock.now += seconds
        waited.append(clock.now - began)

    assert watchdog.watch(cluster.folder, lambda _: cluster, sleep) == 0
    assert waited[-2] < restore.UNSURE_S <= waited[-1]


def test_a_command_killed_before_the_answer_leaves_the_level_unsure(cluster):
    class KilledError(BaseException):
        pass

    def change(_):
        raise KilledError

    change_now, cluster.change = cluster.change, change
    with pytest.raises(KilledError):
        sample(cluster)
    cluster.change = change_now

    assert {each.unsure_until for each in record.read(cluster.folder).levels} == {0.0}


def test_a_full_disk_while_the_record_is_written_ends_the_sample_and_changes_nothing(cluster, monkeypatch):
    full_disk(monkeypatch)
    with pytest.raises(OSError, match="No space left"):
        sample(cluster)

    assert cluster.own == {1: {REQUEST: "WARN"}, 2: {REQUEST: "WARN"}}
    assert cluster.recorded == []


def test_a_disk_that_fills_up_while_loggers_are_at_debug_keeps_no_level(cluster, monkeypatch):
    full = []

    def show(text):
        if "left" in text and not full:
            full.append(full_disk(monkeypatch))

    assert sample(cluster, show) == {}
    assert cluster.own == {1: {REQUEST: "WARN"}, 2: {REQUEST: "WARN"}}


def test_the_watchdog_outlives_a_full_disk(cluster, monkeypatch):
    levels = [LoggerLevel(broker, REQUEST, "WARN", is_inherited=False) for broker in (1, 2)]
    record.write(cluster.folder, TARGET.with_levels(levels))
    cluster.own = {broker: {REQUEST: "DEBUG"} for broker in (1, 2)}
    cluster.away = {2}
    with monkeypatch.context() as filled:
        full_disk(filled)
        filled.setattr("sys.stdout.write", lambda _: (_ for _ in ()).throw(OSError(errno.ENOSPC, "full")))
        code = watchdog.watch(cluster.folder, lambda _: cluster, lambda _: cluster.away.clear())

    assert code == 0
    assert cluster.own == {1: {REQUEST: "WARN"}, 2: {REQUEST: "WARN"}}


def test_a_lost_terminal_does_not_keep_the_levels_from_being_restored(cluster):
    def show(text):
        if "restoring" in text:
            raise BrokenPipeError

    sample(cluster, show)

    assert cluster.own == {1: {REQUEST: "WARN"}, 2: {REQUEST: "WARN"}}


def test_the_level_of_root_is_set_again_because_kafka_refuses_to_remove_it(cluster):
    """A logger without a level of its own inherits again in the same request."""
    cluster.own = {1: {ROOT: "INFO", REQUEST: "WARN"}, 2: {ROOT: "WARN"}}

    left = sample(cluster, plan=replace(PLAN, loggers=(ROOT, CLIENT, REQUEST)))

    assert left == {}
    assert cluster.own == {1: {ROOT: "INFO", REQUEST: "WARN"}, 2: {ROOT: "WARN"}}
    assert record.read(cluster.folder) is None


@pytest.fixture
def command(cluster, monkeypatch, tmp_path):
    """Run `plumbline sample` on these brokers."""
    monkeypatch.setattr(watchdog, "brokers_of", lambda _: cluster)

    def run(*options):
        return CliRunner().invoke(app, ["sample", *options, "--state", str(tmp_path)])

    return run


def test_without_its_folder_a_restore_asks_the_brokers(cluster, command):
    cluster.own = {1: {REQUEST: "DEBUG", CLIENT: "TRACE"}, 2: {REQUEST: "ERROR"}}
    loggers = ("--logger", REQUEST, "--logger", CLIENT)

    result = command("--restore", "--bootstrap-server", "b:9092", *loggers)

    assert result.exit_code == 0, result.output
    assert cluster.own == {1: {REQUEST: "WARN"}, 2: {REQUEST: "ERROR"}}
    assert f"broker 1: {REQUEST} was at DEBUG without a record and is set to WARN" in result.output
    assert "broker 2: no logger is at DEBUG" in result.output


def test_without_its_folder_a_restore_sets_root_to_the_level_of_kafkas_settings(cluster, command):
    cluster.own = {1: {ROOT: "DEBUG", CLIENT: "DEBUG"}, 2: {ROOT: "WARN"}}
    loggers = ("--logger", ROOT, "--logger", CLIENT)

    result = command("--restore", "--bootstrap-server", "b:9092", *loggers)

    assert result.exit_code == 0, result.output
    assert cluster.own == {1: {ROOT: "INFO", CLIENT: "INFO"}, 2: {ROOT: "WARN"}}


def test_a_broker_that_does_not_answer_such_a_restore_is_an_error(cluster, command):
    cluster.away = {2}
    result = command("--restore", "--bootstrap-server", "b:9092")

    assert result.exit_code == ExitCode.STATE
    assert "broker 2 not available; run it again" in result.output


def test_a_restore_without_a_record_says_how_to_ask_the_brokers(command):
    result = command("--restore")

    assert result.exit_code == 0
    assert "--bootstrap-server" in result.output


def test_after_a_reboot_the_unit_restores_what_the_record_has(cluster, command):
    record.write(cluster.folder, TARGET.with_levels([LoggerLevel(1, REQUEST, "WARN", is_inherited=False)]))
    cluster.own[1][REQUEST] = "DEBUG"

    assert command("--restore").exit_code == 0
    assert cluster.own[1] == {REQUEST: "WARN"}


def test_a_new_state_folder_is_private(tmp_path):
    assert CliRunner().invoke(app, ["sample", "--restore", "--state", str(tmp_path / "new")]).exit_code == 0
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700


def test_the_default_folder_does_not_depend_on_the_working_directory():
    assert cli.STATE.is_absolute()
    assert PROJECT not in cli.STATE.parents


def test_levels_in_the_former_default_folder_are_restored(cluster, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cli, "STATE", tmp_path / "state")
    monkeypatch.setattr(watchdog, "brokers_of", lambda _: cluster)
    former = tmp_path / ".state" / "sample"
    former.mkdir(parents=True)
    record.write(former, TARGET.with_levels([LoggerLevel(1, REQUEST, "WARN", is_inherited=False)]))
    cluster.own[1][REQUEST] = "DEBUG"

    result = CliRunner().invoke(app, ["sample", "--restore", "--state", str(tmp_path / "state")])

    assert result.exit_code == 0, result.output
    assert cluster.own[1] == {REQUEST: "WARN"}
    assert record.read(former) is None


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_a_unit_runs_commands_that_exist_with_an_absolute_state(unit):
    parser = ConfigParser(interpolation=None)
    parser.optionxform = str
    parser.read(unit)
    commands = [shlex.split(line) for name, line in parser["Service"].items() if name.startswith("Exec")]

    assert commands
    for words in commands:
        assert Path(words[0]).is_absolute()
        state = Path(words[words.index("--state") + 1])
        assert state == Path("/var/lib") / parser["Service"]["StateDirectory"]
        assert words[1] == "sample"
        COMMANDS["sample"].loaded("sample").make_context("sample", words[2:])  # raises for a wrong option


def test_one_unit_restores_at_boot_until_every_broker_has_answered():
    parser = ConfigParser(interpolation=None)
    parser.optionxform = str
    parser.read(PROJECT / "conf" / "systemd" / "plumbline-sample-restore.service")

    assert parser["Install"]["WantedBy"] == "multi-user.target"
    assert parser["Service"]["Restart"] == "on-failure"
    assert "--restore" in parser["Service"]["ExecStart"]


def test_make_clean_deletes_no_data(tmp_path):
    """The defaults put all of this under .state."""
    kept = [
        "warehouse/silver/requests",
        "checkpoints/lines",
        "collector",
        "sample",
        "experiments",
        "perf-test",
    ]
    kept += ["demo/warehouse", "demo/checkpoints", "demo/collector", "reports"]
    kept += ["lab/truth", "demo/lab/truth"]
    for name in (*kept, "lab/broker-1", "lab/.hidden", "demo/lab/broker-1"):
        (tmp_path / ".state" / name).mkdir(parents=True)
        (tmp_path / ".state" / name / "file").write_text("x")
    (tmp_path / "Makefile").write_bytes((PROJECT / "Makefile").read_bytes())
    (tmp_path / "spark-warehouse").mkdir()
    (tmp_path / ".state" / "demo" / "lab" / "lab.json").write_text("{}")
    command = tmp_path / ".venv" / "bin" / "plumbline"
    command.parent.mkdir(parents=True)
    command.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/stopped\n')
    command.chmod(0o755)

    made = subprocess.run([shutil.which("make"), "clean"], cwd=tmp_path, check=False, capture_output=True)

    assert made.returncode == 0, made.stderr
    assert (tmp_path / "stopped").read_text() == "lab stop --state .state/demo/lab\n"
    assert [name for name in kept if not (tmp_path / ".state" / name / "file").exists()] == []
    labs = [tmp_path / ".state" / "lab", tmp_path / ".state" / "demo" / "lab"]
    assert [[child.name for child in lab.iterdir()] for lab in labs] == [["truth"], ["truth"]]
    assert (tmp_path / "spark-warehouse").exists()


def test_a_password_that_goes_missing_is_an_error_that_the_watchdog_tries_again(tmp_path):
    """The record has its path, so a watchdog reads it each time."""
    (tmp_path / "password").write_text("hunter2")
    (tmp_path / "site.toml").write_text(
        '[collector]\ncluster_bootstrap_servers = "b:9092"\n[collector.cluster_security]\n'
        'security_protocol = "SASL_SSL"\nsasl_mechanism = "PLAIN"\nsasl_username = "sampler"\n'
        f'sasl_password_file = "{tmp_path / "password"}"\n'
    )
    target = cli._target(None, None, [tmp_path / "site.toml"])
    record.write(tmp_path, target.with_levels([LoggerLevel(1, REQUEST, "WARN", is_inherited=False)]))
    recorded = record.read(tmp_path)
    (tmp_path / "password").unlink()

    assert (recorded.security, recorded.bootstrap_servers) == (target.security, "b:9092")
    assert "hunter2" not in (tmp_path / record.NAME).read_text()
    with pytest.raises(SampleError, match=r"sasl_password_file = .* cannot be read"):
        watchdog.brokers_of(recorded).levels("all", (REQUEST,))


def test_a_missing_password_is_wrong_use_before_a_level_changes(command, tmp_path):
    (tmp_path / "site.toml").write_text(
        '[collector.cluster_security]\nsecurity_protocol = "SSL"\nssl_ca_location = "/nowhere/ca.pem"\n'
    )
    result = command("--bootstrap-server", "b:9092", "--conf", str(tmp_path / "site.toml"))

    assert result.exit_code == ExitCode.WRONG
    assert "ssl_ca_location = '/nowhere/ca.pem' cannot be read" in result.output


def test_a_secret_of_former_options_is_refused_because_it_goes_with_the_process(command, tmp_path):
    (tmp_path / "site.toml").write_text(
        '[collector.cluster_client_options]\n"security.protocol" = "SASL_SSL"\n"sasl.mechanism" = "PLAIN"\n'
        '"sasl.username" = "sampler"\n"sasl.password" = "hunter2"\n'
    )
    result = command("--bootstrap-server", "b:9092", "--conf", str(tmp_path / "site.toml"))

    assert result.exit_code == ExitCode.WRONG
    assert "move the login to [collector.cluster_security]" in result.output


def test_levels_that_a_former_version_recorded_are_read(tmp_path):
    (tmp_path / record.NAME).write_text('{"bootstrap_servers": "b:9092", "properties": "p", "levels": []}')

    assert record.read(tmp_path) == LevelRecord("b:9092", "p", ())
