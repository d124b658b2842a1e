"""What is wrong with a command line is told with exit code 2; one that was stopped goes on."""

import re

import pytest
from filelock import FileLock

from collectors.backfill.cli import KAFKA_METRICS
from conf.exit_codes import ExitCode
from conf.settings import Settings


@pytest.mark.parametrize(
    ("url", "options", "told"),
    [
        ("http://me:secret@x", [], "give an http or https URL without a password"),
        ("http://x", ["--since", "yesterday"], "'yesterday' is neither an instant"),
        ("http://x", ["--node", "broker-1"], "--node broker-1: give PATTERN=NODE"),
        ("http://x", ["--node", "(=broker-1"], "is not a regular expression"),
        (
            "http://x",
            ["--node", r"b(\d)=broker-\2"],
            "has a wrong group reference for b(\\d): invalid group reference 2",
        ),
        ("http://x", ["--node", r"b=broker-\g<n>"], "has a wrong group reference for b: unknown group name"),
    ],
)
def test_wrong_options_are_named(backfill, url, options, told):
    result = backfill(url, *options)

    assert result.exit_code == 2
    assert told in result.output
    assert "secret" not in result.output


@pytest.mark.parametrize(
    ("name", "is_asked"),
    [
        ("aws_kafka_produce_total_time_ms_mean_average", True),
        ("aws_msk_kafka_server_BrokerTopicMetrics_Count", True),
        ("kafka_server_raftmetrics_current_leader", True),
        ("process_start_time_seconds", True),
        ("up", True),
        ("aws_ec2_cpuutilization_average", False),
        ("node_load1", False),
    ],
)
def test_names_that_are_known_are_asked_for_by_default(name, is_asked):
    [pattern] = re.findall('__name__=~"(.*)"', KAFKA_METRICS)

    assert bool(re.fullmatch(pattern, name)) is is_asked


def test_a_secret_that_cannot_be_read_is_told_by_its_path(backfill, conf):
    conf.write_text(conf.read_text() + 'bearer_token_file = "/nowhere/token"\n')
    result = backfill("http://x")

    assert result.exit_code == 2
    assert "/nowhere/token" in result.output


def test_a_run_that_is_stopped_says_that_it_goes_on(backfill, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("collectors.backfill.cli.PrometheusClient.types", interrupted)
    result = backfill("http://x")

    assert result.exit_code == 130
    assert "the next run continues" in result.output


def test_a_second_run_of_the_same_waits_for_the_first_to_end(backfill, conf, monkeypatch):
    monkeypatch.setattr("collectors.backfill.cli.PrometheusClient.types", lambda _: {})
    monkeypatch.setattr("collectors.backfill.cli.PrometheusClient.names", lambda *_: [])
    assert backfill("http://x").exit_code == 0
    state = Settings.load(conf).collector.state
    [held] = (conf.parent / state / "backfill").glob("*.lock")
    with FileLock(held):
        result = backfill("http://x")

    assert result.exit_code == ExitCode.HELD
    assert "another backfill with the same server and selection is running" in result.output


def test_a_damaged_note_is_told_by_its_path(backfill, conf, monkeypatch):
    monkeypatch.setattr("collectors.backfill.cli.PrometheusClient.types", lambda _: {})
    monkeypatch.setattr("collectors.backfill.cli.PrometheusClient.names", lambda *_: [])
    backfill("http://x")
    [note] = (conf.parent / "state" / "backfill").glob("*.json")
    note.write_text("{")
    result = backfill("http://x")

    assert result.exit_code == 1
    assert f"{note} cannot be read" in result.output
    assert "remove it" in result.output


def test_a_server_without_such_samples_says_so(backfill, monkeypatch):
    monkeypatch.setattr("collectors.backfill.cli.PrometheusClient.types", lambda _: {})
    monkeypatch.setattr("collectors.backfill.cli.PrometheusClient.names", lambda *_: [])
    result = backfill("http://x", "--match", "kafka_x")

    assert result.exit_code == 0
    assert "http://x has no samples of kafka_x in this time range" in result.output
