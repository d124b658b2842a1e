"""Jobs killed in steady work, and lines sent again or late: nothing is lost, doubled or counted otherwise."""

import random

import pytest

from benchmarks.faults import plan
from benchmarks.faults.lines.resent import FAULTS

SEED = 7

SHORT = {entry.name: entry.run for entry in plan.short()} | {
    name: plan.of_list(fault) for name, fault in FAULTS.items()
}


@pytest.mark.live
@pytest.mark.faults
@pytest.mark.parametrize("name", SHORT)
def test_it_does_no_harm(name, lab, tmp_path):
    outcome = SHORT[name](lab.telemetry_bootstrap_servers, tmp_path, random.Random(SEED))

    assert outcome.wrong == []
