"""The mark of a warehouse."""

import json

import pytest

from conf import warehouse_format
from conf.exit_codes import ExitCode
from conf.warehouse_format import FORMAT, MARK, WarehouseFormatError, check_format, mark_format


def write(root, text):
    (root / MARK).write_text(text)


def test_a_warehouse_without_a_mark_opens_and_is_marked_by_its_first_writer(tmp_path):
    check_format(tmp_path)
    assert not (tmp_path / MARK).exists()

    mark_format(tmp_path)

    assert json.loads((tmp_path / MARK).read_text()) == {"format": FORMAT, "plumbline": "0.1.0"}
    assert [file.name for file in tmp_path.iterdir()] == [MARK]


def test_a_mark_stays_as_it_is(tmp_path):
    """The version that wrote it is named to those that are older than the format, not to all."""
    write(tmp_path, '{"format": 1, "plumbline": "0.0.9"}')

    mark_format(tmp_path)

    assert json.loads((tmp_path / MARK).read_text())["plumbline"] == "0.0.9"


@pytest.mark.parametrize("use", [check_format, mark_format])
def test_a_newer_format_is_refused_with_both_versions_and_the_fix(tmp_path, monkeypatch, use):
    """An older Plumbline is this one with a smaller number."""
    monkeypatch.setattr(warehouse_format, "FORMAT", FORMAT + 1)
    monkeypatch.setattr(warehouse_format, "version", lambda: "0.2.0")
    mark_format(tmp_path)
    monkeypatch.undo()
    before = (tmp_path / MARK).read_text()

    with pytest.raises(WarehouseFormatError) as refused:
        use(tmp_path)

    assert refused.value.exit_code == ExitCode.WRONG
    message = str(refused.value)
    assert f"has format {FORMAT + 1}, which Plumbline 0.2.0 wrote. This is Plumbline 0.1.0" in message
    assert "install Plumbline 0.2.0 or newer" in message
    assert (tmp_path / MARK).read_text() == before


@pytest.mark.parametrize("text", ["", "\0" * 40, "{}", "[]", '{"format": "two", "plumbline": "0.2.0"}'])
def test_a_mark_that_cannot_be_read_is_not_a_missing_one(tmp_path, text):
    """An older Plumbline would write into a newer warehouse."""
    write(tmp_path, text)

    with pytest.raises(WarehouseFormatError, match=r"plumbline\.json cannot be read.*restore the file"):
        mark_format(tmp_path)

    assert (tmp_path / MARK).read_text() == text
