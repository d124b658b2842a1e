"""Change points: what is asked of Otava, what is read from it; the program itself where it is installed."""

import json
import sys
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest

from serving.report.run.change_points import (
    LEAST_RUNS,
    PROGRAM,
    NoChangePointsError,
    change_points,
    series_of,
)
from tests.verdicts.made_runs import BEGIN, run_of
from verdicts.metrics import METRICS

P99 = METRICS["p99_ms"]


def nights(n=40, *, changed_at=25, factor=1.2):
    dice = np.random.default_rng(4)
    values = [(factor if nth >= changed_at else 1.0) * (100 + dice.normal(0, 3)) for nth in range(n)]
    runs = [
        run_of(f'night "{nth}",x', "main", value, started_at=BEGIN + timedelta(days=nth))
        for nth, value in enumerate(values)
    ]
    return runs[::-1]


@pytest.fixture
def stub(tmp_path):
    """Give a stand-in of the program: it keeps what it was given, and answers with what stands beside it."""
    script = (
        f"#!{sys.executable}\nimport pathlib, sys\nhere = pathlib.Path(__file__).parent\n"
        "config = pathlib.Path(sys.argv[sys.argv.index('--config-file') + 1])\n"
        "(here / 'config').write_text(config.read_text())\n"
        "(here / 'csv').write_text((config.parent / 'runs.csv').read_text())\n"
        "print((here / 'answer').read_text())\n"
    )
    (tmp_path / "stub").write_text(script)
    (tmp_path / "stub").chmod(0o755)
    return tmp_path / "stub"


def test_series_is_in_the_order_of_time_and_holds_no_name(stub):
    (stub.parent / "answer").write_text('{"runs": []}')

    assert change_points(nights(), P99, program=stub) == []
    rows = (stub.parent / "csv").read_text().splitlines()
    assert rows[0] == "time,nth,value"
    assert [row.split(",")[0] for row in rows[1:]] == sorted(row.split(",")[0] for row in rows[1:])
    assert "night" not in "".join(rows)
    told = json.loads((stub.parent / "config").read_text())["tests"]["runs"]
    assert told["metrics"]["value"]["direction"] == -1


def test_a_point_is_told_by_its_run_and_how_much_changed(stub):
    change = {"index": 25, "mean_before": "100.0", "mean_after": "120.0", "pvalue": "0.0001"}
    (stub.parent / "answer").write_text(json.dumps({"runs": [{"changes": [change]}]}))

    (point,) = change_points(nights(), P99, program=stub)
    assert (point.arm, point.run, point.metric) == ("main", 'night "25",x', "p99_ms")
    assert point.at == BEGIN + timedelta(days=25)
    assert point.change == pytest.approx(0.2)


def test_few_runs_are_not_looked_through():
    assert change_points(nights(LEAST_RUNS - 1), P99, program=Path("nowhere")) == []
    with pytest.raises(NoChangePointsError, match=f"in {LEAST_RUNS} runs"):
        change_points(nights(LEAST_RUNS), P99, program=Path("nowhere"))
    assert series_of([run_of("r", "a", 1.0, started_at=None)], P99) == []


@pytest.mark.parametrize("answer", ["", "[]", "{}"])
def test_a_program_that_is_missing_or_fails_is_told(stub, answer):
    (stub.parent / "answer").write_text(answer)

    with pytest.raises(NoChangePointsError, match="`make otava` installs"):
        change_points(nights(), P99, program=Path("nowhere"))
    with pytest.raises(NoChangePointsError, match="stub failed"):
        change_points(nights(), P99, program=stub)


def test_a_program_that_does_not_end_is_given_up(tmp_path, monkeypatch):
    program = tmp_path / "slow"
    program.write_text("#!/bin/sh\nexec sleep 60\n")
    program.chmod(0o755)
    monkeypatch.setattr("serving.report.run.change_points.TIMEOUT_S", 0.2)

    with pytest.raises(NoChangePointsError, match="slow failed"):
        change_points(nights(), P99, program=program)


@pytest.mark.skipif(not PROGRAM.exists(), reason="needs `make otava`")
def test_otava_finds_the_night_it_changed_and_no_other():
    (point,) = change_points(nights(), P99)

    assert point.run == 'night "25",x'
    assert point.change == pytest.approx(0.2, abs=0.03)
    assert change_points(nights(factor=1.0), P99) == []


@pytest.mark.parametrize(
    ("index", "before", "after", "told"),
    [
        (25, "100.0", "120.0", 1),
        (35, "100.0", "120.0", 1),
        (36, "100.0", "120.0", 0),  # four nights are no level
        (4, "100.0", "120.0", 0),
        (5, "100.0", "120.0", 1),
        (25, "100.0", "104.0", 0),
        (25, "3.0", "4.0", 0),  # a step of rounding
        (25, "0.0", "5.0", 1),
    ],
)
def test_a_last_night_a_step_of_rounding_and_a_trifle_are_no_change(stub, index, before, after, told):
    change = {"index": index, "mean_before": before, "mean_after": after, "pvalue": "0.0"}
    (stub.parent / "answer").write_text(json.dumps({"runs": [{"changes": [change]}]}))

    assert len(change_points(nights(), P99, program=stub)) == told
