"""Figures of the freshness benchmark: quantiles, blocks, and the growth of the backlog."""

import dataclasses

import numpy as np
import pytest

from benchmarks.pipeline.arms import lateness
from benchmarks.pipeline.arms.lateness import SeenLines, figures

DURATION_S = 360.0
CORES = {"ingest": 0.5, "build-gold": 0.25}


def _seen(*, late_s, per_s=10.0, warm_s=60.0, batches=None):
    appended_at = 1e9 + np.arange(0, warm_s + DURATION_S, 1 / per_s)
    return SeenLines(
        per_s=per_s,
        measured_from=1e9 + warm_s,
        appended_at=appended_at,
        visible_at={"silver": appended_at + late_s(appended_at - 1e9), "gold": appended_at + 10},
        batches=batches or {"silver": 180, "gold": 36},
        usage={name: {"cores": cores, "peak_gb": 1.0} for name, cores in CORES.items()},
    )


def test_lines_of_the_warm_up_do_not_count():
    slow_at_first = _seen(late_s=lambda at: np.where(at < 60, 100.0, 2.0))

    found = figures(slow_at_first)

    assert found["lines"] == 3_600
    assert found["silver"]["p50_s"] == pytest.approx([2, 2, 2])
    assert found["gold"]["p50_s"] == pytest.approx([10, 10, 10])


def test_the_cost_of_a_million_lines_is_the_cores_times_the_seconds_of_a_million_lines():
    found = figures(_seen(late_s=lambda at: 2.0 + 0 * at))

    assert found["cpu_s_per_million"] == pytest.approx({"ingest": 50_000, "build-gold": 25_000}, rel=1e-3)


def test_the_blocks_of_a_layer_are_as_long_as_three_of_its_batches():
    found = figures(_seen(late_s=lambda at: 2.0 + 0 * at, batches={"silver": 180, "gold": 9}))

    assert (found["silver"]["blocks"], found["gold"]["blocks"]) == (6, 3)


def test_the_backlog_of_a_layer_that_keeps_up_does_not_grow():
    found = figures(_seen(late_s=lambda at: 2.0 + 0 * at))

    assert found["silver"]["backlog_of_thirds"] == pytest.approx([20, 20, 20], abs=1)


def test_the_backlog_of_a_layer_that_is_too_slow_grows():
    # A fifth of the lines of each second remain.
    found = figures(_seen(late_s=lambda at: 0.25 * at))

    first, middle, last = found["silver"]["backlog_of_thirds"]
    assert found["silver"]["backlog_growth"] == pytest.approx(0.2, rel=0.01)
    assert first < middle < last
    assert found["silver"]["p50_of_thirds_s"] == pytest.approx([30, 60, 90], rel=0.01)


def test_the_growth_has_the_interval_of_the_blocks_of_the_first_and_last_third():
    # Six blocks of 60 s at 10 lines/s; a line waits 1, 2, 3, 4, 5 and 6 s, so 10 to 60 lines wait.
    found = figures(_seen(late_s=lambda at: 1.0 + (np.maximum(at - 60, 0) // 60)))

    low, high, n = found["silver"]["growth_interval"]
    # Means 15 and 55, variances 50: 40 lines, and t of two degrees of freedom times sqrt((50 + 50) / 2).
    half = 4.3027 * np.sqrt(50) / 2_400
    assert n == 4
    assert found["silver"]["backlog_growth"] == pytest.approx(40 / 2_400, rel=0.05)
    assert (low, high) == pytest.approx((40 / 2_400 - half, 40 / 2_400 + half), rel=0.05)


def test_the_growth_of_few_blocks_has_no_interval():
    found = figures(_seen(late_s=lambda at: 2.0 + 0 * at, batches={"silver": 15, "gold": 15}))

    assert found["silver"]["blocks"] == 5
    assert np.isnan(found["silver"]["growth_interval"][0])
    assert found["silver"]["growth_interval"][2] == 1


def test_a_run_without_gold_has_only_figures_of_silver():
    both = _seen(late_s=lambda at: 2.0 + 0 * at)
    seen = dataclasses.replace(both, visible_at={"silver": both.visible_at["silver"]})

    found = figures(seen)

    assert "gold" not in found
    assert found["with_gold"] is False


def test_a_line_that_never_became_visible_is_the_latest():
    found = figures(_seen(late_s=lambda at: np.where(at < 300, 2.0, np.nan)))

    assert found["silver"]["never"] == 1_200
    assert found["silver"]["p50_s"][0] == pytest.approx(2)
    assert found["silver"]["p99_s"][0] == np.inf
    assert found["silver"]["p50_of_thirds_s"][2] == np.inf


def test_the_interval_of_six_blocks_is_that_of_student():
    block = np.repeat(np.arange(6), 11)
    late_s = np.concatenate([np.full(11, s) for s in (1.0, 2.0, 2.0, 2.0, 2.0, 4.0)])

    middle, low, high = lateness.with_interval(late_s, block, 0.5)

    # Two of six logarithms are ln 2 away: sqrt(2 ln(2)^2 / 5 / 6) times 2.571.
    half = 2.5706 * np.sqrt(2 / 30) * np.log(2)
    assert (middle, low, high) == pytest.approx((2, 2 * np.exp(-half), 2 * np.exp(half)), rel=1e-4)


def test_two_blocks_have_no_interval():
    block = np.array([0, 0, 0, 1, 1, 1])

    middle, low, high = lateness.with_interval(np.array([1.0, 2.0, 3.0, 1.0, 2.0, 3.0]), block, 0.5)

    assert middle == 2
    assert np.isnan([low, high]).all()
