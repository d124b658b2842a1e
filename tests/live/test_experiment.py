"""An experiment on real brokers that is killed and stopped on its way, and is finished all the same."""

import json
import subprocess
import sys
import time
from datetime import datetime
from itertools import pairwise

import psutil
import pytest

from conf.exit_codes import ExitCode
from lab import topics
from lab.experiments.run_folder import RunFolder
from lab.proxy import control

pytestmark = pytest.mark.live

ASKED = 2_000
SLOW = 2
FILE = """
name = "live"
repeats = 2
for_s = 4
warm_up_s = 1
cool_down_s = 0.5
[load]
records_per_s = 400
topic = "experiment"
[lab]
broker = 2
hold_ms = 20
[[arms]]
name = "old"
client_version = "2.8.2"
[[arms]]
name = "today"
properties."linger.ms" = 0
"""
UNITS = {(f"live-00{block}", arm) for block in (1, 2) for arm in ("old", "today")}


@pytest.fixture
def experiment(lab, tmp_path):
    """Give a way to start the command and the folder it keeps its runs in; what is left is ended."""
    topics.create_load_topic(lab, name="experiment", partitions=3, replication_factor=1)
    file, folder, started = tmp_path / "live.toml", RunFolder(tmp_path / "kept"), []
    file.write_text(FILE)

    def start():
        command = [sys.executable, "-m", "plumbline", "experiment", file, "--state", lab.state]
        process = subprocess.Popen([*command, "--keep", folder.root], stderr=subprocess.PIPE, text=True)
        started.append(process)
        return process

    yield start, folder
    for process in started:
        process.kill()
        process.communicate()
    folder.end_orphan()


def test_an_experiment_that_is_killed_goes_on_and_repeats_no_finished_run(lab, experiment):
    start, folder = experiment
    killed = start()
    orphan = producing_after(lab, folder, 1, killed)
    first = files_of(folder)
    killed.kill()
    killed.wait()
    orphan.suspend()  # else it may be done by itself before anybody looks for it
    assert orphan.is_running()
    assert held_ms(lab) == 20

    stopped = start()
    tool = producing_after(lab, folder, 2, stopped)
    second = files_of(folder)
    assert not orphan.is_running()
    stopped.terminate()
    _, said = stopped.communicate(timeout=30)
    assert stopped.returncode == ExitCode.INTERRUPTED
    assert "run the same command again to continue" in said
    assert not tool.is_running()
    assert held_ms(lab) == 0

    last = start()
    _, said = last.communicate(timeout=120)
    assert last.returncode == 0, said

    assert folder.finished() == UNITS
    assert folder.unfinished() == []
    assert first.items() < second.items() < files_of(folder).items()
    assert len(list((folder.root / ".set-aside").glob("*.cut"))) == 2
    # The brokers' word: four runs in full, and of two that were cut off less than the whole.
    assert 4 * ASKED < sum(topics.end_offsets(lab, "experiment").values()) < 6 * ASKED
    assert no_two_at_once(folder)


def producing_after(lab, folder, n, process):
    """Wait until `n` runs are finished and the next one's records arrive; return its tool."""
    deadline, sent = time.monotonic() + 90, None
    while True:
        tools = [child for child in psutil.Process(process.pid).children() if child.name() == "java"]
        if len(folder.finished()) == n and folder.unfinished() and tools:
            there = sum(topics.end_offsets(lab, "experiment").values())
            sent = there if sent is None else sent
            if there > sent:
                return tools[0]
        assert time.monotonic() < deadline
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)


def files_of(folder):
    """Return the finished files and their bytes."""
    return {file.name: file.read_bytes() for file in folder.runs.iterdir() if file not in folder.unfinished()}


def held_ms(lab):
    told = control._ask(lab, {})["links"]
    return next(of["hold_ms"] for of in told if of["follower"] == 0 and of["leader"] == SLOW)


def no_two_at_once(folder):
    told = [json.loads(file.read_bytes().splitlines()[-1])["plumbline_run"] for file in folder.runs.iterdir()]
    spans = sorted(
        (datetime.fromisoformat(of["started_at"]), datetime.fromisoformat(of["ended_at"])) for of in told
    )
    return all(ended < began for (_, ended), (began, _) in pairwise(spans))


def test_a_cluster_that_is_named_is_loaded_with_a_topic_made_and_dropped(lab, tmp_path):
    """Kafka's own tools reach it, with the user's properties."""
    file, properties, kept = (
        tmp_path / "named.toml",
        tmp_path / "client.properties",
        RunFolder(tmp_path / "kept"),
    )
    plain = FILE.replace("repeats = 2", "repeats = 1").replace('topic = "experiment"\n', "")
    file.write_text(plain.replace("[lab]\nbroker = 2\nhold_ms = 20\n", ""))
    properties.write_text("security.protocol=PLAINTEXT\n")
    before = set(topics.admin(lab.bootstrap_servers).list_topics(timeout=10).topics)
    command = [sys.executable, "-m", "plumbline", "experiment", file, "--keep", kept.root]
    done = subprocess.run(
        [*command, "--bootstrap-server", lab.bootstrap_servers, "--properties", properties],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout == f"plumbline compare old today --from {kept.root}\n"
    assert len(kept.finished()) == 2
    frozen = json.loads(kept.frozen.read_text())
    assert frozen["place"]["id"] == cluster_id(lab)
    loaded = {
        json.loads(text.splitlines()[0])["plumbline_run"]["topic_name"] for text in files_of(kept).values()
    }
    assert loaded == {f"live-001-{frozen['mark']}"}
    assert set(topics.admin(lab.bootstrap_servers).list_topics(timeout=10).topics) == before


def cluster_id(lab):
    return topics.admin(lab.bootstrap_servers).list_topics(timeout=10).cluster_id
