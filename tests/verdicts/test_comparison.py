"""Two arms compared: which runs are a block, which metric decides, and with which exit code."""

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.verdicts.made_runs import BEGIN, blocks, run_of, window
from verdicts.comparison import ComparisonRequest, NothingToCompareError, compared
from verdicts.overall import counted, deciding, exit_code
from verdicts.verdict import JudgedMetric, Verdict

STEADY = [100.0, 101.0, 103.5, 99.25, 98.0, 102.125, 97.0, 104.0]
ASKED = ComparisonRequest(baseline="old", contender="new", metrics=("p99_ms",))


def faster(share):
    return blocks(STEADY, [share * of for of in reversed(STEADY)])


def test_runs_of_one_name_are_a_block_where_all_have_both_arms():
    runs = faster(0.8)

    assert compared(runs, ASKED).is_blocked
    assert compared(runs, ASKED).deciding.method == "signed-rank"
    assert not compared(runs, replace(ASKED, is_unpaired=True)).is_blocked
    assert compared(runs[:-1], ASKED).deciding.method == "mann-whitney"


def test_values_of_a_block_stand_together_whatever_order_they_came_in():
    values = compared(list(reversed(faster(0.8))), ASKED).deciding.values

    assert list(values.baseline) == STEADY
    assert list(values.contender) == [pytest.approx(0.8 * of) for of in reversed(STEADY)]


@pytest.mark.parametrize(
    ("share", "verdict", "code"),
    [
        (0.8, Verdict.IMPROVED, 0),
        (1.0, Verdict.EQUIVALENT, 0),
        (1.25, Verdict.REGRESSED, 1),
    ],
)
def test_exit_code_is_that_of_the_metric_named_first(share, verdict, code):
    told = compared(faster(share), ASKED)

    assert (told.deciding.verdict, exit_code(told.deciding)) == (verdict, code)


def test_three_blocks_are_inconclusive_whatever_they_come_to():
    told = compared(faster(0.1)[:6], ASKED)

    assert (told.deciding.verdict, exit_code(told.deciding)) == (Verdict.INCONCLUSIVE, 2)
    assert told.deciding.reason.startswith("3 pairs of runs are too few for any verdict")


def test_one_doubt_makes_every_metric_invalid():
    first, *others = faster(0.8)
    told = compared([replace(first, exit_code=1), *others], replace(ASKED, metrics=()))

    assert {of.verdict for of in told.judged} == {Verdict.INVALID}
    assert exit_code(told.deciding) == 3
    assert told.deciding.reason == "run x-000 of old ended with exit code 1"


def test_without_a_metric_named_the_worst_decides():
    said = [JudgedMetric(metric=word.value, verdict=word, reason="") for word in Verdict]

    order = []
    while said:
        order.append(deciding(said, None))
        said.remove(order[-1])
    assert [of.verdict for of in order] == [
        Verdict.REGRESSED,
        Verdict.INVALID,
        Verdict.INCONCLUSIVE,
        Verdict.IMPROVED,
        Verdict.EQUIVALENT,
    ]


def test_a_metric_that_runs_do_not_have_decides_only_where_it_was_asked_for():
    runs = [replace(run, values={**run.values, "p99_ms": None}) for run in faster(0.8)]
    every = compared(runs, replace(ASKED, metrics=()))

    assert {of.metric for of in every.judged if of.verdict is Verdict.INVALID} == {"p99_ms"}
    assert every.deciding.verdict is Verdict.REGRESSED  # fewer records/s
    assert exit_code(compared(runs, ASKED).deciding) == 3


def test_metric_of_gold_that_no_run_has_is_left_out_unless_it_is_named():
    name = "partition_skew.max_over_mean"
    runs = faster(0.8)
    with_it = [replace(run, values={**run.values, name: 1.5}) for run in runs]

    assert name not in [of.metric for of in compared(runs, replace(ASKED, metrics=())).judged]
    assert name in [of.metric for of in compared(with_it, replace(ASKED, metrics=())).judged]
    (told,) = compared(runs, replace(ASKED, metrics=(name,))).judged
    assert told.verdict is Verdict.INVALID
    assert told.reason.startswith(f"there is no {name}: run x-000 of old, ")


