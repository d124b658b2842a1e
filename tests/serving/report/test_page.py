"""The page in a real browser."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from answers.formats import NONE
from serving.report.answers import Answers
from serving.report.page import Stamp, page
from tests.serving.report import gold_rows

STAMP = Stamp(generated_at=datetime(2026, 11, 21, 12, 0, tzinfo=UTC), version="0.1.0")
CASES = {
    "slow_link": gold_rows.slow_link,
    "slow_broker": gold_rows.slow_broker,
    "healthy": gold_rows.healthy,
    "tie": gold_rows.tie,
    "empty": Answers,
}
HOSTILE = '<script>document.title="owned"</script><img src=x onerror="alert(1)">{{ 7 * 7 }}%{y}'


def written(answers: Answers, folder: Path, name: str = "report") -> Path:
    path = folder / f"{name}.html"
    path.write_text(page(answers, STAMP), encoding="utf-8")
    return path


@pytest.mark.parametrize("case", CASES)
def test_page_asks_for_nothing_but_itself_and_complains_of_nothing(case, chromium, tmp_path):
    path = written(CASES[case](), tmp_path, case)

    opened = chromium.open(path)
    opened.page.screenshot(path=tmp_path / f"{case}.png", full_page=True)

    assert opened.requests == [path.as_uri()]
    assert opened.complaints == []


def test_heat_map_shows_every_pair_and_leaves_the_diagonal_empty(chromium, tmp_path):
    opened = chromium.open(written(gold_rows.slow_link(), tmp_path))

    cells = opened.page.evaluate("document.getElementById('heat-paired').data[0].z")
    labels = opened.page.locator("#heat-paired .heatmap-label").all_text_contents()

    assert [[cell is None for cell in row] for row in cells] == [
        [True, False, False],
        [False, True, False],
        [False, False, True],
    ]
    assert sorted(labels) == sorted(f"{cell:.2f}" for row in cells for cell in row if cell is not None)
    assert max(cell for row in cells for cell in row if cell) == cells[2][0] > 20


def test_slow_pair_has_the_darkest_cell_and_all_others_are_pale(chromium, tmp_path):
    """Colours are read off the screen: the slow pair is seen at once."""
    opened = chromium.open(written(gold_rows.slow_link(), tmp_path))

    colours = {pair: opened.page.evaluate(COLOUR_OF_CELL, list(pair)) for pair in gold_rows.LEVELS}

    slow = colours.pop((3, 1))
    assert slow[0] > 150  # red
    assert max(slow[1:]) < 80
    assert min(min(colour) for colour in colours.values()) > 215  # nearly white


COLOUR_OF_CELL = """async ([follower, leader]) => {
  const plot = document.getElementById("heat-paired");
  const image = plot.querySelector(".hm image");
  if (image === null) throw new Error("the heat map is not drawn");
  const picture = new Image();
  picture.src = image.getAttribute("href") || image.getAttribute("xlink:href");
  await picture.decode();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [picture.width, picture.height];
  const pen = canvas.getContext("2d");
  pen.drawImage(picture, 0, 0);
  const [x, y] = [(leader - 0.5) / 3 * picture.width, (follower - 0.5) / 3 * picture.height];
  return [...pen.getImageData(x - picture.width / 10, y, 1, 1).data].slice(0, 3);
}"""


def test_pairs_without_round_trips_say_no_data(chromium, tmp_path):
    answers = gold_rows.healthy()
    summary = [row for row in answers.broker_rtt_summary if (row["follower_id"], row["leader_id"]) != (2, 3)]
    opened = chromium.open(
        written(gold_rows.answers(set(), gold_rows.NOBODY, broker_rtt_summary=summary), tmp_path)
    )

    texts = opened.page.locator("#heat-paired .annotation-text").all_text_contents()

    assert sorted(texts) == ["no data", NONE, NONE, NONE]


def test_text_of_users_is_shown_and_never_run(chromium, tmp_path):
    """A client id, a file name and the bytes of a line are text: script, markup and template signs alike."""
    listed = {
        "reason": "not_json",
        "source": HOSTILE,
        "position": HOSTILE,
        "detail": HOSTILE,
        "preview": HOSTILE,
    }
    answers = gold_rows.answers(
        set(),
        gold_rows.NOBODY,
        fetch_latency_summary=[gold_rows.consumer(HOSTILE)],
        quarantine=[listed],
        quarantine_by_reason=[{"reason": "not_json", "lines": 1}],
        skipped=[{"logger": HOSTILE, "reason": "other_logger", "lines": 3}],
        data_quality=[{**gold_rows.quality(1), "source": HOSTILE, "node": HOSTILE}],
        inputs={"not_understood": [{"path": HOSTILE, "reason": "no"}]},
    )
    opened = chromium.open(written(answers, tmp_path))

    shown = opened.page.locator("#consumer-table td.path").inner_text()
    title, scripts = opened.page.title(), opened.page.locator("script").count()

    assert shown == HOSTILE
    assert title.startswith("Plumbline: ")
    assert opened.page.locator("img").count() == 0
    assert opened.complaints == []
    assert scripts == chromium.open(written(gold_rows.healthy(), tmp_path)).page.locator("script").count()


def test_dark_page_draws_light_ink(chromium, tmp_path):
    opened = chromium.open(written(gold_rows.slow_link(), tmp_path), color_scheme="dark")

    ink = opened.page.evaluate("document.getElementById('heat-paired').layout.font.color")

    assert ink == "#e4e8ee"


def test_a_broken_rule_stands_with_its_hour_and_an_example_and_one_that_holds_does_not(tmp_path):
    held = gold_rows.BROKEN_RULE | {
        "rule": "api_is_known",
        "is_passed": True,
        "rows_failed": 0,
        "examples": [],
    }
    text = written(Answers(quality_results=[held, gold_rows.BROKEN_RULE]), tmp_path).read_text()

    assert "2 checks of rules, " in text
    assert ">1 failed</span>" in text
    assert "silver.requests" in text
    assert "times_add_up" in text
    assert "api_is_known" not in text
    assert "2026-11-21 11:00:00" in text
    assert "{&#34;n&#34;: 1}" in text


def test_page_is_small_enough_to_send():
    """Plotly is 4.9 MB of it; the figures of a short span add little."""
    assert len(page(gold_rows.slow_link(), STAMP).encode()) < 5_100_000


def test_shape_of_the_page_stands_when_javascript_is_off():
    """The sentence, the pair table and the data quality are plain HTML."""
    text = page(gold_rows.slow_link(), STAMP)

    assert "<h1>Broker 3&#39;s link to broker 1 is slow by 20.0 ms since 11:04:20 UTC.</h1>" in text
    assert text.index('id="pair-table"') < text.index('id="dashboard"') < text.index('id="quality"')
