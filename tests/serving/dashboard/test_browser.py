"""The dashboard as a person has it: opened, clicked through and photographed in a real browser."""

import re

import duckdb
import pytest
from playwright.sync_api import expect

from answers.gold.reader import GoldReader
from answers.questions import QUESTIONS
from conf.http_hosts import names_of
from schemas.gold.broker_rtt_culprit import BROKER_RTT_CULPRIT
from serving.dashboard.app import make
from serving.dashboard.serve import served
from tests.answers import made_gold
from tests.answers.made_gold import HOSTILE
from tests.serving.dashboard.conftest import opened_in

EAST = "?cluster=east"
SLOW = "Broker 3's link to broker 1 is slow by 20.1 ms since 11:02:00 UTC."
SENTENCES = {
    "Fetches": "Broker 3's fetches from broker 1 are the slowest",
    "Partitions": "Broker 1 is slow for 1 of 1 producers' spreads",
    "Throttles": "Broker 1, leader: over limit; ",
    "Redirects": "Clients lost a leader that moved 12 times",
    "Lookups": "1 client asks for known topics again with each new one (2.4.1)",
    "Comparison": "Improved: new against old, p99_ms, -20.0 %.",
    "Who is slow": SLOW,
}


def drawn(opened):
    """Wait until every figure is drawn."""
    opened.page.wait_for_selector(".dash-graph .main-svg")
    expect(opened.page.locator(".dash-graph:not(:has(.main-svg))")).to_have_count(0)


def choose(opened, name, words):
    opened.page.locator(f"#of-{name} .dash-dropdown").click()
    opened.page.locator(".dash-dropdown-option", has_text=words).first.click()
    opened.page.keyboard.press("Escape")


def test_clicking_through_all_pages_asks_no_other_host_and_nothing_complains(opened, tmp_path):
    opened.go(f"/{EAST}")
    for word, sentence in SENTENCES.items():
        opened.page.locator("nav a", has_text=re.compile(f"^{word}$")).click()
        assert opened.says(sentence)
        drawn(opened)
        opened.page.screenshot(path=tmp_path / f"{word}.png", full_page=True)
        assert opened.page.locator("nav a.here").inner_text() == word

    asked = [url for url in opened.requests if not url.startswith(("data:", "blob:"))]
    assert len(asked) > len(SENTENCES)
    assert [url for url in asked if not url.startswith(opened.address)] == []
    assert opened.complaints == []
    assert min(path.stat().st_size for path in tmp_path.glob("*.png")) > 20_000


def test_a_cell_opens_its_pair_over_time_and_its_requests(opened, tmp_path):
    opened.go(f"/{EAST}")
    drawn(opened)
    opened.page.locator("#heat-paired").scroll_into_view_if_needed()
    box = opened.page.locator("#heat-paired .nsewdrag").bounding_box()

    # Rows are followers, columns leaders: the third row, the first column.
    opened.page.mouse.click(box["x"] + box["width"] / 6, box["y"] + box["height"] * 5 / 6)

    assert opened.says("Broker 3 fetches from broker 1 at a round trip of 21.1 ms; its baseline is 1.03 ms.")
    drawn(opened)
    opened.page.screenshot(path=tmp_path / "pair.png", full_page=True)
    assert opened.page.url == f"{opened.address}pair?cluster=east&follower=3&leader=1"
    assert opened.page.locator("#request-table tbody tr").count() == 22
    assert opened.page.locator("#request-table tbody td").nth(2).inner_text() == "40.5"
    opened.page.go_back()
    assert opened.says(SLOW)
    assert opened.complaints == []


def test_a_pair_is_reached_by_keys_alone(opened):
    opened.go(f"/{EAST}")

    opened.page.locator("#pair-table a", has_text="3 from 1").first.focus()
    opened.page.keyboard.press("Enter")

    assert opened.says("Broker 3 fetches from broker 1")


def test_a_filter_narrows_the_page_and_stands_in_its_address(opened, browser, address):
    opened.go(f"/{EAST}")
    assert opened.page.locator("#pair-table tbody tr").count() == 12

    choose(opened, "broker", "2")
    expect(opened.page.locator("#pair-table tbody tr")).to_have_count(8)

    assert opened.page.url == f"{opened.address}{EAST}&broker=2"
    assert opened.verdict == SLOW
    other = opened_in(browser, address)
    other.page.goto(opened.page.url)
    expect(other.page.locator("#pair-table tbody tr")).to_have_count(8)
    assert other.page.locator("#of-broker .dash-dropdown").inner_text().strip() == "2"
    other.page.close()
    assert opened.complaints == []


@pytest.mark.parametrize(
    ("path", "name", "words", "table", "rows"),
    [
        ("/fetches", "client", "app", "#consumer-table", 1),
        ("/redirects", "topic", "audit", "#event-table", 1),
        ("/", "span", "10 minutes", "#pair-table", 12),
        ("/comparison", "run", "newer", "#comparison-table", 1),
    ],
)
def test_filters_of_other_pages(  # noqa: PLR0913, PLR0917 (facts of a case)
    opened, path, name, words, table, rows
):
    opened.go(f"{path}{EAST}")

    choose(opened, name, words)

    opened.page.wait_for_url(re.compile(f"[?&]{name}="))
    expect(opened.page.locator(f"{table} tbody tr")).to_have_count(rows)
    assert opened.complaints == []


