"""The page of the pipeline's benchmark: one table of targets first, then a section per part."""

import json

import numpy as np
import pytest

from benchmarks.pipeline import page, sections, targets
from benchmarks.pipeline.arms import aged, costs, scrapes
from benchmarks.pipeline.arms.lateness import SeenLines, figures
from benchmarks.pipeline.intervals import Estimate

CPU_S = {
    costs.START: (9.0, 2.0, 2.0),
    costs.CONSUMER: (9.0, 6.0, 8.0),
    costs.INGEST: (90.0, 12.0, 24.0),
    costs.GOLD: (90.0, 40.0, 60.0),
    costs.TEXTBOOK: (90.0, 40.0, 40.0),
    costs.TEXTBOOK_GOLD: (9.0, 4.0, 4.0),
    costs.DUCKDB: (90.0, 40.0, 40.0),
}
META = {
    "cores": 2,
    "memory_gib": 24,
    "cpu": "some CPU",
    "kernel": "6",
    "load_before": 0.1,
    "tree": "abc1234",
    "is_changed": False,
    "measured_on": "2026-11-25",
    "is_short": False,
}
USED = {
    "cores": 0.25,
    "cores_of_blocks": [0.25, 0.25],
    "memory_gb": 1.0,
    "peak_gb": 1.25,
    "samples": 120,
}


@pytest.fixture
def state(tmp_path):
    measured = [
        {"round": nth, "arm": arm, "cpu_s_per_million": cpu_s[nth], "wall_s": cpu_s[nth] / 2}
        for arm, cpu_s in CPU_S.items()
        for nth in range(3)
    ]
    compared = {"ours": 1_000, "textbook": 998, "apart": 2}
    document = {"n": 1_000, "bytes": 1_200_000, "rounds": 2, "batch": 200_000, "compared": compared}
    product = {
        "gold": {"batches": 2, "tables": {"fetch_latency": True, "leader_local_mean": False}},
        "jvm_options": {"ingest": "-XX:+UseSerialGC", "gold": "-XX:+UseSerialGC"},
    }
    _save(tmp_path, "costs", document | product | {"costs": measured})
    return tmp_path


def _save(state, part, document, **meta):
    (state / f"{part}.json").write_text(json.dumps({"meta": META | meta} | document))


def _text(state):
    page.write(state, state / "page.md")
    return (state / "page.md").read_text()


def _row(text, *cells):
    begin = f"| {' | '.join(cells)} |"
    return next(line for line in text.splitlines() if line.startswith(begin)).split(" | ")


def test_a_ratio_is_that_of_the_two_figures_in_the_table(state):
    text = _text(state)

    ours, textbook, less = (
        float(_row(text, arm)[1].split()[0]) for arm in (costs.INGEST, costs.TEXTBOOK, sections.LESS_START)
    )
    # The warm-up round has nines.
    assert (ours, textbook, less) == pytest.approx((np.sqrt(12 * 24), 40, np.sqrt(4 * 6)), abs=0.05)
    assert f"**{np.sqrt(12 * 24) / 40:.2f}**" in _row(text, costs.INGEST)[3]


def test_the_page_begins_with_one_row_per_target_and_names_unmeasured_parts(state):
    text = _text(state)

    table = [line for line in text.split("## ")[0].splitlines() if line.startswith("| ")]
    assert len(table) == 2 + len(targets.TARGETS)
    assert sum(targets.NOT_MEASURED in line for line in table) == len(targets.TARGETS) - len(targets.COSTS)
    assert "Not measured yet on this tree. Run it: `python -m benchmarks.pipeline --only quiet`." in text


def test_every_section_names_its_tree_and_machine(state):
    assert "Measured on 2026-11-25, tree `abc1234`: 2 cores (some CPU), 24 GiB" in _text(state)


def test_a_smoke_run_says_that_its_figures_mean_nothing(state):
    _save(
        state, "costs", json.loads((state / "costs.json").read_text()) | {"meta": META | {"is_short": True}}
    )

    assert _text(state).count("mean nothing") == 2


def test_the_page_has_the_number_of_lines_of_each_pipeline(state):
    assert "of 1,000 lines: Plumbline's has 1,000 and the textbook's 998" in _text(state)


def test_the_page_says_how_the_product_ran_and_which_gold_tables_have_rows(state):
    text = _text(state)

    assert "(`-XX:+UseSerialGC`)" in text
    assert "from silver to gold in 2 batches" in text
    assert "these tables have rows: `fetch_latency`." in text


