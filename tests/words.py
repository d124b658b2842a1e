"""
Find words of the house dialect: `python -m tests.words [ROOM or FILE ...]`. Exit code 1: found some.

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
    *("serving", "plumbline", "conf", "dags", "verdicts", "benchmarks"),
)

GENERATED = (
    *("tables", "faults", "performance", "sizing", "truth", "truth-throttles", "verdicts"),
    "cost-of-logging",
)
"""Pages that programs write; their texts are in `schemas`, and in the templates of `benchmarks`."""

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

PAGES = TEXT | {
    r"\bbeside\b": "next to",
    r"\bours\b": "our, Plumbline's",
    r"\b(?:any|some)body\b": "a user, a process",
}
"""Patterns in Markdown."""

SUFFIXES = (".py", ".md", ".j2", ".json", ".toml", ".yml", ".sh", ".css", ".js")

BEGINS = re.compile(r"(?:Give|Tell|Bring|Hand)\b")
"""First words of docstrings that say less than Return, Parse, Write."""

NAMES = frozenset(("told", "of", "its", "nth", "given", "asked", "kept", "said", "meant"))
"""Words that are no name of a public function, class, field or argument; parsers return `Kept`."""

CLASSES = frozenset(("Plan", "Part"))
"""Class names that say nothing without another noun."""


def findings(file: Path) -> Iterator[str]:
    """Yield each finding of a Python file, a page or a template as `path:line: text`."""
    source = file.read_text()
    where = file.relative_to(PROJECT) if file.is_relative_to(PROJECT) else file
    for number, line in enumerate(source.splitlines(), 1):
        for pattern, instead in (TEXT if file.suffix == ".py" else PAGES).items():
            if found := re.search(pattern, line, re.IGNORECASE):
                yield f"{where}:{number}: `{found[0]}`: write {instead}"
    if file.suffix == ".py":
        yield from (f"{where}:{finding}" for finding in _of_code(ast.parse(source)))


def _of_code(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        at = 1 if isinstance(node, ast.Module) else getattr(node, "lineno", 0)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module):
            begin = (ast.get_docstring(node) or "").lstrip()
            if BEGINS.match(begin):
                yield f"{at}: docstring begins with `{begin.split()[0]}`: write Return"
        for name in _public_names(node):
            if name in CLASSES or (name.lower() in NAMES and name != "Kept"):
                yield f"{at}: `{name}` names nothing: use a noun of the field"


def _public_names(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        yield node.name
        if not node.name.startswith("_"):
            yield from _argument_names(node.args)
    elif isinstance(node, ast.Lambda):
        yield from _argument_names(node.args)
    elif isinstance(node, ast.ClassDef):
        yield node.name
        fields = (statement.target for statement in node.body if isinstance(statement, ast.AnnAssign))
        yield from (target.id for target in fields if isinstance(target, ast.Name))


def _argument_names(arguments: ast.arguments) -> Iterator[str]:
    starred = (argument for argument in (arguments.vararg, arguments.kwarg) if argument)
    every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *starred)
    yield from (argument.arg for argument in every)


def _pages() -> list[Path]:
    docs = PROJECT / "docs"
    every = (*PROJECT.glob("*.md"), *docs.glob("*.md"), *docs.glob("questions/*.md"))
    return [page for page in every if page.stem not in (*GENERATED, "CHANGELOG")]


def main(places: list[str]) -> int:
    """Print the findings of rooms or files; return their number."""
    named = [PROJECT / place for place in places or ROOMS]
    if missing := [str(place) for place in named if not place.exists()]:
        sys.exit(f"not found: {', '.join(missing)}")
    files = [file for place in named for file in (place.rglob("*") if place.is_dir() else [place])]
    files += [] if places else _pages()
    files = sorted(file for file in files if file.suffix in SUFFIXES)
    found = [finding for file in files for finding in findings(file)]
    print("\n".join(found) or f"{len(files)} files, no word of the dialect")
    return len(found)


if __name__ == "__main__":
    sys.exit(min(1, main(sys.argv[1:])))
