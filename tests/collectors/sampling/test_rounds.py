"""A sample leaves every logger as it was: whoever is away, dies or meddles."""

import json
import threading
from datetime import datetime

import pytest
from filelock import FileLock
from typer.testing import CliRunner

from collectors.sampling import record, watchdog
from collectors.sampling.errors import SampleError
from collectors.sampling.record import LevelRecord, LoggerLevel
from collectors.sampling.restore import restore
from collectors.sampling.rounds import SamplingPlan, SamplingRun
from conf.exit_codes import ExitCode
from plumbline.cli import app
from tests.collectors.sampling.fake_loggers import CLIENT, REQUEST, FakeLoggers

TARGET = LevelRecord("b:9092", "", ())


@pytest.fixture
def cluster(tmp_path):
    """Two brokers: the request log is set to WARN on both, the client log has its parent's INFO."""
    return FakeLoggers(tmp_path, {1: {REQUEST: "WARN"}, 2: {REQUEST: "WARN"}})


def run(cluster, *, times=1, meanwhile=lambda: None, is_guarded=lambda: True):
    """Run rounds of a moment each; `meanwhile` is called while the loggers are at DEBUG."""
    said = []

    def show(text):
        if "left" in text:
            meanwhile()

    plan = SamplingPlan(
        brokers="all", loggers=(REQUEST, CLIENT), for_s=0.02, every_s=0.05 if times > 1 else None, times=times
    )
    sample = SamplingRun(
        plan,
        folder=cluster.folder,
        target=TARGET,
        loggers=cluster,
        is_guarded=is_guarded,
        stop=threading.Event(),
    )
    return sample.run(show, said.append), said


def test_levels_are_on_disk_before_they_are_changed_and_back_afterwards(cluster):
    """What had its parent's level has none of its own again, so that it follows its parent."""
    seen = []
    failures, _ = run(cluster, meanwhile=lambda: seen.append(cluster.level(1, CLIENT)))

    assert LoggerLevel(1, REQUEST, "WARN", is_inherited=False, unsure_until=0.0) in cluster.recorded[0]
    assert LoggerLevel(2, CLIENT, "INFO", is_inherited=True, unsure_until=0.0) in cluster.recorded[0]
    assert "DEBUG" in seen
    assert cluster.own == {1: {REQUEST: "WARN"}, 2: {REQUEST: "WARN"}}
    assert (failures, record.read(cluster.folder)) == ({}, None)


def test_what_logs_at_debug_anyway_is_left_at_it(cluster):
    cluster.own[1][REQUEST] = "DEBUG"
    _, said = run(cluster)

    assert cluster.own[1] == {REQUEST: "DEBUG"}
    assert f"broker 1: {REQUEST} is already at DEBUG and is not changed" in said


def test_a_level_that_somebody_else_set_meanwhile_stays(cluster):
    _, said = run(cluster, meanwhile=lambda: cluster.own[2].update({REQUEST: "ERROR"}))

    assert cluster.own == {1: {REQUEST: "WARN"}, 2: {REQUEST: "ERROR"}}
    assert any("left at ERROR" in text for text in said)


def test_a_broker_that_is_away_at_the_end_stays_in_the_record_and_holds_up_no_other(cluster):
    failures, _ = run(cluster, meanwhile=lambda: cluster.away.add(2))

    assert failures == {2: "it is away"}
    assert cluster.own[1] == {REQUEST: "WARN"}
    assert {each.broker for each in record.read(cluster.folder).levels} == {2}


