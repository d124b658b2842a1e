"""`plumbline mcp`, asked by the client of the `mcp` package in a process of its own."""

import asyncio
import json
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from mcp import Client, StdioServerParameters
from typer.testing import CliRunner

from serving.ask.mcp_server import mcp_server
from tests.answers import made_gold
from tests.serving.ask.test_ask import app


@pytest.fixture(scope="module")
def conf(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mcp")
    made_gold.warehouse(folder / "lake")
    (folder / "my.toml").write_text(f'[warehouse]\nroot = "{folder / "lake"}"\n')
    return folder / "my.toml"


def result_of(task):
    """Run a task in a loop of its own: the browser of other tests has one in this thread."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, task).result()


def called(server, **arguments):
    async def call():
        async with Client(server) as client:
            return await client.call_tool("ask", arguments)

    return result_of(call())


def test_a_program_gets_what_ask_prints_as_json(conf):
    command = StdioServerParameters(
        command=sys.executable, args=["-m", "plumbline", "mcp", "--conf", str(conf)]
    )
    result = called(command, question="slow-links", cluster="east")
    printed = CliRunner().invoke(app, ["slow-links", "--conf", str(conf), "--cluster", "east", "--json"])

    assert not result.is_error
    assert json.loads(result.content[0].text) == json.loads(printed.stdout)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"question": "slow-link"}, "did you mean 'slow-links'?"),
        ({"question": "quality", "broker": 2}, "quality does not use --broker"),
        ({"question": "slow-links"}, "choose one of the clusters"),
    ],
)
def test_a_wrong_question_is_told_as_an_error_of_the_tool(conf, arguments, message):
    result = called(mcp_server([conf]), **arguments)

    assert result.is_error
    assert message in result.content[0].text


def test_the_tool_says_that_it_only_reads_and_names_every_question(conf):
    async def listed():
        async with Client(mcp_server([conf])) as client:
            return (await client.list_tools()).tools

    (tool,) = result_of(listed())
    assert tool.annotations.read_only_hint
    assert "produce: " in tool.description
    assert tool.input_schema["required"] == ["question"]
