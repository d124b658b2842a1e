"""The command: what it prints, how it ends, and the names it serves."""

import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager
from datetime import timedelta
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from typer.testing import CliRunner

from conf.settings import PROJECT
from plumbline.cli import app
from serving.dashboard.serve import names_of


def run(*words):
    return CliRunner().invoke(app, ["dashboard", *map(str, words)])


@contextmanager
def started(*words):
    command = [sys.executable, "-m", "plumbline", "dashboard", *map(str, words)]
    environment = os.environ | {"PYTHONPATH": str(PROJECT)}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )
    try:
        yield process, process.stdout.readline()
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("ended_by", [signal.SIGINT, signal.SIGTERM])
def test_it_prints_its_address_answers_and_ends_with_130(made, ended_by):
    with started("--warehouse", made, "--port", 0) as (process, line):
        address = re.search(r"http://127\.0\.0\.1:\d+/", line)[0]
        with urlopen(address) as answer:  # noqa: S310 (our own)
            policy, page = answer.headers["Content-Security-Policy"], answer.read().decode()
        process.send_signal(ended_by)
        _, complaints = process.communicate(timeout=20)

    assert process.returncode == 130
    assert complaints.splitlines()[0] == "stopped"  # DuckDB may count its own leaks behind it
    assert "default-src 'self'" in policy
    assert not re.search(r"""(src|href)=["'](https?:)?//""", page)


def test_a_request_for_another_name_gets_nothing(address):
    """A page elsewhere whose name resolves to loopback must not read what is shown here."""
    with pytest.raises(HTTPError) as refused:
        urlopen(Request(address, headers={"Host": "evil.example"}))  # noqa: S310 (our own)

    assert refused.value.code == 400
    refused.value.close()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "give either --conf FILE or --warehouse DIR"),
        (("--conf", "a.toml", "--warehouse", "b"), "give either --conf FILE or --warehouse DIR"),
        (("--conf", "missing.toml"), "missing.toml"),
        (("--warehouse", "nowhere"), "plumbline build-gold"),
        (("--warehouse", "nowhere", "--since", "week"), "--since 'week' is not a duration"),
    ],
)
def test_wrong_use_is_named(words, message):
    result = run(*words)

    assert result.exit_code == 2
    assert message in result.output


@pytest.mark.parametrize(
    ("options", "days"), [((), 1), (("--since", "36h"), 1.5), (("--days", "0.5"), 0.5)], ids=str
)
def test_pages_look_back_as_far_as_since_says(monkeypatch, options, days):
    """`--days` is the former option."""
    reaches = []
    monkeypatch.setattr(
        "serving.dashboard.cli._serve", lambda _root, _host, _port, reach: reaches.append(reach)
    )

    run("--warehouse", "w", *options)

    assert reaches == [timedelta(days=days)]


def test_a_port_that_is_taken_is_named(made, address):
    result = run("--warehouse", made, "--port", address.rsplit(":", 1)[1].strip("/"))

    assert result.exit_code == 2
    assert "--port 0 takes a free one" in result.output


def test_on_another_address_it_is_called_by_that_alone():
    assert names_of("10.0.0.5") == ["10.0.0.5"]
    assert "localhost" in names_of("127.0.0.1")


def test_help_has_examples():
    assert "plumbline dashboard --conf my.toml" in run("--help").output
