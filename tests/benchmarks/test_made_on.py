"""The lines of docs/truth.md about date and tree of a recording."""

import json

import pytest

from benchmarks.pipeline import machine
from benchmarks.truth import record

META = {"cores": 2, "cpu": "some CPU", "memory_gib": 24, "load_before": 0.1, "is_changed": False}


@pytest.fixture(autouse=True)
def _judge(monkeypatch):
    judge = META | {"tree": "ccc", "measured_on": "2026-11-27"}
    monkeypatch.setattr(machine, "described", lambda **_: judge)


def _recorded(folder, tree, day):
    folder.mkdir(parents=True)
    (folder / record.META).write_text(json.dumps(META | {"tree": tree, "measured_on": f"2026-11-{day}"}))


def test_a_part_names_the_trees_of_its_recording_its_gold_and_its_judge(tmp_path):
    _recorded(tmp_path / "links", "aaa", 25)
    (tmp_path / "links" / "gold").mkdir()
    (tmp_path / "links" / "gold" / "done").write_text("bbb")

    assert record.made_on(tmp_path / "links").splitlines() == [
        "Recorded on 2026-11-25, tree `aaa`: 2 cores (some CPU), 24 GiB, load before 0.1.",
        "Judged on 2026-11-27: gold of tree `bbb`, verdicts and judge of tree `ccc`.",
    ]


def test_demos_of_several_trees_name_each_once(tmp_path):
    for nth, tree, day in ((1, "aaa", 25), (2, "aaa", 25), (3, "bbb", 26)):
        _recorded(tmp_path / f"{nth:02}", tree, day)

    assert [line[:34] for line in record.made_on(tmp_path).splitlines()] == [
        "Recorded on 2026-11-25, tree `aaa`",
        "Recorded on 2026-11-26, tree `bbb`",
        "Judged on 2026-11-27: verdicts and",
    ]


def test_a_recording_without_a_note_says_so(tmp_path):
    assert record.made_on(tmp_path).startswith("Tree and date of the recording were not noted.")


def test_a_recording_stores_its_tree(tmp_path):
    record.note_meta(tmp_path / "links")

    assert json.loads((tmp_path / "links" / record.META).read_text())["tree"] == "ccc"
