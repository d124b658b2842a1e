import pytest
from typer.testing import CliRunner

from lab.cli import app


def call(*arguments):
    return CliRunner().invoke(app, arguments)


@pytest.mark.parametrize(
    "command", ["start", "status", "stop", "run", "delay", "probe", "load", "request-log"]
)
def test_every_command_has_help_with_an_example(command):
    shown = call(command, "--help")

    assert shown.exit_code == 0
    assert "Example: plumbline lab" in shown.output.replace("`", "")


@pytest.mark.parametrize(
    "arguments", [("stop",), ("status",), ("run", "healthy"), ("delay", "2:1:10"), ("probe", "2", "1")]
)
def test_without_a_lab_each_command_says_how_to_start_one(tmp_path, arguments):
    told = call(*arguments, "--state", str(tmp_path))

    assert told.exit_code == 1
    assert "plumbline lab start" in told.output


@pytest.mark.parametrize("text", ["2:1", "a:1:3", "2:1:3:4"])
def test_a_delay_that_cannot_be_read_is_a_usage_error(text):
    told = call("delay", text)

    assert told.exit_code == 2
    assert "FOLLOWER:LEADER:MS" in told.output


def test_on_or_off_is_all_a_switch_knows():
    assert call("request-log", "maybe").exit_code == 2
