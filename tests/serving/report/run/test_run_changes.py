"""Change points of a report: which series are looked through, by what, and what is told where nothing can."""

from pathlib import Path

import pytest

from serving.report.run.change_points import LEAST_RUNS, PROGRAM
from serving.report.run.run_changes import MOST_SERIES, run_changes
from tests.serving.report.run_rows import BEGIN, nights


@pytest.mark.skipif(not PROGRAM.exists(), reason="no Otava: `make otava`")
def test_otava_finds_the_night_an_arm_became_slower_and_nothing_in_one_that_did_not():
    found, untold = run_changes([*nights(), *nights(arm="steady", factor=1.0)])

    assert untold == []
    assert {(row["arm"], row["metric"]) for row in found} == {("main", "avg_ms"), ("main", "p99_ms")}
    for row in found:
        assert (row["run"], (row["changed_at"] - BEGIN).days, row["runs"]) == ("night-025", 25, 40)
        assert row["change"] == pytest.approx(0.3, abs=0.03)


def test_series_of_few_runs_need_no_otava():
    assert run_changes(nights(LEAST_RUNS - 1), program=Path("nowhere")) == ([], [])


def test_what_could_not_be_looked_for_is_told_once():
    found, (why,) = run_changes([*nights(), *nights(arm="b")], program=Path("nowhere"))

    assert found == []
    assert "make otava" in why


def test_of_very_many_series_the_longest_are_looked_through(tmp_path):
    quiet = tmp_path / "quiet"
    quiet.write_text("#!/bin/sh\necho '{\"runs\": []}'\n")
    quiet.chmod(0o755)
    rows = [row for nth in range(MOST_SERIES + 1) for row in nights(LEAST_RUNS, arm=f"arm-{nth:02}")]

    found, (why,) = run_changes(rows, program=quiet)
    assert found == []
    assert str(MOST_SERIES + 1) in why
