"""No command reads or changes the warehouse of a newer Plumbline."""

import json
import signal

import pytest
from typer.testing import CliRunner

from conf.warehouse_format import FORMAT, MARK
from engine.delta import tables
from plumbline.cli import COMMANDS, app
from schemas.silver.requests import REQUESTS

WITHOUT_WAREHOUSE = {"demo", "collect", "backfill", "sample", "perf-test", "experiment", "lab"}
AT_EACH_QUESTION = {"mcp"}
"""It runs the checks of `ask` at each question, not at its start."""

OPTIONS = {
    "alerts": ["backtest"],
    "ask": ["slow-links"],
    "check-quality": ["--layer", "silver"],
    "compare": ["a", "b"],
    "dashboard": ["--port", "0"],
    "export": ["--once"],
    "ingest": ["--once"],
    "migrate": ["--yes"],
}
"""What a command needs besides `--conf`."""


@pytest.fixture(scope="module")
def newer(tmp_path_factory):
    """Return the settings of a warehouse that a newer Plumbline wrote."""
    folder = tmp_path_factory.mktemp("newer")
    root = folder / "warehouse"
    tables.make(root, REQUESTS)
    (root / MARK).write_text(json.dumps({"format": FORMAT + 1, "plumbline": "9.9.0"}))
    conf = folder / "my.toml"
    conf.write_text(f'[warehouse]\nroot = "{root}"\ncheckpoints = "{folder / "checkpoints"}"\n')
    return conf


@pytest.fixture(autouse=True)
def _signals():
    """Jobs handle signals until their process ends."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def files(folder):
    """Return the files, without the locks, which a writer takes before it looks."""
    return {
        file: file.read_bytes() for file in folder.rglob("*") if file.is_file() and file.suffix != ".lock"
    }


@pytest.mark.parametrize(
    "name", [name for name in COMMANDS if name not in WITHOUT_WAREHOUSE | AT_EACH_QUESTION]
)
def test_it_is_refused_with_both_versions_and_nothing_is_written(newer, name):
    before = files(newer.parent)

    done = CliRunner().invoke(app, [name, *OPTIONS.get(name, []), "--conf", str(newer)])

    assert done.exit_code == (7 if name == "compare" else 2), done.output
    assert f"format {FORMAT + 1}, which Plumbline 9.9.0 wrote. This is Plumbline 0.1.0" in done.stderr
    assert files(newer.parent) == before


def test_a_dashboard_of_a_folder_refuses_it_too(newer):
    done = CliRunner().invoke(
        app, ["dashboard", "--port", "0", "--warehouse", str(newer.parent / "warehouse")]
    )

    assert done.exit_code == 2
    assert "which Plumbline 9.9.0 wrote" in done.stderr
