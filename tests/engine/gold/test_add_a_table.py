"""The example of docs/add-a-table.md: its files, as they are printed, are a gold table."""

import re
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
FILE = re.compile(r"```(?:python|json)\n(?:#|//) (?P<path>\S+)\n(?P<text>.*?)```", re.DOTALL)


@pytest.fixture
def example(tmp_path, monkeypatch):
    """Write the files of the page to a folder in which imports and the search for tables find them."""
    before = set(sys.modules)
    for file in FILE.finditer(PAGE.read_text()):
        path = tmp_path / file["path"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file["text"])
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