def test_only_runs_that_began_in_the_time_range_are_compared():
    """The blocks begin at 9:00, 9:04, 9:08 and so on; the second run of a block two minutes later."""
    from_third = replace(ASKED, since=BEGIN + timedelta(minutes=8))
    third = replace(from_third, until=BEGIN + timedelta(minutes=12))

    assert [run.run for run in compared(faster(0.8), from_third).baseline] == [
        f"x-{n:03}" for n in range(2, 8)
    ]
    assert [run.run for run in compared(faster(0.8), third).contender] == ["x-002"]


@pytest.mark.parametrize(
    ("started_at", "message"),
    [
        (BEGIN, "no run of arm 'old' began in this time range; its runs began 2026-11-21T09:00Z to "),
        (None, "no run of arm 'old' has a known start"),
    ],
)
def test_an_arm_without_runs_in_the_time_range_is_named_with_the_reason(started_at, message):
    runs = [replace(run, started_at=started_at) for run in faster(0.8)]

    with pytest.raises(NothingToCompareError, match=message):
        compared(runs, replace(ASKED, since=BEGIN + timedelta(days=1)))


def one_each(share, n=40):
    sizes = [1.0, 1.02, 0.98, 1.01]
    old = [window(5 * k, 100 * sizes[k % 4]) for k in range(n)]
    new = [window(5 * k, share * 100 * sizes[k % 4]) for k in range(n)]
    runs = [run_of("r1", "old", 100.0, windows=old), run_of("r1", "new", share * 100.0, windows=new)]
    return [replace(run, asked_records=None, sent_records=None) for run in runs]


def test_one_run_of_each_is_judged_by_its_windows_and_decides_nothing():
    told = compared(one_each(0.5), replace(ASKED, metrics=("avg_ms",)))

    assert told.deciding.verdict is Verdict.IMPROVED
    assert told.deciding.is_within_run_only
    assert told.deciding.reason.startswith("within-run only: ")
    assert told.deciding.change == pytest.approx(-0.5, abs=0.01)
    assert counted(told.deciding) is Verdict.INCONCLUSIVE
    assert exit_code(told.deciding) == 2


def test_windows_of_the_warm_up_are_not_drawn():
    slow = [window(5 * k, 1000.0, is_measured=False) for k in range(20)]
    old, new = one_each(1.0)
    told = compared([replace(old, windows=[*slow, *old.windows]), new], replace(ASKED, metrics=("avg_ms",)))

    assert told.deciding.change == pytest.approx(0, abs=0.01)


@pytest.mark.parametrize("metric", ["p99_ms", "max_ms"])
def test_a_percentile_of_one_run_each_is_inconclusive(metric):
    (told,) = compared(one_each(0.5), replace(ASKED, metrics=(metric,))).judged

    assert told.verdict is Verdict.INCONCLUSIVE
    assert not told.is_within_run_only
    assert "one run of each tells nothing" in told.reason


def test_a_dozen_windows_is_the_least():
    (told,) = compared(one_each(0.5, n=11), replace(ASKED, metrics=("avg_ms",))).judged

    assert told.verdict is Verdict.INCONCLUSIVE
    assert "fewer than 12 windows" in told.reason


def test_an_arm_or_metric_that_is_not_there_is_told_with_those_that_are():
    with pytest.raises(NothingToCompareError, match="no run of arm 'newer'; there are: new, old"):
        compared(faster(0.8), replace(ASKED, contender="newer"))
    with pytest.raises(NothingToCompareError, match="no metric 'p98_ms'; there are: records_per_s"):
        compared(faster(0.8), replace(ASKED, metrics=("p98_ms",)))
