import errno
import json
import subprocess
import sys
import threading
import time
from dataclasses import replace
from unittest.mock import Mock

import pytest
from confluent_kafka import KafkaError
from filelock import FileLock
from typer.testing import CliRunner

from collectors.errors import CollectorError
from collectors.log_files.lines import RawLine
from collectors.main import run
from collectors.publish import MAX_RECORD_BYTES, Publisher, encoded, producer_options
from conf.exit_codes import HeldError, WrongUseError
from conf.kafka_security import KafkaSecurity
from conf.settings import Collector, Settings, TailedFile, Telemetry
from plumbline.cli import app
from tests.tls import tls_server

BACKFILL = ("backfill", "http://127.0.0.1:1", "--since", "1h")
PERF_TEST = ("perf-test", "--run", "r1", "--file", "-")
NO_BROKER = Telemetry(bootstrap_servers="127.0.0.1:1")


@pytest.fixture
def settings(tmp_path):
    file = TailedFile(path=str(tmp_path / "kafka-request.log"), kind="request-log", node="broker-1")
    return Settings(telemetry=NO_BROKER, collector=Collector(state=str(tmp_path / "state"), files=(file,)))


def test_a_big_scrape_is_compressed_to_the_same_bytes_every_time():
    scrape = RawLine(b"0123456789abcdef" * 600_000, "broker-1", "url", "p", "metrics")
    small = replace(scrape, value=scrape.value[: 8 * 1024 * 1024])

    assert encoded(small) == (small.value, False)
    assert encoded(scrape)[1] is True
    assert encoded(scrape) == encoded(scrape)
    assert len(encoded(scrape)[0]) < len(scrape.value) / 10


def test_a_big_line_goes_plain_for_its_reader_reads_it_plain():
    line = RawLine(b"x" * 15_000_000, "broker-1", "kafka-request.log", "p", "request-log")

    assert encoded(line) == (line.value, False)


def test_settings_can_add_tls_but_not_take_the_promise_of_delivery_away():
    changed = replace(
        NO_BROKER,
        security=KafkaSecurity(security_protocol="SSL"),
        client_options={"acks": "0", "enable.idempotence": "false"},
    )

    options = producer_options(changed)

    assert (options["security.protocol"], options["acks"], options["enable.idempotence"]) == (
        "SSL",
        "all",
        True,
    )
    assert options["message.max.bytes"] == MAX_RECORD_BYTES
    assert str(options["client.id"]).startswith("plumbline-")


def test_nothing_to_collect_is_an_error(tmp_path):
    empty = Settings(collector=Collector(state=str(tmp_path)))
    with pytest.raises(WrongUseError, match=r"nothing to collect: list \[\[collector.files\]\]"):
        run(empty, threading.Event(), once=True)


@pytest.mark.parametrize("line", ["", 'cluster = ""', 'cluster = " "'])
@pytest.mark.parametrize("words", [("collect",), BACKFILL, PERF_TEST])
def test_without_the_name_of_the_cluster_nothing_is_published(tmp_path, words, line):
    """Two clusters of one default name would be one matrix of brokers."""
    site, logs = tmp_path / "site.toml", tmp_path / "logs.toml"
    site.write_text("[collector]\nendpoints = []\n")
    logs.write_text(f'[collector]\nstate = "{tmp_path / "state"}"\n{line}\n')

    result = CliRunner().invoke(app, [*words, "--conf", str(site), "--conf", str(logs)])

    assert result.exit_code == 2
    assert f"{logs}: [collector] cluster is not set" in " ".join(result.output.split())
    assert not (tmp_path / "state").exists()


def test_a_second_collector_on_a_state_folder_is_refused(settings, tmp_path):
    (tmp_path / "state").mkdir()
    with (
        FileLock(tmp_path / "state" / "lock"),
        pytest.raises(HeldError, match="another collector works in"),
    ):
        run(settings, threading.Event(), once=True)


def test_a_telemetry_broker_that_is_not_there_is_an_error_with_its_address(settings, monkeypatch):
    monkeypatch.setattr("collectors.publish.CONNECT_TIMEOUT_S", 0.5)
    with pytest.raises(CollectorError, match=r"no telemetry broker answers at 127\.0\.0\.1:1 .*; start it"):
        run(settings, threading.Event(), once=True)


def test_a_broker_that_is_not_trusted_is_an_error_with_the_reason(settings, tmp_path):
    """Librdkafka's own exception says only that no broker answers."""
    with tls_server(tmp_path) as address:
        changed = Telemetry(bootstrap_servers=address, security=KafkaSecurity(security_protocol="SSL"))
        with pytest.raises(
            CollectorError,
            match=r"connection: .*verify failed.*; correct \[telemetry\.security\]",
        ):
            run(replace(settings, telemetry=changed), threading.Event(), once=True)


