"""What a start meets in its folder: nothing, a running lab, the leftovers of a crash, a damaged file."""

import sys
from queue import Queue
from threading import Thread

import pytest
from filelock import FileLock

from lab import cluster, processes
from lab.errors import LabError
from lab.layout import Lab

SLEEP = [sys.executable, "-c", "import time; time.sleep(60)"]


@pytest.fixture
def with_processes(laid_out, tmp_path):
    for name in ("proxy", "broker-1"):
        laid_out.processes[name] = processes.spawn(SLEEP, output=tmp_path / name)
    laid_out.status = "running"
    laid_out.save()
    yield laid_out
    processes.end(laid_out.processes.values())


def test_a_lab_is_read_back_as_it_was_written(laid_out):
    laid_out.save()

    assert Lab.load(laid_out.state) == laid_out


def test_a_running_lab_is_not_started_twice(with_processes):
    with pytest.raises(LabError, match=r"already runs in .*plumbline lab stop"):
        cluster.start(with_processes.state, say=lambda _: None)

    assert all(processes.find(record) for record in with_processes.processes.values())


def test_a_load_that_ended_does_not_make_a_lab_a_crashed_one(with_processes, tmp_path):
    """Its brokers run: a start must not end them."""
    ended = processes.spawn([sys.executable, "-c", "pass"], output=tmp_path / "load")
    processes.end([ended])
    with_processes.processes["load-1"] = ended
    with_processes.save()

    with pytest.raises(LabError, match="already runs"):
        cluster.start(with_processes.state, say=lambda _: None)


def test_the_leftovers_of_a_crash_are_ended_and_cleared(with_processes, monkeypatch, tmp_path):
    """The proxy died, a broker did not: the next start ends it, clears the folder and goes on."""
    state = with_processes.state
    processes.end([with_processes.processes["proxy"]])
    (state / "broker-1" / "data").mkdir(parents=True)
    (state / "truth").mkdir()
    (state / "truth" / "kept.json").write_text("{}")
    monkeypatch.setattr("conf.java.JARS", tmp_path / "no-jars")  # so that the start itself ends early
    said = []

    with pytest.raises(LabError, match="make setup"):
        cluster.start(state, say=said.append)

    assert any("broker-1" in line for line in said)
    assert processes.find(with_processes.processes["broker-1"]) is None
    assert not (state / "broker-1" / "data").exists()
    assert (state / "truth" / "kept.json").exists()


def test_a_start_that_fails_leaves_no_process(tmp_path, monkeypatch):
    monkeypatch.setattr("conf.java.JARS", tmp_path / "no-jars")

    with pytest.raises(LabError, match="no Kafka jars"):
        cluster.start(tmp_path / "lab", say=lambda _: None)

    lab = Lab.load(tmp_path / "lab")
    assert lab.status == "failed"
    assert "proxy" in lab.processes
    assert not any(processes.find(record) for record in lab.processes.values())


def test_two_starts_at_once_do_not_meet(tmp_path):
    (tmp_path / "lab").mkdir()
    with FileLock(tmp_path / "lab" / ".lock"), pytest.raises(LabError, match="wait for it"):
        cluster.start(tmp_path / "lab", say=lambda _: None)


def test_labs_start_one_after_the_other(tmp_path, monkeypatch):
    """The second waits and says so."""
    said, brought_up = Queue(), []
    monkeypatch.setattr("lab.cluster._bring_up", lambda lab, _: brought_up.append(lab.state))
    second = Thread(target=cluster.start, args=(tmp_path / "second",), kwargs={"say": said.put})

    with cluster.alone(said.put):
        second.start()
        assert said.get(timeout=60) == "waiting until another lab has started, at most 600 s"
        assert brought_up == []
    second.join()

    assert brought_up == [tmp_path / "second"]


def test_a_start_that_hangs_does_not_stop_all_others(monkeypatch):
    monkeypatch.setattr(cluster, "ALONE_WITHIN_S", 0.1)
    said = []

    with cluster.alone(), cluster.alone(said.append):
        assert said == ["waiting until another lab has started, at most 0.1 s"]


def test_no_lab_says_how_to_get_one(tmp_path):
    with pytest.raises(LabError, match="plumbline lab start --state"):
        cluster.stop(tmp_path)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"brokers": []}', '{"brokers": [{}], "links": []}'])
def test_a_damaged_file_is_named(tmp_path, text):
    (tmp_path / "lab.json").write_text(text)

    with pytest.raises(LabError, match=r"lab\.json cannot be read"):
        Lab.load(tmp_path)
