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
    options = [question.name, "--pair", "3:1", "--incident", "none"]
    shown, content = run(conf, *options), json.loads(run(conf, *options, "--json").stdout)

    assert shown.exit_code == 0
    lines = shown.stdout.splitlines()
    assert max(len(line) for line in lines if not line.startswith("   ")) <= WIDTH  # but for commands
    assert content["question"] == question.name
    assert set(content) == {
        *("schema_version", "question", "cluster", "since", "until", "verdict", "tables", "missing")
    }
    assert content["tables"] or content["missing"]
    for table in content["tables"].values():
        assert 0 < len(table["rows"]) <= table["rows_in_all"]
        assert not [name for row in table["rows"] for name in row if name.endswith("_hist")]


def test_rows_are_those_of_the_filters(conf):
    brokers = [
        json.loads(run(conf, "slow-links", "--json", *options).stdout)["tables"]["pair_table"]["rows_in_all"]
        for options in ([], ["--broker", "2"])
    ]

    assert brokers == [12, 8]


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


def test_every_question_and_key_is_documented():
    page = (PROJECT / "docs" / "ask.md").read_text(encoding="utf-8")
    words = re.findall(r"[\w-]+", CliRunner().invoke(app, ["--help"]).output)

    assert [question.name for question in QUESTIONS if question.name not in words] == []
    assert [question.name for question in QUESTIONS if f"| `{question.name}` |" not in page] == []
    assert all(f"`{key}`" in page for key in ("schema_version", "verdict", "tables", "missing", "next_steps"))
