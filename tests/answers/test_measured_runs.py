"""The figures of a run, exact after its warm-up; expected values are calculated by hand from the lines."""

import pyarrow as pa
import pytest

from answers.runs import measured as measured_runs
from collectors.perf_test.run import RunDescription, document, parse_arguments
from engine.ingest.task.arrow_rows import record_batch
from schemas.gold.run_comparison import RUN_FIGURES, RUN_WINDOWS
from schemas.silver.perf_test import PERF_SUMMARIES, PERF_WINDOWS, RUNS
from tests.answers.selected import selected
from tests.transforms.parse.records import record
from transforms.parse import perf
from verdicts import runs as words

TABLES = (PERF_SUMMARIES, PERF_WINDOWS, RUNS)
ARGUMENTS = ["--topic", "t", "--num-records", "12000", "--throughput", "1000"]
WINDOWS = [  # seconds after the start, records, records/s, mean ms, highest ms
    (5, 4000, 800.0, 90.0, 900.0),
    (10, 5000, 1000.0, 10.0, 50.0),
    (15, 0, 0.0, None, 0.0),  # Nothing was sent; the window starts at the line before.
    (20, 3000, 750.0, 30.0, 70.0),
]


def mib_of(rate):
    return rate if isinstance(rate, str) else f"{rate / 1000:.2f}"


def silver(windows=WINDOWS, *, warm_up_s=5.0, summaries=("",), has_stamps=True):
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
    outcomes = [perf.parse(each) for each in records]
    rows = {table: [row for of in outcomes for row in of.rows.get(table.name, ())] for table in TABLES}
    return {table: pa.Table.from_batches([record_batch(table, rows[table])]) for table in TABLES}


def figures(**more):
    return figures_of(silver(**more))


def figures_of(rows):
    found = measured_runs.figures(selected(rows), ["a"], None)
    return {row["method"]: row for row in found}


def windows_of(rows):
    return measured_runs.windows(selected(rows), ["a"], None)


def test_columns_are_the_declared_ones():
    assert set(next(iter(figures().values()))) == set(RUN_FIGURES.schema.names)
    assert list(windows_of(silver())[0]) == RUN_WINDOWS.schema.names


def test_methods_have_the_names_that_the_verdicts_use():
    assert (measured_runs.WHOLE, measured_runs.STEADY_STATE, measured_runs.BEHIND_WARM_UP) == (
        words.WHOLE,
        words.STEADY_STATE,
        words.BEHIND_WARM_UP,
    )


def test_after_the_warm_up_means_and_rates_are_exact_and_percentiles_are_none():
    rows = figures()

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


def test_a_window_that_began_in_the_warm_up_does_not_count():
    rows = figures(warm_up_s=5.001)

    assert rows["behind_warm_up"]["records"] == 3000


def test_the_steady_state_has_its_own_row():
    rows = figures(summaries=("", " steady state"), warm_up_s=0.0)

    assert {method: row["lines"] for method, row in rows.items()} == {"whole": 1, "steady_state": 1}


def test_without_a_warm_up_windows_give_no_figures():
    assert list(figures(warm_up_s=0.0)) == ["whole"]


def test_without_instants_there_are_no_figures_after_the_warm_up():
    assert list(figures(has_stamps=False)) == ["whole"]


def test_a_window_without_a_rate_makes_that_rate_none_and_keeps_the_mean():
    broken = [*WINDOWS[:2], (15, 1000, "NaN", 10.0, 20.0), WINDOWS[3]]
    row = figures(windows=broken)["behind_warm_up"]

    # Without a rate the window starts at the line before.
    assert row["records_per_s"] == pytest.approx(9000 / (5 + 5 + 4))
    assert row["mib_per_s"] is None
    assert row["avg_ms"] == pytest.approx((5000 * 10 + 1000 * 10 + 3000 * 30) / 9000)


def test_re_sent_lines_count_once_and_two_summaries_of_a_run_are_counted():
    rows = silver()
    doubled = {table: pa.concat_tables([of, of]) for table, of in rows.items()}
    assert figures_of(doubled) == figures_of(rows)
    assert windows_of(doubled) == windows_of(rows)

    twice = figures(summaries=("", ""))
    assert twice["whole"]["lines"] == 2


def test_of_two_summaries_all_figures_are_those_of_the_last_line():
    rows = silver(summaries=("", ""))
    last = rows[PERF_SUMMARIES].slice(1)
    last = last.set_column(last.column_names.index("p99_ms"), "p99_ms", pa.array([None], pa.float64()))
    rows[PERF_SUMMARIES] = pa.concat_tables([rows[PERF_SUMMARIES].slice(0, 1), last])

    whole = figures_of(rows)["whole"]
    assert (whole["lines"], whole["p99_ms"], whole["p95_ms"]) == (2, None, 80.0)


def test_a_run_without_a_summary_stays_visible():
    rows = figures(summaries=(), warm_up_s=0.0)

    assert list(rows) == [None]
    assert rows[None]["exit_code"] == 0


def test_empty_inputs_give_no_rows():
    assert figures_of({}) == {}
    assert windows_of({}) == []
    assert measured_runs.arms(selected({}), None) == {}


def test_runs_of_another_arm_scenario_or_cluster_are_left_out():
    rows = selected(silver())

    assert measured_runs.figures(rows, ["b"], None) == []
    assert measured_runs.windows(rows, ["a"], "another") == []
    assert measured_runs.arms(rows, None) == {"a": 1}
    assert measured_runs.arms(rows, "another") == {}
    assert measured_runs.arms(selected(silver(), "elsewhere"), None) == {}


def test_windows_of_a_run_are_in_order_and_show_whether_they_are_measured():
    rows = windows_of(silver())

    assert [row["at_s"] for row in rows] == [5.0, 10.0, 15.0, 20.0]
    assert [row["is_measured"] for row in rows] == [False, True, True, True]
    assert [row["seconds"] for row in rows] == [5.0, 5.0, 5.0, 4.0]
    assert [row["avg_ms"] for row in rows] == [90.0, 10.0, None, 30.0]


def test_a_long_run_has_at_most_400_parts_without_losing_a_record():
    rows = windows_of(silver(windows=[(5, 1000 + number % 7, 200.0, 10.0, 20.0) for number in range(1003)]))

    assert [row["part"] for row in rows] == list(range(400))
    assert sum(row["records"] for row in rows) == sum(1000 + number % 7 for number in range(1003))
