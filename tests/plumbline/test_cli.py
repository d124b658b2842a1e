"""The command group: complete help, and no module that the help does not need."""

import re
import subprocess
import sys
import tomllib

import pytest
from typer.testing import CliRunner

from conf.settings import PROJECT
from plumbline.cli import COMMANDS, app

LOCK = PROJECT / "conf" / "locks" / "plumbline.lock"
HEAVY = ("pyspark", "pandas", "scipy", "plotly", "deltalake", "duckdb")
LIGHT = ("demo", "report", "compare", "dashboard", "collect", "perf-test", "experiment", "lab")


@pytest.mark.parametrize("name", COMMANDS)
def test_the_summary_of_a_command_is_the_beginning_of_its_own_help(name):
    loaded = COMMANDS[name].loaded(name)

    assert loaded.name == name
    assert COMMANDS[name].summary().split()
    assert loaded.help.split()[: len(COMMANDS[name].summary().split())] == COMMANDS[name].summary().split()


def first_word(command):
    return command.summary().replace("`", "").split()[0]


def test_the_help_lists_every_command_with_its_summary():
    shown = CliRunner().invoke(app, ["--help"]).output

    assert [name for name, of in COMMANDS.items() if first_word(of) not in shown] == []
    assert [name for name in COMMANDS if f" {name} " not in shown] == []


def test_an_unknown_command_is_refused_with_the_closest_name():
    result = CliRunner().invoke(app, ["reprot"])

    assert result.exit_code == 2
    assert "report" in result.output


def test_version_names_plumbline_spark_and_delta_as_they_are_locked():
    shown, helped = (CliRunner().invoke(app, [option]) for option in ("--version", "--help"))

    locked = dict(re.findall(r"^(pyspark|delta-spark)==(\S+)", LOCK.read_text(), re.MULTILINE))
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    assert (shown.exit_code, shown.output) == (
        0,
        f"Plumbline {project}, Spark {locked['pyspark']}, Delta {locked['delta-spark']}\n",
    )
    assert "Print the versions of Plumbline, Spark" in helped.output


@pytest.mark.parametrize(
    "words", [["--version"], ["--help"], *([name, "--help"] for name in LIGHT)], ids=" ".join
)
def test_help_and_version_import_no_heavy_library(words):
    code = (
        "import sys\nfrom typer.testing import CliRunner\nfrom plumbline.cli import app\n"
        f"assert CliRunner().invoke(app, {words!r}).exit_code == 0\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.strip() == "[]"
