"""One set of exit codes: commands end with its codes, and docs/recovery.md lists all of them."""

import ast
import re

from conf.exit_codes import ExitCode
from conf.settings import PROJECT
from verdicts.overall import EXIT_CODES

ROOMS = ("collectors", "conf", "engine", "jobs", "lab", "plumbline", "serving")


def numbers(source):
    """Return the numbers other than 0 that a module gives to `typer.Exit` or to a name of an exit code."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "Exit":
            values = node.args
        elif isinstance(node, ast.Assign) and re.search(
            r"EXIT|_CODE|FAILED|WRONG", ast.unparse(node.targets[0])
        ):
            values = [value for value in ast.walk(node.value) if isinstance(value, ast.Constant)]
        else:
            continue
        yield from (
            value.value for value in values if isinstance(getattr(value, "value", None), int) and value.value
        )


def test_each_command_ends_with_a_code_of_the_set():
    files = sorted(file for room in ROOMS for file in (PROJECT / room).rglob("*.py"))
    files.remove(PROJECT / "conf" / "exit_codes.py")

    assert {str(file): found for file in files if (found := list(numbers(file.read_text())))} == {}


def test_a_code_of_its_own_is_found():
    assert list(numbers("raise typer.Exit(3)")) == [3]
    assert list(numbers("EXIT_TOOL, EXIT_WRONG = 1, 2")) == [1, 2]
    assert list(numbers("raise typer.Exit(0)\nraise typer.Exit(ExitCode.WRONG)\ncode = 3")) == []


def test_the_page_lists_each_code_once():
    table = (PROJECT / "docs" / "recovery.md").read_text().split("## ")[0]

    assert [int(code) for code in re.findall(r"^\| (\d+) \|", table, re.MULTILINE)] == [0, *ExitCode]


def test_verdicts_of_a_comparison_differ_from_wrong_use():
    assert ExitCode.NO_VERDICT not in EXIT_CODES.values()
    assert set(EXIT_CODES.values()) == {0, 1, 2, 3}
