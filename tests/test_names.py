"""Each class name has one meaning: it is defined once."""

import ast
from collections import defaultdict

from conf.settings import PROJECT


def classes(files):
    """Return the places of each class name."""
    places = defaultdict(list)
    for file in files:
        for node in ast.walk(ast.parse(file.read_text(), file)):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(f"{file}:{node.lineno}")
    return places


def repeated(files):
    """Return the places of each class name that is defined more than once."""
    return {name: found for name, found in classes(files).items() if len(found) > 1}


def test_each_class_name_is_defined_once():
    rooms = [room for room in PROJECT.iterdir() if room.is_dir() and not room.name.startswith(".")]
    assert repeated([file for room in rooms for file in sorted(room.rglob("*.py"))]) == {}


def test_a_name_that_is_defined_twice_is_found(tmp_path):
    one, other = tmp_path / "one.py", tmp_path / "other.py"
    one.write_text("class Site: ...\nclass Once: ...\n")
    other.write_text("def f():\n    class Site: ...\n")

    assert repeated([one, other]) == {"Site": [f"{one}:1", f"{other}:2"]}
