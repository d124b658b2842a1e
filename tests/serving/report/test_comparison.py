"""The page and the texts of a comparison: whole, offline, and safe from the names that users give."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from schemas.gold.run_comparison import RUN_COMPARISON
from serving.report.compare.document import document, markdown, sentence_of
from serving.report.compare.figures import over_time, quantiles, series, strip
from serving.report.compare.page import differing, page
from serving.report.document import as_text
from serving.report.page import Stamp
from tests.verdicts.made_runs import run_of, window
from verdicts.comparison import ComparisonRequest, compared
from verdicts.runs import ChangePoint

STAMP = Stamp(generated_at=datetime(2026, 11, 21, tzinfo=UTC), version="test")
EVIL = "</script><img src=x onerror=alert(1)>|`x`"
SIZES = (100.0, 104.0, 98.0, 101.0, 97.0, 103.0)


@pytest.fixture
def comparison():
    runs = []
    for nth, size in enumerate(SIZES):
        for arm, factor in (("old", 1.0), (EVIL, 0.7)):
            windows = [window(5 * k, factor * size) for k in range(1, 20)]
            more = {"asked_records": None, "sent_records": None, "windows": windows}
            runs.append(run_of(f"{EVIL}{nth}", arm, factor * size, minute=4 * nth, **more))
    return compared(runs, ComparisonRequest(baseline="old", contender=EVIL, metrics=("p99_ms", "avg_ms")))


def test_page_draws_everything_asks_for_nothing_and_runs_no_users_text(comparison, chromium, tmp_path):
    (tmp_path / "c.html").write_text(page(comparison, STAMP))

    opened = chromium.open(tmp_path / "c.html")
    drawn = opened.page.eval_on_selector_all("[data-figure]", "all => all.map(one => one.dataset.figure)")
    assert opened.complaints == []
    assert opened.requests == [(tmp_path / "c.html").as_uri()]
    assert set(drawn) == {
        "figure-intervals",
        "figure-strip-0",
        "figure-strip-1",
        "figure-series-figure",
        "figure-quantiles-figure",
        "figure-avg",
        "figure-max",
    }
    assert opened.page.locator("h1").inner_text().startswith(f"IMPROVED: {EVIL} against old, p99_ms, -30.0 %")
    assert opened.page.locator("img").count() == 0


def test_json_has_every_declared_column_and_is_json(comparison):
    content = document(comparison, "lab", {"from": "x"})

    assert [list(row) for row in content["run_comparison"]] == [RUN_COMPARISON.schema.names] * 2
    assert content["run_comparison"][0]["is_deciding"]
    assert not content["run_comparison"][1]["is_deciding"]
    assert EVIL in as_text(content).replace('\\"', '"')


def test_markdown_shows_names_as_they_are(comparison):
    text = markdown(comparison)

    assert "\\<img src=x" in text
    assert "<img" not in text.replace("\\<", "")
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert {line.replace("\\|", "").count("|") for line in rows} == {13}


def test_a_line_joins_the_runs_of_a_block_and_the_axis_is_of_rarity(comparison):
    joined = [trace for trace in strip(comparison, comparison.deciding).data if trace.type == "scatter"]
    assert [tuple(trace.y) for trace in joined] == [(size, pytest.approx(0.7 * size)) for size in SIZES]

    ticks = quantiles(comparison).layout.xaxis
    assert list(ticks.ticktext) == ["50 %", "95 %", "99 %", "99.9 %"]
    assert list(ticks.tickvals) == pytest.approx([0.30103, 1.30103, 2.0, 3.0])


def test_a_change_of_an_arm_itself_is_marked_where_it_began(comparison):
    first = comparison.baseline[3]
    point = ChangePoint(arm="old", run=first.run, at=first.started_at, metric="p99_ms", change=0.25, p=0.0001)
    told = replace(comparison, change_points=[point])

    (line,), (note,) = series(told).layout.shapes, series(told).layout.annotations
    assert line.x0 == series(told).data[0].x[3]
    assert note.text.endswith(": +25.0 %")
    assert "<" not in note.text
    assert document(told, None, {})["change_points"][0]["run"] == first.run


def test_end_of_the_warm_up_is_drawn(comparison):
    (line,) = over_time(comparison, "avg_ms", "ms").layout.shapes

    assert line.x0 == 5.0


def test_what_only_one_arm_was_set_to_is_listed():
    runs = [
        run_of("r1", "old", 1.0),
        run_of("r1", "new", 1.0, configuration=("--producer-props", "acks=all")),
    ]
    told = compared(runs, ComparisonRequest(baseline="old", contender="new"))

    assert differing(told) == [("old", "acks=1"), ("new", "acks=all")]
    assert sentence_of(told).startswith("INCONCLUSIVE: new against old")
