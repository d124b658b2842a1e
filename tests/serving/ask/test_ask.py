"""`plumbline ask`: the answers of the pages, for a terminal and for programs."""

import json
import re

import pytest
import typer
from typer.testing import CliRunner

from answers.questions import QUESTIONS
from conf.settings import PROJECT
from serving.ask.cli import ask
from serving.report.terminal import WIDTH
from tests.answers import made_gold

app = typer.Typer()
app.command()(ask)


@pytest.fixture(scope="module")
def conf(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ask")
    made_gold.warehouse(folder / "lake")
    (folder / "my.toml").write_text(f'[warehouse]\nroot = "{folder / "lake"}"\n')
    return folder / "my.toml"


def run(conf, *words):
    return CliRunner().invoke(app, [*words, "--conf", str(conf), "--cluster", "east"])


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.name)
def test_every_question_is_answered_as_json_and_for_a_terminal(conf, question):
    chosen = {"pair": ["--pair", "3:1"], "incident": ["--incident", "none"]}
    options = [question.name, *chosen.get(question.name, [])]
    shown, content = run(conf, *options), json.loads(run(conf, *options, "--json").stdout)

    assert shown.exit_code == 0
    lines = shown.stdout.splitlines()
    assert max(len(line) for line in lines if not line.startswith("   ")) <= WIDTH  # but for commands
    assert content["question"] == question.name
    assert set(content) == {
        *("schema_version", "question", "cluster", "since", "until", "newest_window"),
        *("verdict", "tables", "missing"),
    }
    assert content["tables"] or content["missing"]
    for table in content["tables"].values():
        assert 0 < len(table["rows"]) <= table["rows_in_all"]
        assert not [name for row in table["rows"] for name in row if name.endswith("_hist")]


def test_answer_begins_with_the_age_of_the_data(conf):
    """The verdict says "is" and "open" of the newest window, which may be days old."""
    newest = json.loads(run(conf, "slow-links", "--json").stdout)["newest_window"]
    first = run(conf, "slow-links").stdout.splitlines()[0]

    assert newest == "2026-11-21T11:04:50Z"
    assert re.fullmatch(r"\(newest window 2026-11-21 11:04:50 UTC, \d+ (days|h) ago\)", first)


def test_rows_are_those_of_the_filters(conf):
    brokers = [
        json.loads(run(conf, "slow-links", "--json", *options).stdout)["tables"]["pair_table"]["rows_in_all"]
        for options in ([], ["--broker", "2"])
    ]

    assert brokers == [12, 8]


def test_json_has_as_many_rows_as_documented_and_says_how_many_there_are(conf, monkeypatch):
    monkeypatch.setattr("serving.ask.answering.MOST_ROWS", 5)

    table = json.loads(run(conf, "slow-links", "--json").stdout)["tables"]["pair_table"]

    assert (len(table["rows"]), table["rows_in_all"]) == (5, 12)


def test_ids_of_incidents_are_whole_at_the_terminal(conf):
    """An id is copied into `ask incident --incident ID`."""
    rows = json.loads(run(conf, "incidents", "--json").stdout)["tables"]["incidents"]["rows"]
    lines = run(conf, "incidents").stdout.splitlines()

    words = [word for line in lines for word in line.split()]
    assert len(rows) >= 3
    assert [row["incident"] for row in rows if row["incident"] not in words] == []
    assert max(map(len, lines)) <= WIDTH
    assert "not shown" not in "".join(lines)


def test_incident_is_asked_for_by_its_id(conf):
    rows = json.loads(run(conf, "incidents", "--json").stdout)["tables"]["incidents"]["rows"]
    found = next(row for row in rows if row["kind"] == "culprit")

    content = json.loads(run(conf, "incident", "--incident", found["incident"], "--json").stdout)

    assert content["verdict"]["sentence"] == found["found"]
    assert content["verdict"]["next_steps"][0]["text"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["slowest"], "no question 'slowest'; there are: slow-links, incidents"),
        (["slow-link"], "no question 'slow-link'; did you mean 'slow-links'? there are: "),
        (["throttles", "--pair", "3:1"], "throttles does not use --pair; `ask pair` does"),
        (["pair", "--pair", "3:1", "--incident", "x"], "pair does not use --incident; `ask incident` does"),
        (["pair", "--pair", "3"], "--pair '3' is not FOLLOWER:LEADER"),
        (["quality", "--since", "yesterday"], "is neither an instant"),
        (["pair"], "ask pair needs --pair FOLLOWER:LEADER"),
        (["incident"], "ask incident needs --incident ID"),
        (["quality", "--broker", "2"], "quality does not use --broker; its filters: none"),
        (["lookups", "--topic", "orders"], "lookups does not use --topic; its filters: --client"),
    ],
)
def test_wrong_use_is_one_line_that_names_what_is_possible(conf, words, says):
    result = run(conf, *words)

    assert result.exit_code == 2
    assert says in result.output
    assert len(result.output.splitlines()) == 1


@pytest.mark.parametrize(
    ("words", "evidence"),
    [
        (["slow-links", "--broker", "9"], ["Known: 1, 2, 3."]),
        (["partitions", "--topic", "order"], ["Did you mean orders?", "Known: orders."]),
        (
            ["fetches", "--client", "app-z"],
            [
                "Did you mean app?",
                "Known: app, broker-1-fetcher-0, broker-2-fetcher-0, broker-3-fetcher-0.",
            ],
        ),
    ],
)
def test_a_filter_that_matches_nothing_is_named_with_the_known_values(conf, words, evidence):
    content = json.loads(run(conf, *words, "--json").stdout)

    span = "between 2026-11-21 11:00:00 and 2026-11-21 11:05:00 UTC"
    assert content["verdict"]["sentence"] == f"Nothing about {words[1][2:]} {words[2]} {span}."
    assert content["verdict"]["mood"] == "unsure"
    assert content["verdict"]["evidence"] == evidence
    assert content["tables"] == {}
    assert "slow by" not in run(conf, *words).stdout


@pytest.mark.parametrize(("pair", "unknown"), [("3:9", 9), ("9:3", 9)])
def test_a_pair_with_an_unknown_broker_names_the_known_ones(conf, pair, unknown):
    verdict = json.loads(run(conf, "pair", "--pair", pair, "--json").stdout)["verdict"]

    assert verdict["sentence"].startswith(f"Nothing about broker {unknown} between ")
    assert verdict["evidence"] == ["Known: 1, 2, 3."]


def test_a_filter_is_compared_with_the_values_of_its_span(conf):
    words = ["slow-links", "--broker", "3", "--json"]
    later, whole = (json.loads(run(conf, *words, *more).stdout) for more in (["--since", "2026-11-22"], []))

    assert "3" not in later["verdict"]["sentence"]  # without any value there is no data, whatever the filter
    assert whole["verdict"]["sentence"].startswith("Broker 3's link to broker 1 is slow")


def test_every_question_and_key_is_documented():
    page = (PROJECT / "docs" / "ask.md").read_text(encoding="utf-8")
    words = re.findall(r"[\w-]+", CliRunner().invoke(app, ["--help"]).output)

    assert [question.name for question in QUESTIONS if question.name not in words] == []
    assert [question.name for question in QUESTIONS if f"| `{question.name}` |" not in page] == []
    assert all(f"`{key}`" in page for key in ("schema_version", "verdict", "tables", "missing", "next_steps"))