def test_another_cluster_is_chosen(opened):
    opened.go(f"/{EAST}")

    choose(opened, "cluster", "west")

    assert opened.says("Not enough data to say who is slow.")
    assert opened.page.locator("#fresh b").inner_text() == "west"


def test_text_of_users_is_shown_and_never_run(opened):
    opened.go("/fetches?cluster=west")
    drawn_text = opened.page.locator("#consumer-table td.t").nth(1)

    assert drawn_text.inner_text() == HOSTILE
    assert opened.page.locator("main img").count() == 0
    assert opened.complaints == []


def test_new_gold_is_shown_without_a_click(browser, tmp_path):
    made_gold.warehouse(tmp_path)
    made_gold.write(tmp_path, BROKER_RTT_CULPRIT, [made_gold.culprit(0)])
    with served(make(GoldReader.of_warehouse(tmp_path), names_of("127.0.0.1"))) as at:
        live = opened_in(browser, at).go(f"/{EAST}")
        assert live.verdict == "No broker, side or link stands out."

        made_gold.write(
            tmp_path, BROKER_RTT_CULPRIT, [made_gold.culprit(n) for n in range(made_gold.WINDOWS)]
        )

        assert live.says(SLOW)
        live.page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_ink_of_figures_stands_out_from_the_page(browser, address, scheme):
    shown = opened_in(browser, address, color_scheme=scheme).go(f"/{EAST}")
    drawn(shown)

    ink = shown.page.evaluate("getComputedStyle(document.querySelector('#heat-paired .ytick text')).fill")
    shown.page.close()

    assert ink == {"light": "rgb(29, 37, 48)", "dark": "rgb(228, 232, 238)"}[scheme]


def test_every_control_has_a_name(opened):
    """What a screen reader would say: figures, tables, filters and navigation."""
    opened.go(f"/{EAST}")
    drawn(opened)

    names = opened.page.locator("[role=figure], [role=region], nav, #filters").evaluate_all(
        "found => found.map(one => one.getAttribute('aria-label'))"
    )
    labels = opened.page.locator(".filter label").evaluate_all(
        "found => found.map(one => document.getElementById(one.htmlFor) !== null)"
    )

    assert all(names)
    assert labels == [True] * 4  # cluster, span, compare with, broker


def test_every_page_says_what_it_is():
    assert len({page.path for page in QUESTIONS}) == len({page.title for page in QUESTIONS}) == len(QUESTIONS)


@pytest.mark.parametrize("kind", ["CSV", "Parquet"])
def test_a_table_is_downloaded_whole_with_the_filters_of_its_page(opened, kind, tmp_path):
    opened.go(f"/{EAST}&broker=2")

    with opened.page.expect_download() as waited:
        opened.page.locator("#pair-list a", has_text=kind).click()
    path = tmp_path / waited.value.suggested_filename
    waited.value.save_as(path)

    rows = duckdb.read_csv(path) if kind == "CSV" else duckdb.read_parquet(str(path))
    rows = rows.fetchall()
    assert path.name == f"pair-table.{kind.lower()}"
    assert len(rows) == 8


def test_search_finds_a_client_by_a_part_of_its_name_and_opens_its_page(opened):
    opened.go(f"/{EAST}")

    opened.page.locator("#search .dash-dropdown").click()
    opened.page.locator(".dash-dropdown-search").fill("ORDERS-A")
    opened.page.locator(".dash-dropdown-option", has_text="client orders-app: Redirects").first.click()

    opened.page.wait_for_url(re.compile("/redirects.*client=orders-app"))
    assert opened.says("Clients lost a leader that moved 12 times")
    assert opened.complaints == []


def test_two_spans_are_compared_pair_by_pair(opened):
    opened.go("/?cluster=east&span=10m&until=2026-11-21T11:05:00&against=span")
    assert "no round trip of these pairs" in opened.page.locator("#compared").inner_text()

    opened.page.goto(f"{opened.address}?cluster=east&until=2026-11-21T11:05:00&span=all")
    opened.go("/?cluster=east&span=10m&until=2026-11-21T11:12:00&against=span")
    drawn(opened)

    assert opened.page.locator("#change-table tbody tr").count() == 12
    assert opened.complaints == []


def test_an_incident_has_a_page_and_is_saved_as_a_note_and_as_a_page(opened, tmp_path):
    opened.go(f"/incidents{EAST}")
    opened.page.locator("#incidents a", has_text="Broker 3's link to broker 1").click()
    assert opened.says(SLOW)
    assert "What to check" in opened.page.locator("#verdict").inner_text()

    saved = {}
    for words in ("Save the note", "Save the page"):
        with opened.page.expect_download() as waited:
            opened.page.locator("a", has_text=words).click()
        path = tmp_path / waited.value.suggested_filename
        waited.value.save_as(path)
        saved[path.suffix] = path

    assert {path.stem[:16] for path in saved.values()} == {"culprit-20261121"}
    assert saved[".md"].read_text().startswith("**Broker 3's link to broker 1 is slow")
    assert "<h1>Broker 3&#39;s link to broker 1 is slow" in saved[".html"].read_text()
    assert opened.complaints == []
