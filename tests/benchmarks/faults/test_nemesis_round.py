"""A round of a nemesis: whatever fails in it, in a job, in a fault or in an oracle, is wrong."""

import threading
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from benchmarks.faults.job import GOLD, INGEST
from benchmarks.faults.nemesis import round as one_round
from benchmarks.faults.nemesis import supervisor as supervision
from benchmarks.faults.nemesis.schedule import FaultKind, PlannedFault
from benchmarks.faults.nemesis.supervisor import Supervisor
from benchmarks.faults.site import Site

NO_BROKER = OSError("no such broker")


class PlayedSite:
    """Topics whose producer publishes until its round ends."""

    ledger, not_in_topic = (), 2

    def __init__(self, error=None):
        """Fail with `error`, if any."""
        self._error = error

    def publish(self, _lines, *, per_s, until):
        """Wait for the end, or fail."""
        assert per_s
        if self._error:
            raise self._error
        until.wait(10.0)

    def close(self):
        """Delete nothing."""


class QuietSupervisor:
    """A supervisor whose jobs run; one of them has ended in a wrong way."""

    def __init__(self):
        """Let both streams run."""
        self.jobs = {word: SimpleNamespace(has_jvm=True) for word in (INGEST, GOLD)}
        self.wrong, self.ends, self.excused = ["an end"], {"ingest 6": 1}, {"ingest 6: full": 1}
        self.is_finished = False

    def start(self):
        """Start nothing."""

    def finish(self):
        """Note the call."""
        self.is_finished = True

    @contextmanager
    def expecting(self, _kind):
        """Expect nothing."""
        yield


@contextmanager
def hits(_targets, _dice):
    yield "something"


@contextmanager
def hits_nothing(_targets, _dice):
    yield ""


@contextmanager
def fails(_targets, _dice):
    raise NO_BROKER
    yield


@pytest.fixture
def play(tmp_path, monkeypatch):
    """Return a function that plays a round without brokers and jobs."""

    def play(fault=hits, site=None, *, is_read=True, found=()):
        targets = SimpleNamespace(
            cluster=SimpleNamespace(wait_until_healthy=lambda: None),
            supervisor=QuietSupervisor(),
            written=SimpleNamespace(settings=None, root=tmp_path / "w" / "warehouse"),
        )
        (tmp_path / "w").mkdir()

        @contextmanager
        def given(*_):
            yield site or PlayedSite(), targets

        @contextmanager
        def disk(folder, _size):
            yield folder

        planned = [PlannedFault(at_s=0.0, kind=FaultKind.BROKER, for_s=0.1, seed=1)]
        monkeypatch.setattr(one_round, "small_disk", disk)
        monkeypatch.setattr(one_round, "_targets", given)
        monkeypatch.setattr(one_round, "schedule", lambda *_: planned)
        monkeypatch.setattr(one_round, "FAULTS", {FaultKind.BROKER: fault})
        monkeypatch.setattr(one_round.all_lines, "steady", lambda *_, **__: [])
        monkeypatch.setattr(one_round, "has_read_all", lambda _: is_read)
        monkeypatch.setattr(one_round, "TAKES_THE_REST_S", 0.5)
        monkeypatch.setattr(one_round, "verdict", lambda *_: list(found))
        outcome = one_round.play(None, tmp_path / "round", "7/0", 1.0, lambda _: None)
        assert targets.supervisor.is_finished
        return outcome

    return play


def test_what_the_supervisor_and_the_oracles_find_is_wrong(play, tmp_path):
    outcome = play(found=["request_log: 1 lost"])

    assert outcome.wrong == ["an end", "request_log: 1 lost"]
    assert [(fault.kind, fault.hit) for fault in outcome.faults] == [("broker lost", "something")]
    assert (outcome.planned, outcome.ends) == ({"broker lost": 1}, {"ingest 6": 1})
    assert (outcome.excused, outcome.not_in_topic) == ({"ingest 6: full": 1}, 2)
    assert (tmp_path / "round" / "left").exists()


def test_a_fault_that_hits_nothing_does_not_count(play):
    outcome = play(hits_nothing)
    assert (outcome.faults, outcome.planned) == ([], {"broker lost": 1})


def test_a_fault_that_fails_is_wrong(play):
    assert play(fails).wrong == ["broker lost itself failed: OSError('no such broker')", "an end"]


def test_a_producer_that_fails_is_wrong(play):
    assert play(site=PlayedSite(AssertionError("late"))).wrong[0] == (
        "the producer has failed: AssertionError('late')"
    )


def test_jobs_that_do_not_take_the_rest_are_wrong(play):
    assert play(is_read=False).wrong[0] == "the jobs did not take the rest within 0.5 s"


def test_a_record_that_is_reported_as_delivered_and_not_in_its_topic_is_counted():
    site = Site.__new__(Site)
    site.ledger, site.not_in_topic, site._unplaced = [], 0, [("reported", "line"), ("reported", "lost")]
    site._producer = SimpleNamespace(flush=lambda _s: 0)
    site._found = lambda _message, line: [] if line == "lost" else [line]

    site.publish([])

    assert (site.ledger, site.not_in_topic) == (["line"], 1)


class LastJob:
    """A job at the end of a round."""

    word, output, _children = INGEST, "ingest stopped: x", ()

    def __init__(self, code, stops_with=0, *, has_left_its_jvm=False):
        """Set how it ended or stops."""
        self.code, self._stops_with, self.has_left_its_jvm = code, stops_with, has_left_its_jvm

    def stop(self):
        """Stop with a code."""
        self.code = self._stops_with
        return self.code

    def bury(self):
        """Kill nothing."""


@pytest.mark.parametrize(
    ("job", "wrong"),
    [
        (LastJob(None), ""),
        (LastJob(None, 1), "ingest did not stop but ended with 1: ingest stopped: x"),
        (LastJob(1), "ingest ended with exit code 1 at "),
        (LastJob(None, has_left_its_jvm=True), "ingest ended with 0, and its processes [] still run"),
    ],
)
def test_a_stream_must_stop_with_0_and_leave_no_process(job, wrong, monkeypatch):
    monkeypatch.setattr(supervision, "ENDS_BY_ITSELF_S", 0.1)
    there = Supervisor(SimpleNamespace(conf=None, root=None), {})
    monkeypatch.setattr(there, "_look_after", lambda _word: None)
    there.start()
    there.jobs, there._runs = {INGEST: job}, [job]

    there.finish()
    there.close()

    assert len(there.wrong) == bool(wrong)
    assert not wrong or there.wrong[0].startswith(wrong)


def test_a_supervisor_that_fails_is_wrong(monkeypatch):
    there, has_failed = Supervisor(SimpleNamespace(conf=None, root=None), {}), threading.Event()

    def look_after(_word):
        has_failed.set()
        raise NO_BROKER

    monkeypatch.setattr(there, "_look_after", look_after)
    there.start()
    assert has_failed.wait(10.0)
    there.join(10.0)

    assert there.wrong == ["the supervisor itself failed: OSError('no such broker')"]
