"""The command with a fake tool: runs, files, resumption and refusals. The real tool: tests/live."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from collectors.files import discover
from conf.exit_codes import ExitCode
from lab.experiments.order import orders
from tests.lab.experiments.tried import call, calls, runs

ALL = [("tried-001", "new", 0), ("tried-001", "old", 0), ("tried-002", "new", 0), ("tried-002", "old", 0)]


def test_each_block_holds_each_arm_once_in_the_order_that_the_seed_draws(fake):
    done = fake.call()

    assert done.exit_code == 0, done.output
    assert runs(fake.kept) == ALL
    ids = [next(word for word in row if word.startswith("client.id=")) for row in calls(fake.folder)]
    drawn = [arm for block in orders(["old", "new"], 2, 1) for arm in block]
    assert ids == [f"client.id=tried-{arm}" for arm in drawn]
    assert f"plumbline compare old new --from {fake.kept}" in done.stdout


def test_a_run_is_an_ordinary_performance_test_of_its_arm(fake):
    fake.call()

    file = next((fake.kept / "perf-test").glob("tried-001.new.*"))
    facts = json.loads(file.read_bytes().splitlines()[0])["plumbline_run"]
    assert (
        facts.items()
        >= {
            "run": "tried-001",
            "arm": "new",
            "scenario": "tried",
            "client_version": "4.3.1",
            "asked_records": 10,
            "asked_records_per_s": 20.0,
        }.items()
    )
    assert "linger.ms=5" in facts["configuration"]


def test_each_block_has_its_own_topic_which_is_created_and_dropped(fake):
    fake.call()

    commands = calls(fake.folder, "TopicCommand")
    names = {
        act: [row[row.index("--topic") + 1] for row in commands if act in row]
        for act in ("--create", "--delete")
    }
    produced = [row[row.index("--topic") + 1] for row in calls(fake.folder)]
    assert names["--create"] == names["--delete"] == produced[::2] == produced[1::2]
    assert len(set(produced)) == 2


def test_a_topic_of_the_user_gets_load_and_is_neither_created_nor_dropped(fake):
    fake.change("records_per_s = 20", 'records_per_s = 20\ntopic = "there"')

    assert fake.call().exit_code == 0
    assert {row[row.index("--topic") + 1] for row in calls(fake.folder)} == {"there"}
    assert all("--list" in row for row in calls(fake.folder, "TopicCommand"))


def test_a_missing_topic_of_the_user_is_reported_before_the_tool_waits(fake):
    fake.change("records_per_s = 20", 'records_per_s = 20\ntopic = "gone"')
    done = fake.call()

    assert done.exit_code == 2
    assert "topic = 'gone' does not exist" in done.output
    assert calls(fake.folder) == []


def test_finished_runs_are_not_repeated_and_more_repeats_add_blocks(fake):
    fake.call()
    before = {file.name for file in (fake.kept / "perf-test").iterdir()}
    again = fake.call()
    assert len(calls(fake.folder)) == 4
    fake.change("repeats = 2", "repeats = 3")
    more = fake.call()

    assert (again.exit_code, more.exit_code) == (0, 0)
    assert "plumbline compare" in again.stdout
    assert len(calls(fake.folder)) == 6
    assert before < {file.name for file in (fake.kept / "perf-test").iterdir()}
    assert runs(fake.kept) == [*ALL, ("tried-003", "new", 0), ("tried-003", "old", 0)]


def test_a_file_that_was_cut_off_is_set_aside_and_its_run_repeated(fake):
    fake.call()
    file = next((fake.kept / "perf-test").glob("tried-001.old.*"))
    file.write_bytes(b"\n".join(file.read_bytes().splitlines()[:-1]))
    again = fake.call()

    assert again.exit_code == 0
    assert runs(fake.kept) == ALL
    assert f"{file.name} was cut off: not counted" in again.output
    (cut,) = (fake.kept / ".set-aside").glob("*.cut")
    assert cut.name == f"{file.name}.cut"


def test_a_report_reads_the_runs_that_count_and_no_other_file(fake):
    fake.does("old", "fail 1")
    fake.call()

    found = discover(fake.kept)
    assert len(list((fake.kept / ".set-aside").glob("*.failed"))) == 1
    assert [file.path for file in found.understood] == sorted((fake.kept / "perf-test").iterdir())
    assert found.not_understood == []


def test_failed_records_are_reported_though_the_tool_counts_them_and_ends_with_0(fake):
    """Clients 2.4.1 and 2.8.2 do so: the figures would be those of records that were never sent."""
    fake.does("new", "too-large 2")
    done = fake.call()

    assert done.exit_code == 1
    assert "could not send 1 records: org.apache.kafka.common.errors.RecordTooLargeException" in done.output


@pytest.mark.parametrize("what", ["fail", "fail-late", "short", "no-summary", "too-large"])
def test_a_run_that_fails_is_tried_once_more(fake, what):
    fake.does("new", f"{what} 1")
    done = fake.call()

    assert done.exit_code == 0
    assert runs(fake.kept) == ALL
    assert len(calls(fake.folder)) == 5
    assert "trying once more" in done.output


def test_a_run_that_fails_twice_ends_it_and_its_last_lines_are_quoted(fake):
    fake.does("new", "fail 2")
    done = fake.call()
    again = fake.call()

    assert done.exit_code == 1
    assert "it broke" in done.output
    assert "why it broke" in done.output
    assert len(list((fake.kept / ".set-aside").glob("*.failed"))) == 2
    assert (again.exit_code, runs(fake.kept)) == (0, ALL)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("= 5", "= 10", "arms.new.linger.ms was '5', is '10'"),
        ('{"linger.ms" = 5}', "{}", "arms.new.linger.ms was '5', is missing"),
        ('"3.9.1"', '"4.3.1"', "arms.old.client_version was '3.9.1', is '4.3.1'"),
        ('name = "new"', 'name = "newer"', "arms.newer.client_version was missing"),
        ("records_per_s = 20", "records_per_s = 21", "load.records_per_s was 20.0, is 21.0"),
        ("for_s = 0.5", "for_s = 0.5\nseed = 2", "seed was 1, is 2"),
        ("for_s = 0.5", "for_s = 0.6", "for_s was 0.5, is 0.6"),
        ("repeats = 2", "repeats = 1", "repeats was 2, is 1"),
        ('"tried"', '"another"', "name was 'tried', is 'another'"),
    ],
)
def test_another_configuration_than_the_frozen_one_is_refused(fake, old, new, said):
    fake.call()
    fake.change(old, new)
    done = fake.call()

    assert done.exit_code == 2
    assert said in done.output
    assert "another --keep or another name" in done.output
    assert len(calls(fake.folder)) == 4


def test_another_cluster_than_the_frozen_one_is_refused(fake):
    fake.call()
    (fake.folder / "cluster-id").write_text("two")
    done = fake.call()

    assert done.exit_code == 2
    assert "place.id was 'one', is 'two'" in done.output


def test_another_newest_client_than_the_frozen_one_is_refused(fake):
    """An arm without a release uses the newest one at the start of the experiment."""
    fake.call()
    (fake.folder / "kafka" / "kafka-clients-4.3.1.jar").rename(
        fake.folder / "kafka" / "kafka-clients-4.4.0.jar"
    )
    done = fake.call()

    assert done.exit_code == 2
    assert "arms.new.client_version was '4.3.1', is '4.4.0'" in done.output


def test_a_folder_with_runs_of_an_unknown_experiment_is_refused(fake):
    fake.call()
    (fake.kept / "experiment.json").unlink()
    done = fake.call()

    assert done.exit_code == 2
    assert "no experiment.json" in done.output


def test_a_setting_that_the_release_does_not_know_is_reported_before_anything_runs(fake):
    """A producer ignores it silently, and the arms would be the same."""
    fake.change('"linger.ms"', '"linger.mss"')
    done = fake.call()

    assert done.exit_code == 2
    assert "arm new: the producer of 4.3.1 has no setting linger.mss; did you mean linger.ms?" in done.output
    assert not fake.kept.joinpath("experiment.json").exists()


def test_a_missing_release_is_reported_with_the_present_ones(fake):
    fake.change('"3.9.1"', '"1.0"')
    done = fake.call()

    assert done.exit_code == 2
    assert "arm old: no jars of Kafka 1.0 in " in done.output
    assert "(present: 3.9.1, 4.3.1): run `make lab`" in done.output


def test_a_server_that_cannot_be_reached_is_reported(fake):
    done = call(str(fake.file), "--bootstrap-server", "127.0.0.1:1", "--keep", str(fake.kept))

    assert done.exit_code == 1
    assert "no server can be reached: 127.0.0.1:1: " in done.output


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--start",), "either --bootstrap-server, or --state and --start"),
        (("--properties", __file__, "--conf", __file__), "use either --properties or --conf"),
        (("--bootstrap-server", "nonsense"), "'nonsense' is not HOST:PORT"),
    ],
)
def test_options_that_do_not_go_together_are_refused(fake, options, said):
    done = fake.call(*options)

    assert done.exit_code == 2
    assert said in done.output


def test_faults_for_the_lab_are_not_injected_into_another_cluster(fake):
    fake.change("[load]", "[lab]\nbroker = 2\nhold_ms = 5\n[load]")
    done = fake.call()

    assert done.exit_code == 2
    assert "[lab] needs a lab" in done.output


def test_without_a_lab_it_says_how_to_start_one(fake, tmp_path):
    done = call(str(fake.file), "--state", str(tmp_path / "lab"), "--keep", str(fake.kept))

    assert done.exit_code == 1
    assert "plumbline lab start" in done.output


def test_settings_of_the_connection_are_frozen_without_secrets(fake, tmp_path):
    file = tmp_path / "client.properties"
    file.write_text("# TLS\nsecurity.protocol = SSL\nssl.key.password=hunter2\n")
    fake.call("--properties", str(file))

    frozen = (fake.kept / "experiment.json").read_text()
    assert json.loads(frozen)["place"]["properties"] == {"security.protocol": "SSL"}
    assert "hunter2" not in frozen
    assert all(row[row.index("--producer.config") + 1] == str(file) for row in calls(fake.folder))


OAUTH = """
[collector.cluster_security]
security_protocol = "SASL_SSL"
sasl_mechanism = "OAUTHBEARER"
sasl_oauthbearer_token_endpoint_url = "https://login:1/token"
sasl_oauthbearer_client_id = "load"
sasl_oauthbearer_client_secret_file = "{}"
"""


def test_every_tool_logs_in_as_the_settings_say_with_a_file_that_goes_with_the_command(fake, tmp_path):
    (tmp_path / "secret").write_text("hunter2")
    (tmp_path / "my.toml").write_text(OAUTH.format(tmp_path / "secret"))
    done = fake.call("--conf", str(tmp_path / "my.toml"))

    assert done.exit_code == 0, done.output
    rows = [row for tool in ("ClusterTool", "TopicCommand", "Perf") for row in calls(fake.folder, tool)]
    files = {
        row[row.index(name) + 1]
        for row in rows
        for name in ("--producer.config", "--command-config", "--config")
        if name in row
    }
    (file,) = files
    assert not Path(file).exists()
    assert all("allowed.urls=https://login:1/token" in " ".join(row) for row in rows)
    frozen = (fake.kept / "experiment.json").read_text()
    assert json.loads(frozen)["place"]["properties"]["sasl.mechanism"] == "OAUTHBEARER"
    assert "hunter2" not in frozen + (fake.folder / "calls.jsonl").read_text()


def test_the_help_has_exit_codes_and_examples():
    text = " ".join(call("--help").output.split())

    assert "Exit codes: 0 all runs are finished" in text
    assert "plumbline experiment conf/experiments/null.toml --start" in text


@pytest.fixture
def started(fake):
    """Start the command as a separate process whose first run hangs."""
    for arm in ("old", "new"):
        fake.does(arm, "hang")
    script = (
        "import conf.java, sys; from pathlib import Path; from plumbline.cli import app\n"
        f"conf.java.JARS = Path({str(fake.folder)!r}); conf.java.java = lambda: {str(fake.java)!r}\n"
        f"app({['experiment', str(fake.file), '--bootstrap-server', fake.where, '--keep', str(fake.kept)]})"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script], stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    deadline = time.monotonic() + 60
    while b"5 records sent" not in b"".join(file.read_bytes() for file in fake.kept.glob("perf-test/*")):
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.05)
    (tool,) = psutil.Process(process.pid).children()
    yield process, tool
    for left in (process, tool):
        if psutil.pid_exists(left.pid):
            left.kill()
    process.communicate()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_tool_and_sets_the_cut_run_aside(fake, started, number):
    process, tool = started
    os.kill(process.pid, number)
    _, said = process.communicate(timeout=20)

    assert process.returncode == ExitCode.INTERRUPTED
    assert not tool.is_running()
    assert list((fake.kept / "perf-test").iterdir()) == []
    assert len(list((fake.kept / ".set-aside").glob("*.cut"))) == 1
    assert f"ended with exit code {-signal.SIGTERM}: not counted" in said
    assert "stopped; run the same command again to continue" in said


def test_after_a_kill_the_tool_that_still_runs_is_ended_before_the_next_begins(fake, started):
    """It would add load to the cluster during the measured runs."""
    process, tool = started
    process.kill()
    process.wait()
    assert tool.is_running()
    for act in fake.folder.glob("*.does"):
        act.unlink()
    again = fake.call()

    assert not tool.is_running()
    assert "stopped the producer of a killed experiment" in again.output
    assert (again.exit_code, runs(fake.kept)) == (0, ALL)


def test_two_at_once_in_one_folder_are_refused(fake, started):
    assert started[0].poll() is None
    done = fake.call()

    assert done.exit_code == ExitCode.HELD
    assert "another `plumbline experiment` works in" in done.output
