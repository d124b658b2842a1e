"""The count of errors: drawn arms are what they are said to be, and an error is counted as one."""

import json
from datetime import timedelta

import numpy as np
import pytest

from benchmarks.verdicts import page
from benchmarks.verdicts.noise import NOISES, arms
from benchmarks.verdicts.recorded import experiments_in, judged_live, resampled, values_of
from benchmarks.verdicts.simulate import Rate, changes, counted, drawn
from tests.verdicts.made_runs import BEGIN, run_of
from verdicts.verdict import Verdict


@pytest.mark.parametrize("is_blocked", [False, True])
def test_runs_of_a_drift_are_shared_out_by_chance(is_blocked):
    dice, higher = np.random.default_rng(1), 0
    for _ in range(400):
        baseline, contender = arms(dice, NOISES["drifting"], 8, is_blocked=is_blocked, spread=0.1)
        higher += baseline.mean() > contender.mean()

    assert 160 < higher < 240


def test_a_block_is_two_runs_that_follow_each_other():
    steps = np.arange(16.0) / 100
    baseline, contender = arms(
        np.random.default_rng(1), lambda _dice, _n: steps, 8, is_blocked=True, spread=1.0
    )

    assert np.abs(np.log(baseline / contender)) == pytest.approx([0.01] * 8)


def test_a_large_change_is_seen_and_no_change_seldom():
    seen = counted(drawn("normal", 8, is_blocked=False, spread=0.05, factor=0.8), 40, 1)
    null = counted(drawn("normal", 8, is_blocked=False, spread=0.05, factor=1.0), 40, 1)

    assert seen[Verdict.IMPROVED] == 40
    assert changes(null).hits <= 6


def test_a_rate_above_five_per_cent_is_told():
    cells = {("normal", False, n): Rate(hits=30, n=800) for n in range(3, 8)}

    assert page.false_changes(cells)[1]
    text, is_met = page.false_changes(cells | {("normal", False, 8): Rate(hits=80, n=800)})
    assert not is_met
    assert "**Missed: normal, 8 runs, no blocks.**" in text


def test_recorded_runs_are_drawn_once_each():
    values = np.arange(1.0, 17.0)
    of = resampled(values, 8, factor=2.0)(np.random.default_rng(1))

    assert sorted([*of.baseline, *(value / 2 for value in of.contender)]) == list(values)


def kept(folder, name, properties):
    """Write a frozen plan of two arms, `linger.ms` of each."""
    arms = [
        {"name": f"a{nth}", "client_version": None, "properties": of} for nth, of in enumerate(properties)
    ]
    (folder / name).mkdir()
    (folder / name / "experiment.json").write_text(json.dumps({"experiment": {"name": name, "arms": arms}}))


def test_real_experiments_are_judged_one_by_one_and_same_arms_are_known_by_their_plan(tmp_path):
    kept(tmp_path, "null", [{"linger.ms": "5"}] * 2)
    kept(tmp_path, "shift", [{"linger.ms": "5"}, {"linger.ms": "6"}])
    kept(tmp_path, "three", [{}] * 3)
    experiments = experiments_in(tmp_path)
    scatter = (1.0, 1.02, 0.99, 1.01, 0.98, 1.03, 1.0, 0.97)
    runs = [
        run_of(
            f"{of.name}-{nth}",
            arm,
            100 * one * (1.2 if arm == "a1" and not of.is_null else 1.0) + place / 100,
            scenario=of.name,
            started_at=BEGIN + timedelta(minutes=4 * nth + 2 * (place ^ nth % 2)),
        )
        for of in experiments
        for nth, one in enumerate(scatter)
        for place, arm in enumerate((of.baseline, of.contender))
    ]

    told = judged_live(experiments, runs)
    assert [(of.experiment.name, of.experiment.is_null, of.blocks) for of in told] == [
        ("null", True, 8),
        ("shift", False, 8),
    ]
    assert told[1].judged.verdict is Verdict.REGRESSED
    assert told[1].judged.change == pytest.approx(0.2, abs=0.01)
    text = page.live(told)
    assert "Of 1 experiments whose arms are the same but for their names 0 were called different" in text
    assert len(values_of(runs)["avg_ms"]) == 32
    assert page.live([]) == ""
