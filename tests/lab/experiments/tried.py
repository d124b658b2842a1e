"""The command as the tests call it, and what it left."""

import json

from typer.testing import CliRunner

from plumbline.cli import app


def call(*arguments):
    return CliRunner().invoke(app, ["experiment", *arguments])


def calls(folder, tool="ProducerPerformance"):
    """Return the arguments of each call of a tool."""
    told = [json.loads(line) for line in (folder / "calls.jsonl").read_text().splitlines()]
    return [arguments for arguments in told if tool in " ".join(arguments)]


def runs(kept):
    """Return block, arm and exit code of each file that a report would read."""
    told = []
    for file in sorted((kept / "perf-test").iterdir()):
        facts = json.loads(file.read_bytes().splitlines()[-1])["plumbline_run"]
        told.append((facts["run"], facts["arm"], facts["exit_code"]))
    return told
