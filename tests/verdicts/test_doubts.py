"""What forbids a comparison, each told by the run it is of; and what only may mislead."""

from dataclasses import replace

import pytest

from tests.verdicts.made_runs import blocks, run_of, window
from verdicts.doubts import cautions, of_arm, of_metric, of_run, of_runs
from verdicts.metrics import METRICS
from verdicts.runs import BEHIND_WARM_UP, WHOLE

WELL = run_of("r1", "old", 10.0)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"exit_code": 1}, "run r1 of old ended with exit code 1"),
        ({"exit_code": -15}, "run r1 of old ended with exit code -15"),
        ({"ended_at": None}, "run r1 of old started but has no end"),
        ({"starts": 2}, "run r1 of old is 2 runs of one name: give each its own"),
        ({"summaries": 2}, "run r1 of old is 2 runs of one name: give each its own"),
        ({"summaries": 0}, "run r1 of old has no summary line"),
        ({"sent_records": 990}, "run r1 of old sent 990 of the 1,000 records it was asked for"),
        (
            {"windows": [window(5, 1.0, records=600), window(10, 1.0, records=600)]},
            "run r1 of old has 1,200 records in its windows and 1,000 in its summary",
        ),
    ],
)
def test_a_run_that_is_not_what_was_asked_for_is_told(changed, told):
    assert of_run(WELL) == []
    assert of_run(replace(WELL, **changed)) == [told]


def test_a_rate_that_was_missed_is_told_once_for_all_runs():
    runs = [run_of(f"r{n}", "old", 1.0, is_rate_missed=True) for n in range(5)]

    assert of_runs(runs, [run_of("r9", "new", 1.0)]) == [
        "the rate asked for was not reached: run r0 of old, run r1 of old, run r2 of old and 2 more"
    ]


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"client_version": "3.6.0"}, "client_version 3.6.0 or none"),
        ({"asked_records_per_s": 5.0}, "records/s 5.0 or none"),
        ({"asked_records": 7}, "records 1000 or 7"),
        ({"record_size_bytes": 7}, "record size 7 or none"),
        ({"warm_up_s": 6.0}, "warm-up, s 5.0 or 6.0"),
        (
            {"configuration": ("--topic", "u", "--producer-props", "acks=all", "client.id=x")},
            "configuration: acks=1, acks=all",
        ),
    ],
)
def test_runs_of_one_arm_are_asked_for_one_thing(changed, told):
    others = [run_of("r1", "old", 1.0), run_of("r2", "old", 1.0, minute=3)]

    assert of_arm(others) == []
    assert of_arm([*others, run_of("r3", "old", 1.0, **changed)]) == [
        f"the runs of old are not of one configuration: {told}"
    ]


def test_topic_client_id_and_addresses_are_names_and_no_configuration():
    words = (
        "--topic=u",
        "--bootstrap-server",
        "h:9092",
        "--producer-props",
        "acks=1",
        "bootstrap.servers=h:1",
    )

    assert of_arm([WELL, replace(WELL, configuration=words)]) == []


def test_percentiles_of_a_run_with_its_warm_up_are_refused():
    values = {**WELL.values, "p99_ms": None}
    behind = replace(WELL, method=BEHIND_WARM_UP, values=values, warm_up_s=30.0)

    (told,) = of_metric(METRICS["p99_ms"], [WELL, behind])
    assert told.startswith("warm-up included: run r1 of old declares 30 s of warm-up, and its percentiles")
    assert of_metric(METRICS["avg_ms"], [WELL, behind]) == []


def test_runs_with_and_without_their_warm_up_are_not_compared():
    assert of_runs([replace(WELL, method=WHOLE)], [run_of("r1", "new", 1.0)]) == [
        "warm-up included, unlike in others: run r1 of old"
    ]


def test_what_may_mislead_is_told_and_forbids_nothing():
    fair = blocks([1.0] * 4, [1.0] * 4)
    old, new = ([run for run in fair if run.arm == arm] for arm in ("old", "new"))

    assert cautions(old, new) == []
    assert cautions(old, [replace(run, started_at=old[-1].ended_at) for run in new[:3]])[0].startswith(
        "all runs of one arm were made before the other's"
    )
    assert any("came first in every block" in told for told in cautions(old[::2], new[::2]))
    assert any("some blocks lack an arm" in told for told in cautions(old, new[:3]))
    assert any(
        "different rates" in told for told in cautions(old, [replace(new[0], asked_records_per_s=5.0)])
    )
    whole = [[replace(run, method=WHOLE) for run in arm] for arm in (old, new)]
    assert cautions(*whole) == ["no run declares a warm-up: all figures include it"]