def test_writing_a_section_does_not_change_the_sections_of_other_programs(state):
    there = "# Performance\n\n<!-- costs -->\nold\n<!-- /costs -->\n\n<!-- sizes -->\nsizes\n"
    (state / "page.md").write_text(there)

    text = _text(state)

    assert "\nold\n" not in text
    assert text.count("<!-- costs -->") == 1
    assert "<!-- sizes -->\nsizes\n" in text


def test_a_part_without_a_state_file_keeps_its_section_and_its_rows(state):
    before = _text(state)
    (state / "costs.json").unlink()

    assert _text(state) == before


def test_the_page_in_the_docs_has_a_place_for_every_section():
    text = page.PAGE.read_text()

    assert [name for name in page.written({}) if f"<!-- {name} -->\n" not in text] == []


@pytest.mark.parametrize(
    ("figure", "is_least", "expected"),
    [
        (Estimate(0.9, 0.8, 0.95, n=3), False, "met"),
        (Estimate(0.9, 0.8, 1.2, n=3), False, "met; the brackets contain the target"),
        (Estimate(1.1, n=3), True, "met"),
        (Estimate(0.9), False, "not judged: n = 1"),
        (Estimate(1.1), True, "not judged: n = 1"),
        (Estimate(1.1), False, "**missed**"),
        (Estimate(float("inf"), n=3), False, "**missed**"),
        (Estimate(float("nan"), n=3), False, "**missed**"),
    ],
)
def test_the_figure_decides_unless_it_is_the_only_one_and_brackets_that_contain_the_target_are_named(
    figure, is_least, expected
):
    assert targets.verdict(figure, 1.0, is_least=is_least) == expected


def _run(*, per_s, layers):
    at = 1e9 + np.arange(0.0, 400.0)
    seen = SeenLines(
        per_s=per_s,
        measured_from=1e9 + 40,
        appended_at=at,
        visible_at={layer: at + late_s for layer, late_s in layers.items()},
        batches=dict.fromkeys(layers, 100),
        usage={"ingest": USED, "publisher": USED} | ({"build-gold": USED} if "gold" in layers else {}),
    )
    return figures(seen)


def test_freshness_has_a_row_for_a_layer_that_never_saw_a_line(state):
    run = _run(per_s=2_000.0, layers={"silver": 2.0, "gold": np.nan})
    _save(state, "freshness-with-gold", {"slow_s": 60.0, "settle_s": 180.0, "runs": [run]})

    text = _text(state)

    assert "2.00 (2.00 to 2.00)" in text
    assert "inf (no interval)" in text
    assert "2,000, gold: 360" in text
    assert "## Freshness of the ingest alone\n\nNot measured yet on this tree." in text
    assert "`python -m benchmarks.pipeline --only freshness --with-gold`" in text


def test_the_targets_of_freshness_use_the_run_of_the_ingest_alone(state):
    run = _run(per_s=2_000.0, layers={"silver": 0.5})
    _save(state, "freshness", {"slow_s": 60.0, "settle_s": 180.0, "runs": [run]})

    text = _text(state)

    question = "2,000 lines/s: half of the lines are in silver within"
    assert _row(text, question)[1:4] == ["0.50 s (0.50 to 0.50); n = 6", "≤ 1.00 s", "met"]
    # This run has no rate of 10,000 lines/s.
    assert _row(text, "10,000 lines/s: half of the lines are in silver within")[1] == targets.NOT_MEASURED
    assert "| 2,000 | publisher | 0.250 |" in text


def test_a_rate_that_a_run_left_out_keeps_its_figure(state):
    for per_s in (2_000.0, 10_000.0):
        run = _run(per_s=per_s, layers={"silver": per_s / 4_000})
        _save(state, "freshness", {"slow_s": 60.0, "settle_s": 180.0, "runs": [run]})
        text = _text(state)

    rows = [
        _row(text, f"{rate} lines/s: half of the lines are in silver within") for rate in ("2,000", "10,000")
    ]
    assert [row[1] for row in rows] == ["0.50 s (0.50 to 0.50); n = 6", "2.50 s (2.50 to 2.50); n = 6"]


def test_the_targets_of_gold_use_the_run_with_gold(state):
    run = _run(per_s=2_000.0, layers={"silver": 0.5, "gold": 3.5, "verdict": 4.5})
    _save(state, "freshness-with-gold", {"slow_s": 60.0, "settle_s": 180.0, "runs": [run]})

    text = _text(state)

    at = "2,000 lines/s, with gold:"
    p50 = "3.50 s (3.50 to 3.50); n = 6"
    assert _row(text, f"{at} half of the lines are in gold within")[1:4] == [p50, "≤ 4.00 s", "met"]
    assert _row(text, f"{at} 99 % of the lines are in gold within")[2:4] == ["≤ 8.00 s", "met"]
    assert _row(text, f"{at} half of the lines have a verdict within")[2:4] == ["≤ 4.00 s", "**missed**"]
    assert _row(text, f"{at} cores of build-gold")[1:4] == ["0.25 (0.25 to 0.25); n = 2", "≤ 0.40", "met"]
    assert "| 2,000 | 360 | verdict | 4.50 (4.50 to 4.50) | 4.50 (4.50 to 4.50) | 6 of 60 s |" in text


