"""A log in a folder of its own."""

import pytest

from tests.collectors.made_log import Log


@pytest.fixture
def log(tmp_path):
    log = Log(tmp_path)
    yield log
    log.tailer.close()
