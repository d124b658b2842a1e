"""Two logs of a node and kind: no position is that of two lines, and no line has two positions."""

import gzip
import json
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from collectors.errors import CollectorError
from collectors.log_files.lines import HEAD_LINES, fingerprint, fingerprints
from collectors.main import run
from collectors.publish import Publisher
from conf.settings import Collector, Settings, TailedFile
from tests.collectors.published import Published

HEADER = b"# client log of host app-1\n"
APPS = ("orders", "billing")


class AckedLines(Published):
    """The lines of all runs, acknowledged at once; `on_send` is called before each."""

    def __init__(self):
        """Begin without a line."""
        super().__init__()
        self.on_send = lambda: None

    def topic(self, kind):
        """Return a topic."""
        return kind

    def send_batch(self, batch, flight):
        """Send the lines as the collector does."""
        Publisher.send_batch(self, batch, flight)

    def send(self, line, delivered):
        """Keep and acknowledge a line."""
        self.on_send()
        super().send(line, delivered)
        delivered(None, None)


class NodeOfLogs:
    """A node with two apps, whose logs one collector reads."""

    def __init__(self, folder, published):
        """Make their folders."""
        self.folder, self.published = folder, published
        for app in APPS:
            (folder / app).mkdir()
        files = tuple(TailedFile(path=str(self.log(app)), kind="client-log", node="app-1") for app in APPS)
        self.settings = Settings(collector=Collector(cluster="lab", state=str(folder / "state"), files=files))

    def log(self, app):
        """Return the path of a log."""
        return self.folder / app / "client.log"

    def append(self, app, *lines):
        """Append lines to a log."""
        with self.log(app).open("ab") as log:
            log.writelines(lines)

    def collect(self, *files):
        """Collect what there is once, by default from both logs; return the values by app."""
        before = len(self.published.lines)
        collector = replace(self.settings.collector, files=files or self.settings.collector.files)
        run(replace(self.settings, collector=collector), threading.Event(), once=True)
        lines = self.published.lines[before:]
        return {app: [line.value for line in lines if Path(line.source).parent.name == app] for app in APPS}

    @property
    def positions(self):
        """Return the file of the positions."""
        return self.folder / "state" / "positions.json"

    def are_distinct(self):
        """Return whether no two lines of all runs have the same position."""
        return len({line.position for line in self.published.lines}) == len(self.published.lines)


@pytest.fixture
def node(tmp_path, monkeypatch):
    published = AckedLines()
    monkeypatch.setattr("collectors.main.Publisher", published)
    return NodeOfLogs(tmp_path, published)


def split(*lines):
    return [line.rstrip(b"\n") for line in lines]


def test_two_logs_with_the_same_first_line_are_two_files(node):
    node.append("orders", HEADER, b"10:00:00 one\n")
    node.append("billing", HEADER, b"10:00:01 two\n")

    assert node.collect() == {
        "orders": split(HEADER, b"10:00:00 one"),
        "billing": split(HEADER, b"10:00:01 two"),
    }
    assert node.are_distinct()
    assert node.published.lines[0].position == f"app-1/{fingerprint(HEADER.rstrip())}/0"


@pytest.mark.parametrize("first", APPS)
def test_a_log_that_has_only_the_header_of_the_other_waits_for_its_next_line(node, first):
    for app in APPS:
        node.append(app, HEADER)
    header_only = node.collect()
    node.append(first, b"10:00:00 one\n")
    with_one = node.collect()
    (second,) = set(APPS) - {first}
    node.append(second, b"10:00:00 two\n")
    with_both = node.collect()

    assert header_only == {"orders": split(HEADER), "billing": []}
    assert with_one[first][-1] == b"10:00:00 one"
    read = {app: header_only[app] + with_one[app] + with_both[app] for app in APPS}
    assert read == {first: split(HEADER, b"10:00:00 one"), second: split(HEADER, b"10:00:00 two")}
    assert node.are_distinct()


