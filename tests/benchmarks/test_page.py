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
USED = {"cores": 0.25, "memory_gb": 1.0, "peak_gb": 1.25}


@pytest.fixture
def state(tmp_path):
    measured = [
        {"round": nth, "arm": arm, "cpu_s_per_million": cpu_s[nth], "wall_s": cpu_s[nth] / 2}
        for arm, cpu_s in CPU_S.items()
        for nth in range(3)
    ]
    compared = {"ours": 1_000, "textbook": 998, "apart": 2}
    document = {"n": 1_000, "bytes": 1_200_000, "rounds": 2, "batch": 200_000, "compared": compared}
    _save(tmp_path, "costs", document | {"costs": measured})
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
        (Estimate(0.9, 0.8, 0.95), False, "met"),
        (Estimate(0.9, 0.8, 1.2), False, "met; the interval contains the target"),
        (Estimate(1.1), False, "**missed**"),
        (Estimate(1.1), True, "met"),
        (Estimate(float("inf")), False, "**missed**"),
        (Estimate(float("nan")), False, "**missed**"),
    ],
)
def test_the_figure_decides_and_an_interval_that_contains_the_target_is_named(figure, is_least, expected):
    assert targets.verdict(figure, 1.0, is_least=is_least) == expected


def _run(*, per_s, layers):
    at = 1e9 + np.arange(0.0, 400.0)
    seen = SeenLines(
        per_s=per_s,
        measured_from=1e9 + 40,
        appended_at=at,
        visible_at={layer: at + late_s for layer, late_s in layers.items()},
        batches={"silver": 100, "gold": 0},
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
    assert _row(text, question)[1:4] == ["0.50 s (0.50 to 0.50)", "≤ 1.00 s", "met"]
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
    assert [row[1] for row in rows] == ["0.50 s (0.50 to 0.50)", "2.50 s (2.50 to 2.50)"]


def test_the_targets_of_gold_use_the_run_with_gold(state):
    run = _run(per_s=2_000.0, layers={"silver": 0.5, "gold": 3.5})
    _save(state, "freshness-with-gold", {"slow_s": 60.0, "settle_s": 180.0, "runs": [run]})

    text = _text(state)

    question = "2,000 lines/s, with gold: half of the lines are in gold within"
    assert _row(text, question)[1:4] == ["3.50 s", "≤ 4.00 s", "met"]
    assert _row(text, "2,000 lines/s, with gold: 99 % of the lines are in gold within")[2:4] == [
        "≤ 8.00 s",
        "met",
    ]
    assert _row(text, "2,000 lines/s, with gold: cores of build-gold")[1:4] == ["0.25", "≤ 0.40", "met"]


def test_the_quiet_cluster_adds_up_ingest_and_gold(state):
    runs = [
        {
            "with_gold": with_gold,
            "measured_s": 600.0,
            "sent": {"metrics": 180},
            "quarantined": 0,
            "usage": {"ingest": USED, "publisher": USED} | ({"build-gold": USED} if with_gold else {}),
            "memory_is": "PSS",
            "batches": [
                {"builds": builds, "cpu_s": cpu_s, "wall_s": 0.5}
                for cpu_s, builds in ((0.8, ["fetches"]), (2.6, ["fetches", "leader_local_mean"]), (9.0, []))
            ],
        }
        for with_gold in (False, True)
    ]
    _save(state, "quiet", {"settle_s": 180.0, "runs": runs})

    text = _text(state)

    assert _row(text, "Quiet cluster, 60 lines/s and scrapes: cores of the ingest")[1:4] == [
        "0.25",
        "≤ 0.15",
        "**missed**",
    ]
    assert _row(text, "Quiet cluster: cores of ingest and build-gold")[1] == "0.50"
    assert "| ingest and build-gold | **ingest + build-gold** | 0.500 | 2.00 | 2.50 |" in text
    of_lines = "CPU seconds of a batch of gold: fetches, round trips and the verdict"
    of_all = "CPU seconds of a batch of gold that also builds the tables of metrics"
    assert _row(text, of_lines)[1:4] == ["0.80", "≤ 1.00", "met"]
    assert _row(text, of_all)[1:4] == ["2.60", "≤ 2.50", "**missed**"]
    assert "| with metrics | 1 | 2.60 | 0.50 | fetches, leader_local_mean |" in text


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
    assert _row(text, question)[1:4] == ["1.10 (1.10 to 1.10)", "≤ 1.20", "met"]


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
