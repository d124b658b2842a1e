"""Retention that passes the checkpoint: stopped, accepted, noted once."""

import random

import pytest

from benchmarks.faults.gap import FAULTS

pytestmark = [pytest.mark.live, pytest.mark.faults]


@pytest.mark.parametrize("name", FAULTS)
def test_a_gap_stops_the_job_and_once_accepted_is_noted_exactly(lab, tmp_path, name):
    assert FAULTS[name](lab.telemetry_bootstrap_servers, tmp_path, random.Random(3)) == []