@pytest.mark.parametrize("where", ["telemetry", "collector"])
def test_a_password_that_is_not_there_is_wrong_use_before_anything_is_sent(settings, where):
    missing = KafkaSecurity(
        security_protocol="SASL_SSL",
        sasl_mechanism="PLAIN",
        sasl_username="edge-1",
        sasl_password_file="/nowhere/password",  # noqa: S106 (a path)
    )
    name = {"telemetry": "security", "collector": "cluster_security"}[where]
    changed = replace(settings, **{where: replace(getattr(settings, where), **{name: missing})})

    with pytest.raises(WrongUseError, match="sasl_password_file = '/nowhere/password' cannot be read"):
        run(changed, threading.Event(), once=True)


def test_the_lock_is_free_after_an_error_and_the_folder_is_private(settings, tmp_path, monkeypatch):
    monkeypatch.setattr("collectors.publish.CONNECT_TIMEOUT_S", 0.1)
    with pytest.raises(CollectorError):
        run(settings, threading.Event(), once=True)

    with FileLock(tmp_path / "state" / "lock", timeout=0):
        pass
    assert (tmp_path / "state").stat().st_mode & 0o777 == 0o700


def test_a_producer_option_that_is_none_is_named(settings):
    changed = replace(NO_BROKER, client_options={"no.such.option": "1"})
    with pytest.raises(CollectorError, match=r"no\.such\.option.*client_options"):
        run(replace(settings, telemetry=changed), threading.Event(), once=True)


@pytest.mark.parametrize("code", ["INVALID_TIMESTAMP", "INVALID_RECORD", "_INVALID_DIFFERENT_RECORD"])
def test_a_clock_ahead_of_the_brokers_is_named_as_the_cause(settings, code):
    """Kafka refuses each record at each start. The code depends on how many of a batch are ahead."""
    publisher = Publisher(NO_BROKER, settings.collector, threading.Event())
    publisher.failed(KafkaError(getattr(KafkaError, code)), "plumbline.request-log")

    with pytest.raises(CollectorError, match=r"this machine's clock is ahead of the broker's .*: correct it"):
        publisher.serve()


def test_a_single_run_gives_up_in_the_end_and_a_lasting_one_never():
    assert producer_options(NO_BROKER, once=True)["message.timeout.ms"] == 300_000
    assert producer_options(NO_BROKER)["message.timeout.ms"] == 0


def test_a_state_that_is_gone_is_not_a_first_run(settings, tmp_path, monkeypatch, caplog):
    """A first run leaves older files alone; without its state a collector sends them again."""
    monkeypatch.setattr("collectors.publish.CONNECT_TIMEOUT_S", 0.1)
    (tmp_path / "kafka-request.log").write_bytes(b"new\n")
    (tmp_path / "kafka-request.log.1").write_bytes(b"old\n")
    positions, begun = tmp_path / "state" / "positions.json", []
    for _ in range(2):
        with pytest.raises(CollectorError, match="no telemetry broker"):
            run(settings, threading.Event(), once=True)
        (log,) = json.loads(positions.read_text())["logs"].values()
        begun.append({row["is_finished"] for row in log.values()})
        positions.unlink()

    assert begun == [{True, False}, set()]
    assert f"{positions} is gone: every file of each log is sent again" in caplog.text


def test_positions_that_cannot_be_written_are_an_error_that_names_them(settings, monkeypatch):
    """The full disk is a mock: root may write anywhere."""
    full = OSError(errno.ENOSPC, "No space left on device")
    monkeypatch.setattr("collectors.log_files.positions.write_atomically", Mock(side_effect=full))
    with pytest.raises(
        CollectorError, match=r"positions\.json cannot be written \(No space left on device\); make room"
    ):
        run(settings, threading.Event(), once=True)


def test_a_collector_told_to_stop_does_not_wait_for_brokers_that_are_away(settings):
    stop, began = threading.Event(), time.monotonic()
    stop.set()

    assert run(settings, stop).unacknowledged == 0
    assert time.monotonic() - began < 5


def test_an_end_waits_for_acks_only_while_there_are_any(settings):
    publisher, began = Publisher(NO_BROKER, settings.collector, threading.Event()), time.monotonic()
    publisher.send(RawLine(b"line", "broker-1", "log", "broker-1/mark/0", "request-log"), lambda *_: None)

    assert publisher.flush(30.0, 0.5) == 1
    assert time.monotonic() - began < 5
    publisher.abandon()


def test_the_collector_needs_no_spark():
    code = "import sys; sys.modules['pyspark'] = None; sys.modules['delta'] = None; import collectors.cli"
    subprocess.run([sys.executable, "-c", code], check=True)
