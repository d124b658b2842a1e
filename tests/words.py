"""
Find words of the house dialect: `python -m tests.words [ROOM ...]`. Exit code 1: found some.

`shared/house-style.md` gives the reasons. Each pattern has the words to use instead.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from conf.settings import PROJECT

ROOMS = (
    *("engine", "jobs", "answers", "transforms", "schemas", "collectors", "lab"),
    *("serving", "plumbline", "conf", "dags"),
)

TEXT = {
    r"\btold\b(?!\":)": "reported, read, set, known",
    r"\bwhoever\b": "the process that, the user who",
    r"\bof ours\b": "our",
    r"\banew\b": "again",
    r"\bnobody\b": "no one, no culprit, no process",
    r"\bstands? (?:beside|behind)\b": "is next to, follows",
    r"\b(?:lies?|comes?|came|goes|go) behind\b": "follow, come after",
    r"\bminds\b": "removes, handles",
    r"\bwhom\b": "the client that, which broker",
    r"\bmend(?:s|ed)?\b(?!\()": "repair",
    r"\bso many\b": "at most N, N",
}
"""Patterns in comments, docstrings and messages, with the words to use instead."""

BEGINS = re.compile(r"(?:Give|Tell|Bring|Hand)\b")
"""First words of docstrings that say less than Return, Parse, Write."""

NAMES = frozenset(("told", "of", "its", "nth", "given", "asked", "kept", "said", "meant"))
"""Words that are no name of a public function, class or argument; `Kept` is an outcome of the parsers."""


def findings(file: Path) -> Iterator[str]:
    """Yield each finding of a Python file as `path:line: text`."""
    source = file.read_text()
    where = file.relative_to(PROJECT) if file.is_relative_to(PROJECT) else file
    for number, line in enumerate(source.splitlines(), 1):
        for pattern, instead in TEXT.items():
            if found := re.search(pattern, line, re.IGNORECASE):
                yield f"{where}:{number}: `{found[0]}`: write {instead}"
    for node in ast.walk(ast.parse(source)):
        at = 1 if isinstance(node, ast.Module) else getattr(node, "lineno", 0)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module):
            begin = (ast.get_docstring(node) or "").lstrip()
            if BEGINS.match(begin):
                yield f"{where}:{at}: docstring begins with `{begin.split()[0]}`: write Return"
        for name in _public_names(node):
            if name.lower() in NAMES and name != "Kept":
                yield f"{where}:{at}: `{name}` names nothing: use a noun of the field"


def _public_names(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        yield node.name
        if not node.name.startswith("_"):
            yield from (argument.arg for argument in (*node.args.args, *node.args.kwonlyargs))
    elif isinstance(node, ast.ClassDef):
        yield node.name


def main(rooms: list[str]) -> int:
    """Print the findings of the rooms; return their number."""
    files = sorted(file for room in rooms for file in (PROJECT / room).rglob("*.py"))
    found = [finding for file in files for finding in findings(file)]
    print("\n".join(found) or f"{len(files)} files, no word of the dialect")
    return len(found)


if __name__ == "__main__":
    sys.exit(min(1, main(sys.argv[1:] or list(ROOMS))))
