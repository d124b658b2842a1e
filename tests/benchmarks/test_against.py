"""Two trees are compared, in turns or within each minute; the process of a tree that ends is named."""

from types import SimpleNamespace

import pytest

from benchmarks.pipeline import against, against_quiet, programs
from benchmarks.pipeline.arms.lateness import GOLD, SILVER, VERDICT
from benchmarks.pipeline.arms.scale import SHORT

LAB = SimpleNamespace(telemetry_bootstrap_servers="127.0.0.1:1", state="lab")
LAYERS = (SILVER, GOLD, VERDICT)
ARMS = (against.INGEST, against.GOLD, against.CONSUMER)


def costs(tree, number, cpu_s):
    """Return the costs of a round of a tree."""
    return [
        {"tree": tree, "round": number, "arm": arm, "cpu_s_per_million": cpu_s, "wall_s": 1.0} for arm in ARMS
    ]


def line(section, name):
    """Return the line of an arm and figure."""
    return next(line for line in section.splitlines() if line.startswith(f"| {name} |"))


def checkout(folder, script):
    """Return a checkout whose Python is a shell script."""
    python = folder / programs.PYTHON
    python.parent.mkdir(parents=True)
    python.write_text(f"#!/bin/sh\n{script}\n")
    python.chmod(0o755)
    return folder


def test_ratios_are_those_within_rounds_without_the_warm_up():
    rows = [
        cost
        for number, slow in ((0, 50.0), (1, 1.0), (2, 4.0))
        for tree, factor in ((against.THIS, 1.1), (against.OTHER, 1.0))
        for cost in costs(tree, number, slow * factor * (9.0 if number == 0 and factor > 1 else 1.0))
    ]

    section = against.section(rows, 1_000_000, "abcdef01")

    assert "| 1.100 (1.100 to 1.100) |" in line(section, "ingest, CPU-s")
    assert "| 1.000 (1.000 to 1.000) |" in line(section, "gold, wall s")
    assert "`abcdef01`, in turns on one broker: 2 rounds after" in section


def test_a_quiet_cluster_is_compared_within_each_minute():
    def used(factor):
        return {"cores_of_blocks": [0.1 * factor, 0.4 * factor], "peak_gb": 1.0 * factor}

    programs_used = {
        f"{program} of {name}": used(factor)
        for program in (programs.INGEST, programs.GOLD)
        for name, factor in ((against.THIS, 1.1), (against.OTHER, 1.0))
    }
    figures = {
        name: {"usage": programs_used}
        | {layer: {"p50_s": [at_s, at_s / 2, at_s * 2], "p99_s": [9.0, 8.0, 10.0]} for layer in LAYERS}
        for name, at_s in ((against.THIS, 3.0), (against.OTHER, 2.0))
    }

    section = against_quiet.section(figures, SHORT, "abcdef01")

    assert "| 1.100 (1.100 to 1.100) |" in line(section, "ingest, cores")
    assert line(section, "build-gold, peak memory, GB").endswith("| 1.10 | 1.00 | 1.100 |")
    assert line(section, "verdict, p50 s").endswith("| 3.00 (1.50 to 6.00) | 2.00 (1.00 to 4.00) | 1.500 |")
    assert "over 2 blocks" in section


def test_a_round_is_asked_of_the_process_of_a_tree(tmp_path):
    tree = checkout(
        tmp_path / "tree", """echo '"ready"'; while read n; do echo "[{\\"round\\": $n}]"; done"""
    )
    with against._measuring(tree, LAB, tmp_path, tmp_path / "runs", 10) as run_round:
        assert [run_round(3), run_round(4)] == [[{"round": 3}], [{"round": 4}]]


def test_a_process_that_ends_is_named_with_its_exit_code(tmp_path):
    tree = checkout(tmp_path / "tree", "exit 3")
    with (
        pytest.raises(RuntimeError, match=f"measures {tree} has ended with 3"),
        against._measuring(tree, LAB, tmp_path, tmp_path / "runs", 10),
    ):
        pass
