"""A full disk: told in one line, nothing half, and all well once there is room."""

import random

import pytest

from tests.faults.full_disk import FAULTS

pytestmark = [pytest.mark.live, pytest.mark.faults]


@pytest.mark.parametrize("name", FAULTS)
def test_a_disk_that_fills_up_loses_and_doubles_nothing(lab, tmp_path, name):
    assert FAULTS[name](lab.telemetry_bootstrap_servers, tmp_path, random.Random(3)) == []
