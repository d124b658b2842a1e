"""The command group: complete help, and no module that the help does not need."""

import subprocess
import sys

import pytest
from typer.testing import CliRunner

from plumbline.cli import COMMANDS, app

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


@pytest.mark.parametrize("words", [[], *([name] for name in LIGHT)], ids=" ".join)
def test_help_imports_no_heavy_library(words):
    code = (
        "import sys\nfrom typer.testing import CliRunner\nfrom plumbline.cli import app\n"
        f"assert CliRunner().invoke(app, {[*words, '--help']!r}).exit_code == 0\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.strip() == "[]"
