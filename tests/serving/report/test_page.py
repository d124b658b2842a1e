"""The page of a report in a real browser."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from answers.answer import Answer, Headline, Sentences, section_of
from answers.data_quality import counts
from answers.fetches import latency
from answers.formats import NONE
from answers.gold.selection import GoldSelection
from answers.questions import WholeAnswer, whole_answer
from schemas.gold.broker_rtt import BROKER_RTT
from schemas.gold.quality_results import QUALITY_RESULTS
from serving.report.page import Stamp, page
from tests.answers.selected import selected
from tests.serving.report import gold_rows

STAMP = Stamp(generated_at=datetime(2026, 11, 21, 12, 0, tzinfo=UTC), version="0.1.0")
CASES = {
    "slow_link": gold_rows.slow_link,
    "slow_broker": gold_rows.slow_broker,
    "healthy": gold_rows.healthy,
    "tie": gold_rows.tie,
    "empty": gold_rows.empty,
}
HOSTILE = '<script>document.title="owned"</script><img src=x onerror="alert(1)">{{ 7 * 7 }}%{y}'
CALM = Headline(sentence="Nothing.", mood="calm")


def text_of(shown: GoldSelection | Answer) -> str:
    """Return the page of all questions, or of one answer."""
    if isinstance(shown, Answer):
        return page(WholeAnswer(headline=shown.headline, answers=[shown]), "a span", STAMP)
    return page(whole_answer(shown), "a span", STAMP)


def written(shown: GoldSelection | Answer, folder: Path, name: str = "report") -> Path:
    path = folder / f"{name}.html"
    path.write_text(text_of(shown), encoding="utf-8")
    return path


def listed(listing, rows, name="section", lines=()):
    """Return an answer with one table."""
    section = section_of(listing.listed(rows), name, Sentences(lines))
    return Answer(headline=CALM, make_sections=lambda: [section])


@pytest.mark.parametrize("case", CASES)
def test_page_makes_no_other_request_and_no_complaint(case, chromium, tmp_path):
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
    tables = gold_rows.tables(set(), gold_rows.NO_CULPRIT)
    tables[BROKER_RTT] = [
        row for row in tables[BROKER_RTT] if (row["follower_id"], row["leader_id"]) != (2, 3)
    ]
    opened = chromium.open(written(selected(tables), tmp_path))

    texts = opened.page.locator("#heat-paired .annotation-text").all_text_contents()

    assert sorted(texts) == ["no data", NONE, NONE, NONE]


@pytest.mark.parametrize(
    ("listing", "row"),
    [
        (latency.CONSUMERS, gold_rows.consumer(HOSTILE)),
        (counts.QUARANTINE, dict.fromkeys(("reason", "source", "position", "detail", "preview"), HOSTILE)),
        (counts.SKIPPED, {"logger": HOSTILE, "reason": "other_logger", "lines": 3}),
        (counts.SOURCES, gold_rows.quality(1) | {"source": HOSTILE, "node": HOSTILE}),
        (counts.NOT_UNDERSTOOD, {"path": HOSTILE, "reason": "no"}),
    ],
    ids=["client", "quarantine", "logger", "source", "file"],
)
def test_text_of_users_is_shown_and_never_run(listing, row, chromium, tmp_path):
    """A client id, a file name and the bytes of a line are text: script, markup and template signs alike."""
    opened = chromium.open(written(listed(listing, [row], lines=[HOSTILE]), tmp_path))
    plain = chromium.open(written(listed(listing, []), tmp_path, "plain"))

    assert HOSTILE in opened.page.locator(f"#{listing.name}").text_content()
    assert opened.page.locator("#section li").text_content() == HOSTILE
    assert opened.page.title() == "Plumbline: Nothing."
    assert opened.page.locator("img").count() == 0
    assert opened.complaints == []
    assert opened.page.locator("script").count() == plain.page.locator("script").count()


def test_dark_page_draws_light_ink(chromium, tmp_path):
    opened = chromium.open(written(gold_rows.slow_link(), tmp_path), color_scheme="dark")

    ink = opened.page.evaluate("document.getElementById('heat-paired').layout.font.color")

    assert ink == "#e4e8ee"


def test_a_failed_rule_is_shown_with_its_hour_and_an_example_and_a_passed_one_is_not():
    passed = gold_rows.FAILED_RULE | {"rule": "api_is_known", "is_passed": True, "rows_failed": 0}
    extra = {QUALITY_RESULTS: [passed | {"examples": []}, gold_rows.FAILED_RULE]}
    text = text_of(gold_rows.slow_link(extra))

    assert "2 checks of rules between the layers: 1 failed." in text
    assert "silver.requests" in text
    assert "times_add_up" in text
    assert "api_is_known" not in text
    assert "2026-11-21 11:00:00" in text
    assert "{&#34;n&#34;: 1}" in text


def test_page_is_small_enough_to_send():
    """Plotly is 4.9 MB of it; the figures of a short span add little."""
    assert len(text_of(gold_rows.slow_link()).encode()) < 5_100_000


def test_sentence_and_tables_are_plain_html():
    """They can be read when JavaScript is off."""
    text = text_of(gold_rows.slow_link())

    assert "<h1>Broker 3&#39;s link to broker 1 is slow by 20.1 ms since 11:04:20 UTC.</h1>" in text
    assert text.index('id="pair-table"') < text.index('id="dashboard"') < text.index('id="quality"')


def test_long_tables_say_that_they_were_cut(chromium, tmp_path):
    rows = [gold_rows.consumer(f"client-{nth}") for nth in range(51)]
    long = chromium.open(written(listed(latency.CONSUMERS, rows), tmp_path))
    whole = chromium.open(written(listed(latency.CONSUMERS, rows[1:]), tmp_path, "whole"))

    cut = "The first 50 of 51 are listed; the JSON has them all."
    assert long.page.locator("#section p.dim").all_inner_texts() == [cut]
    assert long.page.locator("#consumer-table tbody tr").count() == 50
    assert whole.page.locator("#section p.dim").count() == 0


def test_many_sentences_are_folded(chromium, tmp_path):
    lines = [f"sentence {nth}" for nth in range(20)]
    opened = chromium.open(written(listed(latency.CONSUMERS, [], lines=lines), tmp_path))

    lists = opened.page.locator("#section ul.small")
    assert [lists.nth(n).locator("li").count() for n in range(2)] == [14, 6]
    assert opened.page.locator("#section details summary").first.inner_text() == "6 more"
    assert (lists.nth(0).is_visible(), lists.nth(1).is_visible()) == (True, False)
