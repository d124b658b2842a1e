"""Each class name has one meaning: no other class and no type alias has it."""

import ast
from collections import defaultdict

from conf.settings import PROJECT


def defined(node):
    """Return the names that a statement gives to classes or type aliases, and whether they are classes."""
    if isinstance(node, ast.ClassDef):
        return [node.name], True
    if not isinstance(node, ast.Assign | ast.AnnAssign):
        return [], False
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    names = [target.id for target in targets if isinstance(target, ast.Name)]
    # A capital name that a call returns is a class of a factory, such as `row_type`.
    return [name for name in names if is_class_name(name)], isinstance(node.value, ast.Call)


def is_class_name(name):
    return name.lstrip("_")[:1].isupper() and not name.isupper()


def repeated(files):
    """Return the places of each class name that another class or a type alias has, too."""
    places, classes = defaultdict(list), set()
    for file in files:
        for node in ast.walk(ast.parse(file.read_text(), file)):
            names, is_class = defined(node)
            classes.update(names if is_class else ())
            for name in names:
                places[name].append(f"{file}:{node.lineno}")
    return {name: found for name, found in places.items() if name in classes and len(found) > 1}


def test_each_class_name_is_defined_once():
    rooms = [room for room in PROJECT.iterdir() if room.is_dir() and not room.name.startswith(".")]
    assert repeated([file for room in rooms for file in sorted(room.rglob("*.py"))]) == {}


def test_a_name_that_is_defined_twice_is_found(tmp_path):
    one, other = tmp_path / "one.py", tmp_path / "other.py"
    one.write_text(
        "class Site: ...\nclass Once: ...\nMove = row_type('Move', 'topic')\nPair = tuple[int, int]\n"
    )
    other.write_text(
        "def f():\n    class Site: ...\nMove = dict[str, int]\nPair = tuple[str, str]\n"
        "Once: TypeAlias = Pair | None\n"
    )

    assert repeated([one, other]) == {
        "Site": [f"{one}:1", f"{other}:2"],
        "Move": [f"{one}:3", f"{other}:3"],
        "Once": [f"{one}:2", f"{other}:5"],
    }
