"""A log in a folder of its own; a back-fill without a broker."""

import pytest
import typer
from typer.testing import CliRunner

from collectors.backfill.cli import backfill as command
from tests.collectors.made_log import Log
from tests.collectors.published import Published


@pytest.fixture
def log(tmp_path):
    log = Log(tmp_path)
    yield log
    log.tailer.close()


@pytest.fixture
def published(monkeypatch):
    """Stand in for the producer."""
    published = Published()
    monkeypatch.setattr("collectors.backfill.cli.Publisher", published)
    return published


@pytest.fixture
def conf(tmp_path):
    """Give settings with a state folder of the test's own."""
    path = tmp_path / "my.toml"
    path.write_text(
        f'[collector]\ncluster = "lab"\nstate = "{tmp_path / "state"}"\n[prometheus]\nretries = 1\n'
    )
    return path


@pytest.fixture
def backfill(conf, published):
    """Run `plumbline backfill`; what it publishes is in `published`."""
    assert not published.lines
    app = typer.Typer()
    app.command()(command)

    def run(url, *options, since="2023-11-14T22:20:00Z", until="2023-11-14T23:20:00Z"):
        span = ["--since", since, "--until", until]
        return CliRunner().invoke(app, [url, "--conf", str(conf), *span, *options])

    return run
