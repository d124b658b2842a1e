"""A million spoiled lines through Kafka, bronze and silver: nothing lost, changed or stalled."""

import random

import pytest

from tests.faults.mutations import million_mutated_lines

pytestmark = [pytest.mark.live, pytest.mark.faults]

SEED = 4


@pytest.mark.timeout(7_200)
def test_a_million_spoiled_lines_pass_and_each_is_accounted_for(lab, tmp_path):
    wrong = million_mutated_lines(lab.telemetry_bootstrap_servers, tmp_path, random.Random(SEED))

    print((tmp_path / "mutations.json").read_text())  # noqa: T201 (the figures it is run for)
    assert wrong == []