def test_each_new_file_of_both_logs_has_positions_of_its_own(node):
    for number in range(4):
        for app in APPS:
            node.log(app).unlink(missing_ok=True)
            node.append(app, HEADER, b"10:00:0%d a line of %-7s\n" % (number, app.encode()))
        node.collect()

    assert len(node.published.lines) == 4 * 2 * 2
    assert node.are_distinct()


def test_logs_that_had_one_mark_in_a_former_version_continue_apart(node):
    """No line is published again, and the next lines of both, at the same offset, have two positions."""
    mark, saved = fingerprint(HEADER.rstrip()), {}
    for app in APPS:
        lines = [HEADER, b"10:00:00 a line of %-7s\n" % app.encode()]
        node.append(app, *lines)
        row = {"offset": len(b"".join(lines)), "is_finished": False, "head": fingerprints(b"".join(lines))}
        saved[f"client-log app-1 {node.log(app)}"] = {mark: row}
    node.positions.parent.mkdir()
    node.positions.write_text(json.dumps({"version": 2, "logs": saved}))
    idle = node.collect()
    for app in APPS:
        node.append(app, b"10:00:01 next of %s\n" % app.encode())

    assert idle == {"orders": [], "billing": []}
    assert node.collect() == {
        "orders": [b"10:00:01 next of orders"],
        "billing": [b"10:00:01 next of billing"],
    }
    assert node.are_distinct()
    assert node.collect() == idle


def test_positions_of_logs_that_share_no_mark_stay_as_they_are(node):
    node.append("orders", b"10:00:00 one\n")
    node.append("billing", b"10:00:01 two\n")
    node.collect()
    before = node.positions.read_text()
    node.collect()

    assert node.positions.read_text() == before


def test_the_mark_of_a_new_file_is_on_disk_before_its_first_line_is_sent(node):
    """Else a killed collector could give it to the file of the other log, which it may list first."""
    node.append("orders", HEADER, b"10:00:00 one\n")
    node.collect()
    node.append("billing", HEADER, b"10:00:01 two\n")
    saved = []
    node.published.on_send = lambda: saved.append(json.loads(node.positions.read_text())["logs"])
    node.collect()

    (mark,) = {line.position.split("/")[1] for line in node.published.lines[2:]}
    (row,) = saved[0][f"client-log app-1 {node.log('billing')}"].items()
    assert row[0] == mark
    assert row[1]["offset"] == 0


def test_a_log_that_is_no_longer_listed_keeps_its_marks(node):
    """Its lines are in the topic."""
    node.append("orders", HEADER, b"10:00:00 one\n")
    node.collect()
    node.append("billing", HEADER, b"10:00:01 two\n")
    node.collect(node.settings.collector.files[1])

    assert len(node.published.lines) == 4
    assert node.are_distinct()


def test_a_copy_in_the_folder_of_another_log_has_the_positions_of_its_original(node):
    """So its lines count once: log4j2 can move the rotated files of a log to a folder of their own."""
    content = HEADER + b"".join(b"10:00:%02d a line\n" % second for second in range(HEAD_LINES))
    node.append("orders", content)
    node.collect()
    archive = TailedFile(path=str(node.folder / "billing" / "client.log*"), kind="client-log", node="app-1")
    (node.folder / "billing" / "client.log.1.gz").write_bytes(gzip.compress(content))
    node.collect(node.settings.collector.files[0], archive)

    assert len(node.published.lines) == 2 * (1 + HEAD_LINES)
    assert len(set(node.published.positions)) == 1 + HEAD_LINES


@pytest.mark.parametrize("path", ["orders/client*.log", "link/client.log"])
def test_a_log_that_is_listed_under_two_paths_is_an_error(node, path):
    (node.folder / "link").symlink_to(node.folder / "orders")
    again = TailedFile(path=str(node.folder / path), kind="client-log", node="app-1")

    with pytest.raises(CollectorError, match=r"\[\[collector.files\]\] lists a log twice"):
        node.collect(node.settings.collector.files[0], again)
