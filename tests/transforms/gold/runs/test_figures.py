"""The figures of a run, exact after its warm-up; expected values are calculated by hand from the lines."""

import pytest

from collectors.perf_test.run import RunDescription, document, parse_arguments
from schemas.gold.run_comparison import RUN_FIGURES, RUN_WINDOWS
from schemas.silver.perf_test import PERF_SUMMARIES, PERF_WINDOWS, RUNS
from tests.transforms.parse.records import record
from tests.transforms.parse.silver_frames import kept_frames
from transforms.frames import frame_of
from transforms.gold.runs import figures as module
from transforms.gold.runs.figures import run_facts, run_figures
from transforms.gold.runs.windows import run_windows
from transforms.parse import perf
from verdicts import runs as words

ARGUMENTS = ["--topic", "t", "--num-records", "12000", "--throughput", "1000"]
WINDOWS = [  # seconds after the start, records, records/s, mean ms, highest ms
    (5, 4000, 800.0, 90.0, 900.0),
    (10, 5000, 1000.0, 10.0, 50.0),
    (15, 0, 0.0, None, 0.0),  # Nothing was sent; the window starts at the line before.
    (20, 3000, 750.0, 30.0, 70.0),
]


def mib_of(rate):
    return rate if isinstance(rate, str) else f"{rate / 1000:.2f}"


def silver(spark, windows=WINDOWS, *, warm_up_s=5.0, summaries=("",), has_stamps=True):
    run = RunDescription(run="r1", arm="a", scenario="s", client_version="3.9.1", warm_up_s=warm_up_s)
    facts = run.facts | {"started_at": "2026-11-21T09:00:00Z"} | parse_arguments(ARGUMENTS)
    stamp = "2026-11-21T09:00:{:02}.000000Z " if has_stamps else ""
    lines = [document(facts)]
    lines += [
        (
            stamp.format(at) + f"{records} records sent, {rate} records/sec ({mib_of(rate)} MB/sec), "
            f"{'NaN' if mean is None else mean} ms avg latency, {highest} ms max latency."
        ).encode()
        for at, records, rate, mean, highest in windows
    ]
    lines += [
        (
            f"12000{word} records sent, 600.000000 records/sec (0.60 MB/sec), 40.00 ms avg latency, "
            "900.00 ms max latency, 20 ms 50th, 80 ms 95th, 200 ms 99th, 900 ms 99.9th."
        ).encode()
        for word in summaries
    ]
    lines.append(document(facts | {"ended_at": "2026-11-21T09:00:22Z", "exit_code": 0}))
    fields = {"headers": [("run", b"r1"), ("arm", b"a")], "kind": "perf-test", "node": "n"}
    records = [record(line, position=f"n/f00d/{number}", **fields) for number, line in enumerate(lines)]
    return [*kept_frames(spark, perf.parse, records, (PERF_SUMMARIES, PERF_WINDOWS, RUNS)).values()]


def figures(spark, **more):
    rows = run_figures(*silver(spark, **more)).collect()
    return {row["method"]: row for row in rows}


def test_schema_is_the_declared_one(spark):
    summaries, windows, runs = silver(spark)

    facts = run_facts(runs, summaries)
    assert run_figures(summaries, windows, runs).schema.simpleString() == RUN_FIGURES.schema.simpleString()
    assert run_windows(windows, facts).schema.simpleString() == RUN_WINDOWS.schema.simpleString()


def test_methods_have_the_names_that_the_verdicts_use():
    assert (module.WHOLE, module.STEADY_STATE, module.BEHIND_WARM_UP) == (
        words.WHOLE,
        words.STEADY_STATE,
        words.BEHIND_WARM_UP,
    )


