"""Two drivers on one checkpoint, with the lease and without."""

import random

import pytest

from tests.faults.two_drivers import FAULTS

pytestmark = [pytest.mark.live, pytest.mark.faults]


@pytest.mark.parametrize("name", FAULTS)
def test_a_second_driver_doubles_nothing(lab, tmp_path, name):
    assert FAULTS[name](lab.telemetry_bootstrap_servers, tmp_path, random.Random(3)) == []
