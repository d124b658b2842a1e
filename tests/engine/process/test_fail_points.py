"""Fail points: each name in the code is listed, and each listed point is reached somewhere."""

import ast

from conf.settings import PROJECT
from engine.process.fail_points import POINTS


def names_in(file):
    """Return the texts in the arguments of all calls of `reached`."""
    for call in ast.walk(ast.parse(file.read_text())):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "reached":
            yield from (
                text.value for arg in call.args for text in ast.walk(arg) if isinstance(text, ast.Constant)
            )


def test_the_listed_points_are_those_of_the_code():
    """A name that is not listed would end the job with an error as soon as any point is selected."""
    found = {name for file in (PROJECT / "engine").rglob("*.py") for name in names_in(file)}

    assert found == set(POINTS)