def test_after_the_warm_up_means_and_rates_are_exact_and_percentiles_are_none(spark):
    rows = figures(spark)

    steady, whole = rows["behind_warm_up"], rows["whole"]
    assert (steady["records"], steady["lines"]) == (8000, 3)
    assert steady["avg_ms"] == pytest.approx((5000 * 10 + 3000 * 30) / 8000)
    assert steady["records_per_s"] == pytest.approx(8000 / (5 + 5 + 4))
    assert steady["mib_per_s"] == pytest.approx((1.0 * 5 + 0 + 0.75 * 4) / (5 + 5 + 4))
    assert steady["max_ms"] == 70.0
    assert steady["p99_ms"] is None
    assert (whole["records"], whole["avg_ms"], whole["p99_ms"]) == (12000, 40.0, 200.0)
    assert (whole["started_at"].second, whole["ended_at"].second, whole["exit_code"]) == (0, 22, 0)
    assert (whole["starts"], whole["asked_records"], whole["warm_up_s"]) == (1, 12000, 5.0)


def test_a_window_that_began_in_the_warm_up_does_not_count(spark):
    rows = figures(spark, warm_up_s=5.001)

    assert rows["behind_warm_up"]["records"] == 3000


def test_the_steady_state_has_its_own_row(spark):
    rows = figures(spark, summaries=("", " steady state"), warm_up_s=0.0)

    assert {method: row["lines"] for method, row in rows.items()} == {"whole": 1, "steady_state": 1}


def test_without_a_warm_up_windows_give_no_figures(spark):
    assert list(figures(spark, warm_up_s=0.0)) == ["whole"]


def test_without_instants_there_are_no_figures_after_the_warm_up(spark):
    assert list(figures(spark, has_stamps=False)) == ["whole"]


def test_a_window_without_a_rate_makes_that_rate_none_and_keeps_the_mean(spark):
    broken = [*WINDOWS[:2], (15, 1000, "NaN", 10.0, 20.0), WINDOWS[3]]
    row = figures(spark, windows=broken)["behind_warm_up"]

    # Without a rate the window starts at the line before.
    assert row["records_per_s"] == pytest.approx(9000 / (5 + 5 + 4))
    assert row["mib_per_s"] is None
    assert row["avg_ms"] == pytest.approx((5000 * 10 + 1000 * 10 + 3000 * 30) / 9000)


def test_re_sent_lines_count_once_and_two_summaries_of_a_run_are_counted(spark):
    summaries, windows, runs = silver(spark)
    doubled = [frame.union(frame) for frame in (summaries, windows, runs)]
    assert sorted(run_figures(*doubled).collect()) == sorted(run_figures(summaries, windows, runs).collect())

    twice = figures(spark, summaries=("", ""))
    assert twice["whole"]["lines"] == 2


def test_a_run_without_a_summary_stays_visible(spark):
    rows = figures(spark, summaries=(), warm_up_s=0.0)

    assert list(rows) == [None]
    assert rows[None]["exit_code"] == 0


def test_empty_inputs_give_no_rows(spark):
    frames = [frame_of(spark, [], table.schema) for table in (PERF_SUMMARIES, PERF_WINDOWS, RUNS)]

    assert run_figures(*frames).collect() == []
    assert run_windows(frames[1], run_facts(frames[2], frames[0])).collect() == []


def test_windows_of_a_run_are_in_order_and_show_whether_they_are_measured(spark):
    summaries, windows, runs = silver(spark)

    rows = run_windows(windows, run_facts(runs, summaries)).orderBy("part").collect()
    assert [row["at_s"] for row in rows] == [5.0, 10.0, 15.0, 20.0]
    assert [row["is_measured"] for row in rows] == [False, True, True, True]
    assert [row["seconds"] for row in rows] == [5.0, 5.0, 5.0, 4.0]
    assert [row["avg_ms"] for row in rows] == [90.0, 10.0, None, 30.0]


def test_a_long_run_has_at_most_400_parts_without_losing_a_record(spark):
    many = [(5, 1000 + number % 7, 200.0, 10.0, 20.0) for number in range(1003)]
    summaries, windows, runs = silver(spark, windows=many)

    rows = run_windows(windows, run_facts(runs, summaries)).collect()
    assert len(rows) == 400
    assert sum(row["records"] for row in rows) == sum(1000 + number % 7 for number in range(1003))
