"""The five words: which runs get which, and what the published runs of KIP-951 get."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from verdicts.verdict import MeasuredMetric, Verdict, VerdictRule, judged

PUBLISHED = Path(__file__).parents[1] / "data" / "published" / "kip951_leader_change.jsonl"
RULE = VerdictRule()
STEADY = [100, 101, 102, 99, 98, 103, 97, 104]


def one(baseline, contender, *, is_lower_better=True, is_blocked=True, rule=RULE, **more):
    of = MeasuredMetric(
        metric="p99_ms",
        baseline=baseline,
        contender=contender,
        is_lower_better=is_lower_better,
        is_blocked=is_blocked,
        **more,
    )
    return judged([of], rule)[0]


@pytest.mark.parametrize(
    ("factor", "is_lower_better", "verdict"),
    [
        (0.8, True, Verdict.IMPROVED),
        (1.25, True, Verdict.REGRESSED),
        (0.8, False, Verdict.REGRESSED),
        (1.25, False, Verdict.IMPROVED),
    ],
)
def test_a_change_beyond_the_spread_is_named_for_its_direction(factor, is_lower_better, verdict):
    told = one(STEADY, [factor * of for of in reversed(STEADY)], is_lower_better=is_lower_better)

    assert told.verdict is verdict
    assert told.change == pytest.approx(factor - 1, abs=0.02)
    assert told.low < factor - 1 < told.high


def test_what_lies_within_the_tolerance_is_equivalent_even_where_ranks_tell_a_change():
    contender = [of * 0.995 for of in STEADY]

    told = one(STEADY, contender)

    assert told.verdict is Verdict.EQUIVALENT
    assert told.p < 0.05
    assert one(STEADY, contender, rule=VerdictRule(tolerance=0.004)).verdict is Verdict.IMPROVED


def test_wide_spread_is_inconclusive_and_says_how_many_more_runs():
    dice = np.random.default_rng(2)
    told = one(100 * np.exp(dice.normal(0, 0.3, 6)), 100 * np.exp(dice.normal(-0.3, 0.3, 6)))

    assert told.verdict is Verdict.INCONCLUSIVE
    assert told.more_runs > 6
    assert f"about {told.more_runs} more of each" in told.reason


def test_doubts_are_all_that_is_told_of_an_invalid_metric():
    told = one(STEADY, STEADY, doubts=["run r3 reached 81 % of the rate asked"])

    assert (told.verdict, told.reason, told.p) == (
        Verdict.INVALID,
        "run r3 reached 81 % of the rate asked",
        None,
    )


def test_p_is_adjusted_for_the_number_of_metrics():
    runs = {"is_lower_better": True, "is_blocked": False}
    changed = MeasuredMetric(metric="a", baseline=[100, 101, 102, 99], contender=[90, 91, 92, 89], **runs)
    same = MeasuredMetric(metric="b", baseline=[100, 120, 90, 99], contender=[101, 119, 91, 98], **runs)

    assert judged([changed], VerdictRule())[0].verdict is Verdict.IMPROVED
    alone, with_others = judged([changed], VerdictRule())[0], judged([changed, same, same], VerdictRule())[0]
    assert alone.p_adjusted == pytest.approx(alone.p)
    assert with_others.p_adjusted == pytest.approx(3 * alone.p)
    assert with_others.verdict is Verdict.INCONCLUSIVE


def test_published_three_against_three_is_inconclusive():
    arms: dict[str, list[float]] = {}
    for line in PUBLISHED.read_text().splitlines():
        row = json.loads(line)
        arms.setdefault(row["arm"], []).append(float(re.search(r"([\d.]+) ms 99\.9th", row["line"])[1]))

    told = one(arms["baseline"], arms["kip-951"], is_blocked=False)

    assert told.verdict is Verdict.INCONCLUSIVE
    assert (told.low, told.high, told.more_runs) == (None, None, 1)
    assert "are too few for any verdict" in told.reason
    mean_change = np.mean(arms["kip-951"]) / np.mean(arms["baseline"]) - 1
    assert mean_change == pytest.approx(-0.872, abs=0.0005)


def test_a_step_of_rounding_that_is_wider_than_the_tolerance_is_never_equivalent():
    same = [6, 6, 6, 6, 6, 6, 6, 6]

    assert one(same, same).verdict is Verdict.EQUIVALENT
    told = one(same, same, step=1.0)
    assert told.verdict is Verdict.INCONCLUSIVE
    assert (told.low, told.high) == (pytest.approx(-1 / 6), pytest.approx(1 / 6))
    assert "a step of rounding is 17 %, so nothing within 5 % shows" in told.reason
    assert (
        one([600 + n for n in range(8)], [600 + n for n in range(8)], step=1.0).verdict is Verdict.EQUIVALENT
    )


def test_a_baseline_of_zero_has_no_share():
    told = one([0, 0, 0, 0, 0, 0, 0, 0], STEADY)

    assert (told.verdict, told.reason) == (
        Verdict.INVALID,
        "the baseline's median is 0: a change is no share of it",
    )


def test_a_change_that_may_be_within_the_tolerance_says_so():
    told = one(STEADY, [of * 0.94 for of in STEADY])

    assert told.verdict is Verdict.IMPROVED
    assert "but not one of 5 %" not in told.reason
    near = one([100 + n / 2 for n in range(8)], [(100 + n / 2) * (0.97 - n / 200) for n in range(8)])
    assert near.verdict is Verdict.IMPROVED
    assert "ranks leave out no change, but not one of 5 %" in near.reason


def test_eight_metrics_together_find_as_few_changes_as_one():
    dice, false = np.random.default_rng(3), 0
    for _ in range(150):
        family = [
            MeasuredMetric(
                metric=f"m{nth}",
                baseline=list(np.exp(dice.normal(size=5))),
                contender=list(np.exp(dice.normal(size=5))),
                is_lower_better=True,
                is_blocked=False,
            )
            for nth in range(8)
        ]
        false += any(of.verdict in (Verdict.IMPROVED, Verdict.REGRESSED) for of in judged(family, RULE))

    assert false <= 14  # of 150 at 5 %: more than that in one of a hundred draws


@pytest.mark.parametrize(("few", "value"), [(1, 100.2), (1, 150.0), (3, 150.0)])
def test_fewer_than_four_runs_of_an_arm_decide_nothing_whatever_the_other_has(few, value):
    many = [100 + nth / 100 for nth in range(39)]
    told = one([value] * few, many, is_blocked=False)

    assert told.verdict is Verdict.INCONCLUSIVE
    assert one([value] * 4, many, is_blocked=False).verdict is not Verdict.INCONCLUSIVE
