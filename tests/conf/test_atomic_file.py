"""A file is written whole or not at all, also across a power cut."""

import os
from pathlib import Path

import pytest

from conf.atomic_file import write_atomically


def test_a_synced_file_is_on_disk_before_it_has_its_name_and_its_folder_after(tmp_path, monkeypatch):
    """Otherwise a power cut could leave an empty file, or the old name of a folder that was not synced."""
    steps, fsync, replace = [], os.fsync, Path.replace

    def noted(handle):
        steps.append(("sync", str(Path(f"/proc/self/fd/{handle}").readlink())))
        fsync(handle)

    def named(self, target):
        steps.append(("name", str(target)))
        return replace(self, target)

    monkeypatch.setattr(os, "fsync", noted)
    monkeypatch.setattr(Path, "replace", named)
    file = tmp_path / "folder" / "positions.json"
    write_atomically(file, "{}", is_synced=True)

    (first, draft), second, third = steps
    assert (first, Path(draft).parent) == ("sync", file.parent)
    assert (second, third) == (("name", str(file)), ("sync", str(file.parent)))
    assert [path.name for path in file.parent.iterdir()] == ["positions.json"]


def test_a_failure_leaves_the_old_file_and_no_draft(tmp_path, monkeypatch):
    file = tmp_path / "positions.json"
    file.write_text("old")
    monkeypatch.setattr(os, "fsync", lambda _: 1 / 0)

    with pytest.raises(ZeroDivisionError):
        write_atomically(file, "new", is_synced=True)

    assert file.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["positions.json"]


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o027, 0o640), (0o077, 0o600)])
def test_the_umask_decides_who_can_read_a_file(tmp_path, umask, mode):
    before = os.umask(umask)
    try:
        write_atomically(tmp_path / "new" / "report.html", "page")
    finally:
        os.umask(before)

    assert (tmp_path / "new" / "report.html").stat().st_mode & 0o777 == mode
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o777 & ~umask
