"""What the freshness benchmark makes of instants: quantiles, blocks, and whether lines pile up."""

import numpy as np
import pytest

from benchmarks.pipeline import lateness
from benchmarks.pipeline.lateness import Seen, told

DURATION_S = 360.0


def _seen(*, late_s, per_s=10.0, warm_s=60.0, batches=None):
    appended_at = 1e9 + np.arange(0, warm_s + DURATION_S, 1 / per_s)
    return Seen(
        per_s=per_s,
        measured_from=1e9 + warm_s,
        appended_at=appended_at,
        silver_at=appended_at + late_s(appended_at - 1e9),
        gold_at=appended_at + 10,
        batches=batches or {"silver": 180, "gold": 36},
        cores={"ingest": 0.5, "build-gold": 0.25},
    )


def test_only_what_is_appended_behind_warming_up_counts():
    slow_at_first = _seen(late_s=lambda at: np.where(at < 60, 100.0, 2.0))

    figures = told(slow_at_first)

    assert figures["lines"] == 3_600
    assert figures["silver"]["p50_s"] == pytest.approx([2, 2, 2])
    assert figures["gold"]["p50_s"] == pytest.approx([10, 10, 10])


def test_a_million_lines_cost_what_the_cores_do_in_the_time_that_they_come_in():
    figures = told(_seen(late_s=lambda at: 2.0 + 0 * at))

    assert figures["cpu_s_per_million"] == pytest.approx({"ingest": 50_000, "build-gold": 25_000}, rel=1e-3)


def test_each_layer_has_blocks_as_long_as_three_of_its_batches():
    figures = told(_seen(late_s=lambda at: 2.0 + 0 * at, batches={"silver": 180, "gold": 9}))

    assert (figures["silver"]["blocks"], figures["gold"]["blocks"]) == (6, 3)


def test_lines_that_keep_up_stay_as_far_behind():
    figures = told(_seen(late_s=lambda at: 2.0 + 0 * at))

    assert figures["silver"]["behind_of_thirds"] == pytest.approx([20, 20, 20], abs=1)


def test_lines_that_fall_behind_pile_up_and_grow_older():
    # A fifth of the lines of each second is left over.
    figures = told(_seen(late_s=lambda at: 0.25 * at))

    first, middle, last = figures["silver"]["behind_of_thirds"]
    assert (last - first) / 2_400 == pytest.approx(0.2, rel=0.01)
    assert first < middle < last
    assert figures["silver"]["p50_of_thirds_s"] == pytest.approx([30, 60, 90], rel=0.01)


def test_a_line_that_was_never_seen_is_later_than_all():
    figures = told(_seen(late_s=lambda at: np.where(at < 300, 2.0, np.nan)))

    assert figures["silver"]["never"] == 1_200
    assert figures["silver"]["p50_s"][0] == pytest.approx(2)
    assert figures["silver"]["p99_s"][0] == np.inf
    assert figures["silver"]["p50_of_thirds_s"][2] == np.inf


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
