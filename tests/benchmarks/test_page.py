"""The page of the pipeline's benchmark: its ratios are those of the figures beside them."""

import json

import numpy as np
import pytest

from benchmarks.pipeline import aged, costs, page
from benchmarks.pipeline.lateness import Seen, told

CPU_S = {
    costs.START: (9.0, 2.0, 2.0),
    costs.CONSUMER: (9.0, 6.0, 8.0),
    costs.BRONZE: (90.0, 12.0, 24.0),
    costs.INGEST: (90.0, 60.0, 80.0),
    costs.GOLD: (90.0, 40.0, 60.0),
    costs.TEXTBOOK: (90.0, 40.0, 40.0),
    costs.TEXTBOOK_GOLD: (9.0, 4.0, 4.0),
    costs.DUCKDB: (90.0, 40.0, 40.0),
}


@pytest.fixture
def state(tmp_path):
    measured = [
        {"round": nth, "arm": arm, "cpu_s_per_million": cpu_s[nth], "wall_s": cpu_s[nth] / 2}
        for arm, cpu_s in CPU_S.items()
        for nth in range(3)
    ]
    compared = {"ours": 1_000, "textbook": 998, "apart": 2}
    told_of = {"n": 1_000, "bytes": 1_200_000, "rounds": 2, "batch": 200_000, "compared": compared}
    (tmp_path / "costs.json").write_text(json.dumps(told_of | {"costs": measured}))
    return tmp_path


def _row(text, *cells):
    begin = f"| {' | '.join(cells)} |"
    return next(line for line in text.splitlines() if line.startswith(begin)).split(" | ")


def test_a_ratio_is_the_one_of_the_two_figures_beside_it(state):
    page.write(state, state / "page.md")

    text = (state / "page.md").read_text()
    copied, consumed, less = (
        float(_row(text, arm)[1]) for arm in (costs.BRONZE, costs.CONSUMER, page.LESS_START)
    )
    ratios = _row(text, costs.BRONZE)[3]
    # The round that is thrown away has nines.
    assert (copied, consumed, less) == pytest.approx(
        (np.sqrt(12 * 24), np.sqrt(6 * 8), np.sqrt(4 * 6)), abs=0.05
    )
    assert f"**{np.sqrt(12 * 24 / 6 / 8):.2f}**" in ratios
    assert f"**{np.sqrt(12 * 24 / 4 / 6):.2f}**" in ratios


def test_the_page_tells_how_many_lines_each_pipeline_has(state):
    page.write(state, state / "page.md")

    assert "of 1,000 lines ours has 1,000 and the textbook's 998" in (state / "page.md").read_text()


def test_a_section_takes_its_own_place_and_no_other(state):
    there = "# Performance\n\n<!-- costs -->\nold\n<!-- /costs -->\n\nby hand\n"
    (state / "page.md").write_text(there)

    page.write(state, state / "page.md")

    text = (state / "page.md").read_text()
    assert "old\n" not in text
    assert text.count("<!-- costs -->") == 1
    assert "by hand" in text


def test_what_was_never_seen_has_a_row_too(state):
    at = 1e9 + np.arange(0.0, 400.0)
    seen = Seen(
        per_s=1.0,
        measured_from=1e9 + 40,
        appended_at=at,
        silver_at=at + 2,
        gold_at=np.full(len(at), np.nan),
        batches={"silver": 100, "gold": 0},
        cores={"ingest": 0.5, "build-gold": 0.25},
    )
    (state / "freshness.json").write_text(json.dumps([told(seen)]))

    page.write(state, state / "page.md")

    text = (state / "page.md").read_text()
    assert "2.00 (2.00 to 2.00)" in text
    assert "inf (no interval)" in text
    assert "6 of 60 s, 1 of 359 s" in text


def test_a_checkpoint_is_spread_over_a_hundred_appends(state):
    one = {"age": 1, "cpu_ms": 100.0}
    told_of = {
        "appends": 2,
        "checkpoints": 2,
        "rows": 2_000,
        "measured": [one | {"round": nth, "wall_ms": wall} for nth, wall in enumerate((9.0, 100.0, 100.0))],
        "measured_checkpoints": [
            one | {"round": nth, "wall_ms": wall} for nth, wall in enumerate((9.0, 1_000.0, 1_000.0))
        ],
    }
    (state / "aged.json").write_text(json.dumps(told_of))

    page.write(state, state / "page.md")

    text = (state / "page.md").read_text()
    what = f"a checkpoint, every {aged.CHECKPOINT_EVERY} commits"
    assert _row(text, what, "1")[2:4] == ["1,000", "100"]
    assert _row(text, "append with its share of a checkpoint", "1")[2:4] == ["110", "101"]
