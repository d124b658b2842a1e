"""The command: what it prints, how it ends, and the names it serves."""

import base64
import os
import re
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager
from datetime import timedelta
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from typer.testing import CliRunner
from werkzeug.security import generate_password_hash

from conf.settings import PROJECT
from plumbline.cli import app


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
        (("--warehouse", "nowhere"), "no folder nowhere"),
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
    monkeypatch.setattr("serving.dashboard.cli._serve", lambda _root, _place, reach: reaches.append(reach))

    run("--warehouse", ".", *options)

    assert reaches == [timedelta(days=days)]


def test_a_port_that_is_taken_is_named(made, address):
    result = run("--warehouse", made, "--port", address.rsplit(":", 1)[1].strip("/"))

    assert result.exit_code == 2
    assert "--port 0 takes a free one" in result.output


def of(address, **headers):
    """Return the status of a request."""
    try:
        with urlopen(Request(address, headers=headers)) as answer:  # noqa: S310 (our own)
            return answer.status
    except HTTPError as refused:
        refused.close()
        return refused.code


def test_on_all_addresses_it_answers_to_addresses_and_to_its_names_alone(made):
    listening = ("--host", "0.0.0.0", "--port", 0, "--name", "kafka.example.org")  # noqa: S104 (what is tested)
    with started("--warehouse", made, *listening) as (process, line):
        port = re.search(r":(\d+)/", line)[1]
        hosts = (
            f"127.0.0.1:{port}",
            f"10.0.0.5:{port}",
            f"{socket.gethostname()}:{port}",
            "kafka.example.org",
        )
        found = [of(f"http://127.0.0.1:{port}/", Host=host) for host in (*hosts, "evil.example")]
        process.send_signal(signal.SIGINT)
        _, complaints = process.communicate(timeout=20)

    assert found == [200, 200, 200, 200, 400]
    assert "warning: 0.0.0.0 is not loopback; anyone can read all" in complaints


def test_with_users_every_address_needs_a_name_and_its_password(made, tmp_path):
    users = tmp_path / "users.txt"
    users.write_text(f"ada:{generate_password_hash('s:ecret')}\n\nbob:{generate_password_hash('other')}\n")

    def login(text):
        return {"Authorization": f"Basic {base64.b64encode(text.encode()).decode()}"}

    with started("--warehouse", made, "--port", 0, "--users", users) as (_, line):
        address = re.search(r"http://127\.0\.0\.1:\d+/", line)[0]
        for path in ("", "_dash-layout", "export/slow-links/pair-table.csv", "assets/dashboard.css"):
            assert of(address + path) == 401
        wrong = ("ada:other", "ada:", "eve:s:ecret", ":", "bob:s:ecret")
        assert {of(address, **login(text)) for text in wrong} == {401}
        assert of(address, Authorization="Bearer ada:s:ecret") == 401
        assert [of(address, **login(text)) for text in ("ada:s:ecret", "bob:other")] == [200, 200]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ada:scrypt:1024:8:1$a$b\nbob:secret\n", "line 2: not NAME:HASH"),
        (":scrypt:1024:8:1$a$b\n", "line 1: not NAME:HASH"),
        ("ada:scrypt:\n", "line 1: not NAME:HASH"),
        ("ada:scrypt:1024:8:1$b\n", "line 1: not NAME:HASH"),
        ("ada:scrypt:1024:8:1$a$b\n\nbob:scrypt:abc$a$b\n", "line 3: not NAME:HASH"),
        ("ada:scrypt:1:2:3$a$b\n", "line 1: not NAME:HASH"),
        ("ada:scrypt:99999999999999999999:8:1$a$b\n", "line 1: not NAME:HASH"),
        ("ada:scrypt:1024:8:1$a$é\n", "line 1: not NAME:HASH"),
        ("ada:pbkdf2:sha256:x$a$b\n", "line 1: not NAME:HASH"),
        ("ada:pbkdf2:sha256:0$a$b\n", "line 1: not NAME:HASH"),
        ("ada:pbkdf2:md99$a$b\n", "line 1: not NAME:HASH"),
        ("\n", "has no user"),
        (None, "cannot be read"),
    ],
)
def test_a_file_of_users_with_a_mistake_is_named(made, tmp_path, text, message):
    if text is not None:
        (tmp_path / "users.txt").write_text(text)

    result = run("--warehouse", made, "--users", tmp_path / "users.txt")

    assert result.exit_code == 2
    assert message in result.output.replace("\n", " ")
    assert "secret" not in result.output


def test_help_has_examples():
    assert "plumbline dashboard --conf my.toml" in run("--help").output
