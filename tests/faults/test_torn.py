"""Torn files of a stream's state, one of each fate; the campaign does them all, again and again."""

import random

import pytest

from tests.faults.torn import FAULTS

pytestmark = [pytest.mark.live, pytest.mark.faults]


@pytest.mark.parametrize("name", ["torn last offsets", "torn last entry of silver", "lost checkpoint"])
def test_a_torn_file_is_mended_or_named_and_nothing_is_lost_or_doubled(lab, tmp_path, name):
    assert FAULTS[name](lab.telemetry_bootstrap_servers, tmp_path, random.Random(3)) == []
