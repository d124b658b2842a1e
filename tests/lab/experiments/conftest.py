"""A place for experiments without Kafka: a fake java, a port that answers, and jars that are names."""

import shutil
import socket
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.lab.experiments.tried import call

FILE = """
name = "tried"
repeats = 2
for_s = 0.5
[load]
records_per_s = 20
[[arms]]
name = "old"
client_version = "3.9.1"
[[arms]]
name = "new"
properties = {"linger.ms" = 5}
"""


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """Give the folder of the fake, the experiment's file, its kept runs, and a way to call the command."""
    folder = tmp_path / "fake"
    folder.mkdir()
    java = folder / "java"
    source = Path(__file__).with_name("fake_java.py").read_text()
    java.write_text(f"#!{sys.executable}\n{source}")
    java.chmod(0o755)
    for jars, version in (("kafka", "4.3.1"), ("kafka-3.9.1", "3.9.1")):
        (folder / jars).mkdir()
        (folder / jars / f"kafka-clients-{version}.jar").touch()
    (folder / "cluster-id").write_text("one")
    (folder / "topics").write_text("there")
    monkeypatch.setattr("conf.java.JARS", folder)
    monkeypatch.setattr("conf.java.java", lambda: str(java))
    file, kept = tmp_path / "tried.toml", tmp_path / "kept"
    file.write_text(FILE)
    with socket.create_server(("127.0.0.1", 0)) as server:
        where = f"127.0.0.1:{server.getsockname()[1]}"
        yield SimpleNamespace(
            folder=folder,
            file=file,
            kept=kept,
            where=where,
            java=java,
            call=lambda *more: call(str(file), "--bootstrap-server", where, "--keep", str(kept), *more),
            change=lambda old, new: file.write_text(_changed(file.read_text(), old, new)),
            does=lambda arm, what: (folder / f"{arm}.does").write_text(what),
        )
    shutil.rmtree(folder)


def _changed(text, old, new):
    assert old in text
    return text.replace(old, new)