def test_99_percent_of_the_lines_have_the_range_of_the_blocks(state):
    run = _run(per_s=2_000.0, layers={"silver": 0.5})
    run["silver"]["p99_s"] = [1.5, 0.75, 2.5]
    _save(state, "freshness", {"slow_s": 60.0, "settle_s": 180.0, "runs": [run]})

    assert _row(_text(state), "2,000 lines/s: 99 % of the lines are in silver within")[1:4] == [
        "1.50 s (0.75 to 2.50); n = 6",
        "≤ 2.00 s",
        "met; the brackets contain the target",
    ]


def test_a_run_that_was_measured_before_verdicts_were_timed_has_no_verdict(state):
    run = _run(per_s=2_000.0, layers={"silver": 0.5, "gold": 3.5})
    del run["silver"]["growth_interval"]
    _save(state, "freshness-with-gold", {"slow_s": 60.0, "settle_s": 180.0, "runs": [run]})

    question = "2,000 lines/s, with gold: half of the lines have a verdict within"
    assert _row(_text(state), question)[1] == targets.NOT_MEASURED


ORDINARY = ["fetches", "leader_local_mean", "partition_skew"]


def _quiet(state, batches):
    """Save a quiet run whose batches are of (stage, builds, CPU seconds)."""
    runs = [
        _run(per_s=40.0, layers=dict.fromkeys(("silver", "gold", "verdict")[: 3 if with_gold else 1], 6.0))
        | {
            "sent": {"metrics": 180},
            "quarantined": 0,
            "max_trigger_delay_s": 10,
            "batches": [
                {"stage": stage, "builds": builds, "cpu_s": cpu_s, "wall_s": 0.5}
                for stage, builds, cpu_s in (batches if with_gold else ())
            ],
        }
        for with_gold in (False, True)
    ]
    _save(state, "quiet", {"settle_s": 180.0, "runs": runs})
    return _text(state)


def test_the_quiet_cluster_adds_up_ingest_and_gold(state):
    text = _quiet(state, [])

    assert _row(text, "Quiet cluster, 60 lines/s and scrapes: cores of the ingest")[1:4] == [
        "0.25 (0.25 to 0.25); n = 2",
        "≤ 0.15",
        "**missed**",
    ]
    question = "Quiet cluster: cores of ingest and build-gold"
    assert _row(text, question)[1] == "0.50 (0.50 to 0.50); n = 2"
    assert _row(text, "Quiet cluster: peak memory of the ingest")[1:4] == [
        "1.25 GB; n = 120",
        "≤ 1.50 GB",
        "met",
    ]
    assert "| ingest and build-gold | **ingest + build-gold** | 0.500 | 2.00 | 2.50 |" in text


def test_the_quiet_cluster_shows_how_old_lines_and_verdicts_are(state):
    text = _quiet(state, [])

    question = "Quiet cluster, with gold: half of the request-log lines have a verdict within"
    assert _row(text, question)[1:4] == ["6.00 s (6.00 to 6.00); n = 6", "", "no target"]
    assert "| ingest alone | 360 | silver | 6.00 (6.00 to 6.00) |" in text
    assert "| ingest and build-gold | 360 | verdict | 6.00 (6.00 to 6.00) |" in text
    assert "begins 10 s after the one before" in text


def test_each_set_of_builds_is_a_row_of_its_own(state):
    text = _quiet(
        state,
        [
            ("quiet cluster", ORDINARY, 1.5),
            ("quiet cluster", [*ORDINARY, "stock_fetch_total"], 2.0),
            ("quiet cluster", ORDINARY[::-1], 1.5),
        ],
    )

    assert "| quiet cluster | fetches, leader_local_mean, partition_skew | 2 | 1.50 (1.50 to 1.50) |" in text
    assert (
        "| quiet cluster | fetches, leader_local_mean, partition_skew, stock_fetch_total | 1 | 2.00 |" in text
    )


