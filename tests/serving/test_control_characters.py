"""A client may choose its id: signs that command a terminal or turn the order of letters are written out."""

import json
from dataclasses import asdict

from plotly.io.json import to_json_plotly

from answers.answer import Answer, Headline, Section, Sentences
from answers.exported.gold import ExportedGold
from answers.gold.reader import GoldReader
from answers.listing import Column, Listing
from answers.next_steps.steps import NextStep
from conf.export import Export
from serving.dashboard import render
from serving.report.terminal import answer_lines
from tests.serving.exporter import gold_tables
from tests.serving.report.test_page import text_of

NAME = "app\x1b[2J\x9b\u202e\x07"
PLAIN = r"app\x1b[2J\x9b\u202e\x07"

LISTING = Listing(
    name="clients",
    title="Clients",
    columns=(Column("client id", lambda row: row["client_id"], is_text=True, whole="client_id"),),
)
ANSWER = Answer(
    headline=Headline(
        sentence=f"Client {NAME} is slow.", mood="alarm", evidence=[NAME], steps=[NextStep(f"Ask {NAME}.")]
    ),
    make_sections=lambda: [
        Section(
            name="all",
            title="All",
            blocks=[LISTING.listed([{"client_id": NAME}], query=f"SELECT 1\n-- {NAME}"), Sentences([NAME])],
        )
    ],
)


def assert_plain(shown, times):
    assert shown.count(PLAIN) == times
    assert not (set(NAME) - set(PLAIN)) & set(shown)


def test_the_terminal():
    assert_plain("\n".join(answer_lines(ANSWER)), 4)


def test_the_report():
    text = text_of(ANSWER)
    shown = text[text.index("<body") : text.index("<script", text.index("<body"))]

    assert_plain(shown, 7)
    assert f"SELECT 1\n-- {PLAIN}" in shown


def test_the_dashboard():
    components = render.page(ANSWER, render.Links("clients", lambda path, _filters: path))
    shown = json.loads(to_json_plotly(components))

    assert_plain("\n".join(texts_of(shown)), 7)


def texts_of(shown):
    if isinstance(shown, str):
        return [shown]
    parts = shown.values() if isinstance(shown, dict) else shown if isinstance(shown, list) else []
    return [text for part in parts for text in texts_of(part)]


def test_a_label_of_a_metric(tmp_path):
    end = 1_700_000_000
    gold_tables.fill(tmp_path, end, quiet=2)
    gold_tables.write(
        tmp_path,
        "fetch_latency",
        [
            {
                "window_start": gold_tables.at(end - 10),
                "leader_id": 1,
                "kind": "consumer",
                "n": 5,
                "client_id": NAME,
                "leader_local_p99_ms": 4.0,
                "leader_local_hist": [(gold_tables.bucket(4.0), 5)],
                "is_settled": True,
            }
        ],
    )
    gold = ExportedGold(GoldReader.of_warehouse(tmp_path), asdict(Export()))
    gold.refresh()

    clients = {value for one in gold.samples([end]) for name, value in one.labels if name == "client"}

    assert PLAIN in clients
    assert NAME not in clients
