"""A gzip bomb, both ways that it goes in the campaign; what watches them sees too much memory."""

import random

import pytest

from benchmarks.faults.lines import bombs
from benchmarks.faults.lines.bombs import FAULTS


@pytest.mark.live
@pytest.mark.faults
@pytest.mark.parametrize("name", FAULTS)
def test_a_bomb_is_told_for_what_it_is_and_the_lines_around_are_read(lab, tmp_path, name):
    assert FAULTS[name](lab.telemetry_bootstrap_servers, tmp_path, random.Random(3)) == []


@pytest.mark.parametrize(("most_mib", "told"), [(10_000, ""), (0, "--help: python took ")])
def test_a_program_that_takes_more_memory_than_it_may_is_found(monkeypatch, most_mib, told):
    monkeypatch.setattr(bombs, "MAX_MIB", {"python": most_mib})
    wrong = bombs.run("--help")

    assert [line.startswith(told) for line in wrong] == ([True] if told else [])


def test_a_command_that_fails_is_found():
    assert "no-such-word ended with exit code 2" in bombs.run("no-such-word")