def test_the_target_of_every_table_counts_only_batches_that_touch_every_table(state):
    question = "CPU seconds of a batch of gold that touches every table"
    every, some = sorted(targets.EVERY), [*ORDINARY, "stock_fetch_total"]

    text = _quiet(state, [("moves", some, 1.0), ("quiet cluster", some, 1.0)])
    assert _row(text, question)[1] == targets.NOT_MEASURED

    text = _quiet(state, [("moves", some, 1.0), ("moves", every, 2.0)])
    assert _row(text, question)[1:4] == ["2.00; n = 1", "≤ 2.50", "not judged: n = 1"]

    text = _quiet(state, [("moves", every, 2.0), ("moves", every, 2.0)])
    assert _row(text, question)[1:4] == ["2.00 (2.00 to 2.00); n = 2", "≤ 2.50", "met"]
    assert f"| moves | all {len(every)} | 2 | 2.00 (2.00 to 2.00) |" in text


def test_the_target_of_lines_alone_counts_the_most_frequent_kind_of_batch_without_scrapes(state):
    one_kind = [("lines alone", ORDINARY, 0.5)] * 2
    others = [("quiet cluster", ORDINARY, 3.0), ("lines alone", ["fetches"], 0.1)]
    text = _quiet(state, others + one_kind + [("lines alone", ["partition_skew"], 0.1)] * 3)

    question = "CPU seconds of a batch of gold of lines alone, with fetches and the verdict"
    assert _row(text, question)[1:4] == ["0.50 (0.50 to 0.50); n = 2", "≤ 1.00", "met"]


def test_an_hour_at_once_has_a_row_for_each_way_and_a_failed_one_has_no_figure_in_the_head(state):
    sizes = {"all_gb": 3.5, "jvm_gb": 0.75, "python_gb": 2.75, "heap_used_gb": 0.5, "heap_left_gb": 0.25}
    builds = [
        {"way": way, "exit_code": code, "wall_s": 90.0, "samples": 90, "memory_is": "PSS", "batches": batches}
        | sizes
        for way, code, batches in (("stream", 0, 9), ("stream in one batch", 1, 0), ("back-fill", 0, 0))
    ]
    _save(state, "hour", {"n": 7_200_000, "per_s": 2_000.0, "heap": "2g", "builds": builds})

    text = _text(state)

    question = "An hour of silver at 2,000 lines/s at once, {}: peak memory of build-gold"
    assert _row(text, question.format("stream"))[1:4] == ["3.50 GB; n = 90", "", "no target"]
    assert _row(text, question.format("stream in one batch"))[1] == targets.NOT_MEASURED
    assert "| stream | 9 | 90 | 3.50 | 0.75 | 2.75 | 0.50 | 0.25 |" in text
    assert "| stream in one batch |  | **failed**, exit code 1 |" in text


def test_a_checkpoint_is_spread_over_a_hundred_appends(state):
    of_age = [{"age": age, "cpu_ms": 100.0} for age in (1, 10_000)]
    _save(
        state,
        "aged",
        {
            "appends": 2,
            "checkpoints": 2,
            "rows": 2_000,
            "measured": [
                one | {"round": nth, "wall_ms": wall * (1.1 if one["age"] > 1 else 1.0)}
                for one in of_age
                for nth, wall in enumerate((9.0, 100.0, 100.0))
            ],
            "measured_checkpoints": [
                one | {"round": nth, "wall_ms": wall}
                for one in of_age
                for nth, wall in enumerate((9.0, 1_000.0, 1_000.0))
            ],
        },
    )

    text = _text(state)

    what = f"a checkpoint, every {aged.CHECKPOINT_EVERY} commits"
    assert _row(text, what, "1")[2:4] == ["1,000.0", "100.0"]
    assert _row(text, "append with its share of a checkpoint", "1")[2:4] == ["110.0", "101.0"]
    question = "Append to a table with 10,000 commits / append to a young one, wall time"
    assert _row(text, question)[1:4] == ["1.10 (1.10 to 1.10); n = 2", "≤ 1.20", "met"]


def test_more_samples_per_core_second_are_better(state):
    measured = [
        {"round": nth, "arm": arm, "samples_per_cpu_s": rate, "wall_s": 1.0}
        for arm, rate in ((scrapes.CLIENT, 50_000), (scrapes.PARSE, 400_000), (scrapes.INGEST, 350_000))
        for nth in range(3)
    ]
    document = {"pages": 240, "bytes_a_page": 1e6, "samples": 2_400_000, "batch": 60, "rounds": 2}
    _save(state, "scrapes", document | {"costs": measured})

    text = _text(state)

    question = "Samples of scrapes per core-second, from text to committed silver"
    assert _row(text, question)[2:4] == ["≥ 300,000", "met"]
    assert "prometheus_client 50,000" in text
    assert "**7.00** (7.00 to 7.00)" in _row(text.partition("## Scrapes")[2], scrapes.INGEST)[3]
