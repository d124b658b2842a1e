"""Power cuts: the disk that loses what was not synced, and jobs that lose nothing on it."""

import os
import random
import subprocess
import sys

import pytest

from benchmarks.faults.power.cuts import COPIES, power_cuts
from benchmarks.faults.power.disk import PowerDisk

WORK = """
import os
def sync(path):
    handle = os.open(path, os.O_RDONLY)
    os.fsync(handle)
    os.close(handle)
def write(path, text):
    with open(path, "a") as file:
        file.write(text)
write("synced", "s"); sync("synced")
os.mkdir("folder"); write("folder/synced", "f"); sync("folder/synced"); sync("folder"); sync(".")
write("folder/without-its-name", "n"); sync("folder/without-its-name")
write("without-its-content", "content"); sync(".")
write("synced", " and more")
write("new", "new"); sync("new"); os.rename("new", "renamed")
os.remove("removed")
"""
SURE = {"synced": b"s", "folder/synced": b"f", "without-its-content": b"", "removed": b"old"}


def left_after(tmp_path, dice):
    """Work on a disk, cut its power, and return the files that are left."""
    root = tmp_path / "root"
    root.mkdir()
    (root / "removed").write_text("old")
    disk = PowerDisk(root, tmp_path / "state")
    subprocess.run([sys.executable, "-c", WORK], cwd=root, env=os.environ | disk.variables, check=True)
    disk.cut(dice)
    assert disk.lost
    return {str(file.relative_to(root)): file.read_bytes() for file in root.rglob("*") if file.is_file()}


class Strict(random.Random):
    """Dice that let nothing survive that was not synced."""

    def random(self):
        """Return 1."""
        return 1.0


def test_a_power_cut_takes_all_names_and_contents_that_were_not_synced(tmp_path):
    assert left_after(tmp_path, Strict()) == SURE


def test_some_of_what_was_not_synced_can_survive_and_nothing_synced_is_lost(tmp_path):
    seen = set()
    for seed in range(12):
        (folder := tmp_path / str(seed)).mkdir()
        left = left_after(folder, random.Random(seed))
        assert left["synced"] in {b"s", b"s and more"}
        assert left["folder/synced"] == b"f"
        assert left["without-its-content"] in {b"", bytes(7), b"content"}
        assert left.get("renamed", b"new") == b"new"
        seen |= {name for name in ("removed", "renamed", "folder/without-its-name") if name in left}
    assert seen == {"removed", "renamed", "folder/without-its-name"}


@pytest.mark.live
@pytest.mark.faults
def test_ingest_and_gold_lose_and_double_nothing_in_power_cuts(lab, tmp_path):
    outcome = power_cuts(1, lab.telemetry_bootstrap_servers, tmp_path, random.Random(3))

    assert outcome.wrong == []
    assert len(outcome.hits) == 1 + COPIES