def test_the_level_before_outlives_a_round_in_which_its_broker_is_away(cluster):
    """Back in the third round at the DEBUG of the first, it gets the WARN from before the first."""
    rounds = iter([lambda: cluster.away.add(2), lambda: None, lambda: None])
    at = {"round": None}

    def show(text):
        nth = text.split(":")[0]
        if "left" in text and nth != at["round"]:
            at["round"] = nth
            next(rounds)()
        if nth == "round 2" and "restoring" in text:
            cluster.away.clear()

    plan = SamplingPlan(brokers="all", loggers=(REQUEST,), for_s=0.02, every_s=0.05, times=3)
    sample = SamplingRun(
        plan,
        folder=cluster.folder,
        target=TARGET,
        loggers=cluster,
        is_guarded=lambda: True,
        stop=threading.Event(),
    )
    failures = sample.run(show, lambda _: None)

    assert failures == {}
    assert cluster.own == {1: {REQUEST: "WARN"}, 2: {REQUEST: "WARN"}}


def test_the_watchdog_goes_on_until_the_last_broker_is_back(cluster, tmp_path):
    run(cluster, meanwhile=lambda: cluster.away.update({1, 2}))
    waits = []

    def sleep(wait_s):
        waits.append(wait_s)
        if len(waits) >= 3:
            cluster.away.pop()

    code = watchdog.watch(tmp_path, lambda _: cluster, sleep)

    assert (code, len(waits)) == (0, 4)
    assert cluster.own == {1: {REQUEST: "WARN"}, 2: {REQUEST: "WARN"}}


def test_without_its_watchdog_a_sample_puts_levels_back_and_ends(cluster):
    with pytest.raises(SampleError, match="watchdog has died"):
        run(cluster, is_guarded=lambda: False)

    assert cluster.own == {1: {REQUEST: "WARN"}, 2: {REQUEST: "WARN"}}


def test_an_unknown_logger_changes_nothing(cluster):
    cluster.level = lambda broker, logger: (
        "-" if logger == CLIENT else cluster.own[broker].get(logger, "INFO")
    )
    with pytest.raises(SampleError, match=f"broker 1 has no logger {CLIENT}"):
        run(cluster)

    assert cluster.recorded == []


def test_each_round_is_noted_with_its_span(cluster, tmp_path):
    run(cluster, times=2)
    rounds = [json.loads(line) for line in (tmp_path / record.HISTORY).read_text().splitlines()]

    assert [told["brokers"] for told in rounds] == [[1, 2], [1, 2]]
    assert all(datetime.fromisoformat(t["since"]) < datetime.fromisoformat(t["until"]) for t in rounds)


def test_a_damaged_record_is_named_and_kept(tmp_path):
    (tmp_path / record.NAME).write_text('{"levels": [')
    with pytest.raises(SampleError, match=r"levels\.json cannot be read"):
        restore(tmp_path, None, print)

    assert (tmp_path / record.NAME).exists()


@pytest.mark.parametrize(
    "options",
    [
        ("--brokers", "one"),
        ("--for", "60"),
        ("--for", "60s", "--every", "60s"),  # it would never be off
        ("--times", "2"),
        (),  # which cluster?
    ],
)
def test_wrong_options_end_with_2_before_anything_is_asked(tmp_path, options):
    servers = ("--bootstrap-server", "127.0.0.1:1") if options else ()
    result = CliRunner().invoke(app, ["sample", *servers, *options, "--state", str(tmp_path)])

    assert result.exit_code == 2, result.output


def test_a_second_sample_of_the_same_folder_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("collectors.sampling.cli.END_S", 0.1)
    with FileLock(tmp_path / watchdog.LOCK):
        result = CliRunner().invoke(app, ["sample", "--bootstrap-server", "b:1", "--state", str(tmp_path)])

    assert (result.exit_code, "another sample is running" in result.output) == (ExitCode.HELD, True)


def test_what_an_earlier_sample_left_is_put_back_before_a_new_one_begins(tmp_path):
    record.write(tmp_path, TARGET.with_levels([LoggerLevel(1, REQUEST, "WARN", is_inherited=False)]))
    result = CliRunner().invoke(app, ["sample", "--bootstrap-server", "b:1", "--state", str(tmp_path)])

    assert (result.exit_code, "--restore" in result.output) == (ExitCode.STATE, True)
