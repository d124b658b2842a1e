"""What a collector publishes has Kafka's id of the cluster, if a broker's meta.properties is here."""

import threading
from unittest.mock import MagicMock

import pytest

from collectors import publish
from collectors.cluster_id import cluster_id_in
from collectors.log_files.lines import RawLine
from collectors.publish import Publisher
from conf.exit_codes import WrongUseError
from conf.settings import Collector, TailedFile, Telemetry
from engine.ingest.task.records import USUAL

ID, POLLED = "A3UMX2uJTSWHqIFWNOVTbQ", "AOXDbY-OTYyOZrkGlTHmpw"
META = f"#\n#Fri Nov 27 12:00:00 UTC 2026\nversion=1\nnode.id=1\ndirectory.id=AAA\ncluster.id={ID}\n"
LINE = RawLine(b"line", "broker-1", "a.log", "broker-1/mark/0", "request-log")
LOG = TailedFile(path="/var/log/a.log", kind="request-log", node="broker-1")
POLL = RawLine(b"{}", "cluster", "kafka://b:9092", "cluster/poll/1", "cluster", cluster_id=POLLED)


@pytest.fixture
def meta(tmp_path):
    file = tmp_path / "meta.properties"
    file.write_text(META)
    return str(file)


@pytest.fixture
def sent(monkeypatch):
    """Return the headers with which a line is published."""

    def sent(line, meta_properties):
        monkeypatch.setattr(publish, "Producer", producer := MagicMock())
        collector = Collector(cluster="prod", meta_properties=meta_properties)
        Publisher(Telemetry(), collector, threading.Event()).send(line, lambda *_: None)
        return producer.return_value.produce.call_args.kwargs["headers"]

    return sent


def test_every_record_has_the_id_of_the_broker_s_file(sent, meta):
    assert dict(sent(LINE, meta))["cluster-id"] == ID.encode()
    assert dict(sent(LINE, meta))["cluster"] == b"prod"


def test_a_poll_has_the_id_that_kafka_answered(sent, meta):
    assert [dict(sent(POLL, file))["cluster-id"] for file in (meta, "")] == [POLLED.encode()] * 2


def test_without_the_file_a_line_has_no_such_header(sent):
    assert "cluster-id" not in dict(sent(LINE, ""))


@pytest.mark.parametrize("files", [[LOG], []], ids=["logs", "only scrapes"])
@pytest.mark.parametrize("has_id", [True, False])
def test_logs_without_an_id_are_a_warning_that_names_the_setting(files, has_id, meta, monkeypatch, caplog):
    monkeypatch.setattr(publish, "Producer", MagicMock())
    collector = Collector(cluster="prod", files=files, meta_properties=meta if has_id else "")

    Publisher(Telemetry(), collector, threading.Event())

    is_warned = "set [collector] meta_properties" in caplog.text
    assert is_warned == (bool(files) and not has_id)


def test_the_ingest_reads_these_headers_on_its_short_way(sent, meta):
    assert [tuple(name for name, _ in sent(LINE, file)[:-1]) for file in (meta, "")] == list(USUAL)


@pytest.mark.parametrize(
    ("text", "message"),
    [(None, "cannot be read"), ("version=1\n", "has no cluster.id"), ("cluster.id=\n", "has no cluster.id")],
)
def test_a_file_that_does_not_name_the_id_is_an_error(tmp_path, text, message):
    file = tmp_path / "meta.properties"
    if text is not None:
        file.write_text(text)
    with pytest.raises(WrongUseError, match=rf"\[collector\] meta_properties = '.*' {message}"):
        cluster_id_in(str(file))
