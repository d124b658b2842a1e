"""The example of docs/add-a-table.md: its files, as they are printed, are a gold table."""

import os
import re
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import schemas.gold
import transforms.gold
from conf.settings import PROJECT
from engine.delta import tables
from engine.gold.builder import gold_of
from engine.quality.rules import evaluate, suites_of
from schemas.declared import declared
from schemas.silver.requests import REQUESTS
from tests.engine.gold.gold_lab import GoldLab
from tests.transforms.gold.silver_rows import stream_of
from transforms.gold import builds

PAGE = PROJECT / "docs" / "add-a-table.md"
FILE = re.compile(r"^`(?P<path>\S+)`:\n\n```\w+\n(?P<text>.*?)```", re.DOTALL | re.MULTILINE)
NOT_COPIED = shutil.ignore_patterns(".*", "__pycache__", "data", "img")


def write_files(folder):
    for file in FILE.finditer(PAGE.read_text()):
        path = folder / file["path"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file["text"])


@pytest.fixture
def example(tmp_path, monkeypatch):
    """Write the files of the page to a folder in which imports and the search for tables find them."""
    before = set(sys.modules)
    write_files(tmp_path)
    for package, folder in ((schemas.gold, "schemas/gold"), (transforms.gold, "transforms/gold")):
        monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path / folder)])
    yield tmp_path
    for name in set(sys.modules) - before:
        if "request_load" in name:
            del sys.modules[name]


def test_its_files_are_found_built_and_checked(spark, example, tmp_path):
    found = {table.name for table in declared("schemas.gold", schemas.gold.__path__, "gold")}
    (build,) = (build for build in builds.declared() if build.name == "request_load")
    table = import_module("schemas.gold.request_load").REQUEST_LOAD
    assert "request_load" in found
    assert gold_of([build]) == (table,)

    lab = GoldLab.empty(spark, tmp_path / "lab", build)
    requests, _ = stream_of(40, leader=1, follower=2)
    for part in (requests[20:], requests[:25]):  # late, and partly twice
        lab.arrive(REQUESTS, part)
        lab.run()

    assert lab.gold() == lab.at_once()
    assert sum(row["n"] for row in lab.rows(table)) == len(requests)

    (suite,) = suites_of(example / Path("conf/expectations"), "gold")
    outcomes = evaluate(tables.read(spark, lab.warehouse, table), suite)
    assert [(of.rule, of.is_passed) for of in outcomes] == [("n_within_range", True)]


def test_a_tree_with_its_files_passes_the_tests_of_declared_tables(tmp_path):
    """They demand a build, rules, a question and metrics, or the reasons that the page gives."""
    tree = shutil.copytree(PROJECT, tmp_path / "tree", ignore=NOT_COPIED)
    write_files(tree)

    result = subprocess.run(
        [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", "tests/schemas"],
        cwd=tree,
        env=os.environ | {"PYTHONPATH": str(tree)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert result.returncode == 0, result.stdout
    assert "[request_load-metric] PASSED" in result.stdout
