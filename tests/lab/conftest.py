"""A laid out lab without processes."""

import pytest

from lab.layout import lay_out
from lab.ports import free_ports


@pytest.fixture
def laid_out(tmp_path):
    state = tmp_path / "lab"
    state.mkdir()
    return lay_out(state, 3, free_ports())
