"""Long series of performance tests in the report: told apart by arm, in the order of time, changes marked."""

from datetime import timedelta

from answers.runs.series import FEW, runs_over_time, series_of
from answers.runs.summaries import CHANGES
from tests.serving.report.run_rows import BEGIN, nights
from tests.serving.report.test_page import listed, text_of

CHANGE = {
    "cluster": "lab",
    "scenario": "nightly",
    "arm": "main",
    "metric": "p99_ms",
    "run": "night-<b>025",
    "changed_at": BEGIN + timedelta(days=25),
    "change": 0.3,
    "p": 0.0001,
    "runs": 40,
}


def test_a_series_is_of_one_arm_of_one_scenario_in_the_order_of_time():
    rows = [*nights(6), *nights(8, arm="old"), *nights(5, scenario=None)]
    told = series_of(rows)

    assert [(one.scenario, one.arm, len(one.rows)) for one in told] == [
        ("nightly", "old", 8),
        ("nightly", "main", 6),
        (None, "main", 5),
    ]
    assert [row["run"] for row in told[0].rows] == [f"night-{nth:03}" for nth in range(8)]


def test_a_steady_state_line_and_one_without_an_instant_are_no_more_runs():
    (first, *others) = nights(6)
    told = series_of([first | {"logged_at": None}, *others, others[0] | {"is_steady_state": True}])

    assert [len(one.rows) for one in told] == [5]


def test_few_runs_are_no_series():
    assert runs_over_time(nights(FEW), []) is None
    assert runs_over_time(nights(FEW + 1), []) is not None


def test_a_change_is_a_dotted_line_with_its_run_and_size_and_no_markup():
    figure = runs_over_time(nights(), [CHANGE, CHANGE | {"metric": "avg_ms"}, CHANGE | {"arm": "other"}])

    (shape,), (note,) = figure.layout.shapes, figure.layout.annotations
    assert str(shape.x0).startswith("2026-10-26")
    assert note.text == "night-·b·025: +30.0 %"


def test_changes_are_listed_as_text():
    text = text_of(listed(CHANGES, [CHANGE]))

    assert "night-&lt;b&gt;025" in text
    assert "+30.0 %" in text
