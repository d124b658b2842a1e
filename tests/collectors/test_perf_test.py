"""Recording a performance test: the lines in the file and the published lines. Real tool: tests/live."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from typer.testing import CliRunner

from collectors.errors import CollectorError
from collectors.perf_test.run import (
    RunDescription,
    RunRecording,
    command,
    lines_of,
    parse_arguments,
    record_run,
)
from collectors.perf_test.sender import SendResult
from conf import names
from conf.exit_codes import ExitCode
from plumbline.cli import app
from schemas.silver import perf_test as schemas

RUN = RunDescription(run="r1", arm="sticky", scenario="skew", client_version="3.9.1")
STAMPED = re.compile(rb"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z (.*)$", re.DOTALL)
PRINTS = "import sys; print('10 records sent'); sys.stdout.write('cut off'); sys.exit({code})"


def run_of(tmp_path, script, **more):
    sent = []
    recording = RunRecording(
        run=RUN, node="host", file=tmp_path / "kept" / "r1.txt", send=sent.append, **more
    )
    code = record_run([sys.executable, "-c", script], ["--throughput", "5"], recording)
    return code, recording.file.read_bytes().splitlines(), sent


def test_headers_and_document_have_the_names_that_the_parser_expects():
    headers = {"run": names.Header.RUN, "arm": names.Header.ARM, "scenario": names.Header.SCENARIO}
    assert headers | {"client_version": names.Header.CLIENT_VERSION} == schemas.RUN_HEADERS
    assert schemas.RUN_DOCUMENT == names.RUN_DOCUMENT


def test_each_line_gets_its_timestamp_between_two_lines_that_describe_the_run(tmp_path):
    shown = []
    code, lines, _ = run_of(tmp_path, PRINTS.format(code=3), show=shown.append)

    begun, *printed, ended = lines
    assert code == 3
    assert [STAMPED.match(line)[1] for line in printed] == [b"10 records sent", b"cut off"]
    facts = json.loads(begun)["plumbline_run"]
    assert (facts["run"], facts["arm"], facts["asked_records_per_s"]) == ("r1", "sticky", 5.0)
    assert json.loads(ended)["plumbline_run"].items() >= (facts | {"exit_code": 3}).items()
    assert shown == [b"10 records sent\n", b"cut off"]


def test_the_published_lines_are_those_of_the_file_with_their_positions(tmp_path):
    _, lines, sent = run_of(tmp_path, PRINTS.format(code=0))

    assert [line.value for line in sent] == lines
    assert list(lines_of(tmp_path / "kept" / "r1.txt", "host")) == sent
    assert {line.headers for line in sent} == {RUN.headers}
    assert len({line.position for line in sent}) == len(lines)


def test_a_run_is_never_overwritten(tmp_path):
    run_of(tmp_path, "pass")
    with pytest.raises(FileExistsError):
        run_of(tmp_path, "pass")


def test_ctrl_c_ends_the_tool_and_the_file_says_how(tmp_path):
    script = (
        "import signal, sys; from pathlib import Path\n"
        "from collectors.perf_test.run import RunDescription, RunRecording, record_run\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)  # the test runner may ignore SIGINT\n"
        f"file = Path({str(tmp_path / 'r.txt')!r})\n"
        "recording = RunRecording(run=RunDescription(run='r'), node='h', file=file)\n"
        "tool = [sys.executable, '-c', 'import time; print(1, flush=True); time.sleep(60)']\n"
        "sys.exit(record_run(tool, [], recording) != -2)"
    )
    process = subprocess.Popen([sys.executable, "-c", script], start_new_session=True)
    while not (tmp_path / "r.txt").exists() or b" 1\n" not in (tmp_path / "r.txt").read_bytes():
        time.sleep(0.02)
    for pid in (process.pid, *children(process.pid)):  # a terminal signals both
        os.kill(pid, signal.SIGINT)

    assert process.wait(20) == 0
    ended = json.loads((tmp_path / "r.txt").read_bytes().splitlines()[-1])["plumbline_run"]
    assert ended["exit_code"] == -signal.SIGINT


def test_sigterm_ends_the_tool_and_the_file_says_how(tmp_path):
    java = tmp_path / "java"
    java.write_text(f"#!{sys.executable}\nimport time; print(1, flush=True); time.sleep(60)\n")
    java.chmod(0o755)
    (tmp_path / "kafka").mkdir()
    (tmp_path / "kafka" / "kafka-clients-4.3.1.jar").touch()
    script = (
        "from pathlib import Path; from plumbline.cli import app; import conf.java\n"
        f"conf.java.JARS = Path({str(tmp_path)!r}); conf.java.java = lambda: {str(java)!r}\n"
        f"app(['perf-test', '--run', 'r', '--keep', {str(tmp_path / 'kept')!r}, '--', '--topic', 't'])"
    )
    process = subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"1\n"
    process.terminate()
    _, said = process.communicate(timeout=20)

    assert process.returncode == ExitCode.INTERRUPTED
    assert b"not published: `plumbline perf-test --file" in said
    (kept,) = (tmp_path / "kept").iterdir()
    ended = json.loads(kept.read_bytes().splitlines()[-1])["plumbline_run"]
    assert (ended["exit_code"], ended["client_version"]) == (-signal.SIGTERM, "4.3.1")


def children(pid):
    return [child.pid for child in psutil.Process(pid).children()]


def test_an_earlier_run_gets_no_timestamps_and_one_extra_line_that_describes_it(tmp_path):
    path = tmp_path / "may.txt"
    path.write_bytes(b"10 records sent\n20 records sent")

    description, *lines = lines_of(path, "host", RUN)

    assert json.loads(description.value)["plumbline_run"] == RUN.facts
    assert [line.value for line in lines] == [b"10 records sent", b"20 records sent"]
    assert len({line.position for line in (description, *lines)}) == 3
    assert {line.headers for line in (description, *lines)} == {RUN.headers}


def test_two_runs_may_begin_with_the_same_line(tmp_path):
    """A client with a constant rate prints the same figures each time."""
    path = tmp_path / "may.txt"
    path.write_bytes(b"10 records sent\n20 records sent")

    one, again, other = (
        {line.position for line in lines_of(path, "host", RunDescription(run=name))}
        for name in ("r1", "r1", "r2")
    )

    assert (one, len(one), one & other) == (again, 3, set())


def test_a_file_without_a_run_needs_the_option_run(tmp_path):
    (tmp_path / "may.txt").write_text("10 records sent\n")
    with pytest.raises(CollectorError, match="does not describe its run: add --run"):
        list(lines_of(tmp_path / "may.txt", "host"))


def test_secrets_are_not_kept():
    facts = parse_arguments(["--producer-props", 'sasl.jaas.config=X required password="hunter2";', "acks=1"])

    assert facts["configuration"] == ["--producer-props", "sasl.jaas.config=***", "acks=1"]


def test_missing_jars_are_an_error_that_names_the_present_ones(monkeypatch, tmp_path):
    monkeypatch.setattr("conf.java.JARS", tmp_path)
    with pytest.raises(CollectorError, match="fetch them with `make setup`"):
        command(None, [])
    for version in ("kafka-2.4.1", "kafka"):
        (tmp_path / version).mkdir()
    (tmp_path / "kafka" / "kafka-clients-4.3.1.jar").touch()

    assert f"{tmp_path}/kafka/*" in command("4.3.1", [])
    with pytest.raises(CollectorError, match=r"9\.9\.9 .*\(present: 2\.4\.1, 4\.3\.1\): run `make lab`"):
        command("9.9.9", [])


def test_a_failure_of_the_tool_or_of_plumbline_ends_with_1_and_names_the_cause(monkeypatch, tmp_path):
    """First the tool ends with 3, a code that Plumbline uses itself; then there is no Java."""
    monkeypatch.chdir(tmp_path)
    words = ["perf-test", "--run", "r", "--", "--topic", "t"]
    tool = [sys.executable, "-c", PRINTS.format(code=3)]
    monkeypatch.setattr("collectors.perf_test.cli.command", lambda *_, **__: tool)
    monkeypatch.setattr("conf.java.brokers_version", lambda: "4.3.1")
    of_tool = CliRunner().invoke(app, words)
    monkeypatch.setattr("collectors.perf_test.cli.command", command)
    monkeypatch.setattr("conf.java.JARS", tmp_path)
    of_plumbline = CliRunner().invoke(app, words)

    assert (of_tool.exit_code, of_plumbline.exit_code) == (ExitCode.FAILED, ExitCode.FAILED)
    assert "the tool failed with exit code 3" in of_tool.stderr
    assert "the tool failed" not in of_plumbline.stderr
    assert f"no Kafka jars in {tmp_path}" in of_plumbline.stderr


def test_wrong_settings_end_with_2(tmp_path):
    (tmp_path / "my.toml").write_text("[telemetry]\nbroker = 1\n")

    result = CliRunner().invoke(app, ["perf-test", "--conf", str(tmp_path / "my.toml"), "--file", "-"])

    assert (result.exit_code, "broker: unknown key" in result.stderr) == (2, True)


def test_undelivered_lines_end_with_1_and_are_named_next_to_a_failure_of_the_tool(monkeypatch, tmp_path):
    class Deaf:
        def __init__(self, _settings):
            self.send = lambda _line: None

        def finish(self):
            return SendResult(failures=["a line was not delivered"])

    monkeypatch.chdir(tmp_path)
    (tmp_path / "my.toml").write_text("[collector]\ncluster = 'lab'\n")
    monkeypatch.setattr("collectors.perf_test.cli.Sender", Deaf)
    monkeypatch.setattr("conf.java.brokers_version", lambda: "4.3.1")
    results = []
    for code in (0, 1):
        tool = [sys.executable, "-c", PRINTS.format(code=code)]
        monkeypatch.setattr("collectors.perf_test.cli.command", lambda *_, tool=tool, **__: tool)
        words = ["perf-test", "--run", "r", "--conf", "my.toml", "--", "--topic", "t"]
        results.append(CliRunner().invoke(app, words))

    assert [result.exit_code for result in results] == [ExitCode.FAILED, ExitCode.FAILED]
    assert ["the tool failed" in result.stderr for result in results] == [False, True]
    assert all("a line was not delivered" in result.stderr for result in results)


@pytest.mark.parametrize("own", [[], ["--command-config", "mine"], ["--producer.config=mine"]])
def test_the_tool_logs_in_as_the_settings_say_unless_it_has_a_file_of_the_user(monkeypatch, tmp_path, own):
    """The password is in a file while the tool runs, not in its arguments and not in the file of the run."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "password").write_text("hunter2")
    (tmp_path / "my.toml").write_text(
        "[collector]\ncluster = 'lab'\n[collector.cluster_security]\nsecurity_protocol = 'SASL_SSL'\n"
        "sasl_mechanism = 'PLAIN'\nsasl_username = 'load'\nsasl_password_file = 'password'\n"
    )
    given = []
    shows = "import sys; print(open(sys.argv[2]).read() if sys.argv[1:2] == ['--producer.config'] else '')"

    def tool(_version, arguments, *, options):
        given.append((arguments, options))
        return [sys.executable, "-c", shows, *arguments[len(own) + 2 :]]

    monkeypatch.setattr("collectors.perf_test.cli.command", tool)
    monkeypatch.setattr("collectors.perf_test.cli.Sender", lambda _: None)
    monkeypatch.setattr("conf.java.brokers_version", lambda: "4.3.1")
    result = CliRunner().invoke(
        app, ["perf-test", "--run", "r", "--conf", "my.toml", "--", "--topic", "t", *own]
    )
    ((arguments, _),) = given
    (kept,) = (tmp_path / ".state" / "perf-test").iterdir()

    assert result.exit_code == 0, result.output
    assert ('password="hunter2"' in kept.read_text()) == (own == [])  # printed by this tool alone
    assert "hunter2" not in " ".join(arguments)
    assert [word for word in arguments if word.startswith("--producer.config")] == (
        own if own and own[0].startswith("--producer") else [] if own else ["--producer.config"]
    )
    assert not any(Path(word).exists() for word in arguments if word.endswith(".properties"))


WRONG = {
    "nothing to run": [],
    "--run is required": ["--", "--topic", "t"],
    "use either --file": ["--run", "r", "--file", "-", "--", "--topic", "t"],
    "--conf is required": ["--run", "r", "--file", "-"],
    "--file /nonexistent: does not exist": ["--run", "r", "--file", "/nonexistent"],
    "--file /: is a folder": ["--file", "/"],
    "no jars of Kafka 9.9.9 in ": ["--run", "r", "--client-version", "9.9.9", "--", "--topic", "t"],
}


@pytest.mark.parametrize(("message", "words"), WRONG.items())
def test_wrong_options_are_reported_and_end_with_2(message, words):
    result = CliRunner().invoke(app, ["perf-test", *words])

    assert result.exit_code == 2
    assert message in result.stderr
