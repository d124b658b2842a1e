"""A laid out lab without processes, and a start that waits for no real one."""

import pytest

from lab.layout import lay_out
from lab.ports import free_ports


@pytest.fixture
def laid_out(tmp_path):
    state = tmp_path / "lab"
    state.mkdir()
    return lay_out(state, 3, free_ports())


@pytest.fixture(autouse=True)
def _own_lock_of_starts(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
