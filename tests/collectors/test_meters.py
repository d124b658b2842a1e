"""The metric that shows a request log left at DEBUG."""

import pytest

from collectors.log_files.lines import RawLine
from collectors.log_files.tail import LineBatch
from collectors.meters import OFF_AFTER_S, CollectorMeters
from conf.settings import TailedFile

METRIC = "plumbline_collector_request_log_debug_since_timestamp_seconds"
FILE = TailedFile(path="/x/kafka-request.log", kind="request-log", node="broker-1")
DEBUG = b"[2026-11-21 07:15:38,310] DEBUG Completed request:{} (kafka.request.logger)"
INFO = b'[2026-11-21 07:15:38,310] INFO Completed request:{"a":" DEBUG "} (kafka.request.logger)'


class Collected:
    """A collector that reads lines at instants of the test."""

    def __init__(self):
        """Start at 1,000 s."""
        self.now = 1_000.0
        self.meters = CollectorMeters(lambda: self.now)
        self.meters.declare(FILE)

    def read(self, *values, file=FILE):
        """Read lines."""
        lines = [RawLine(value, file.node, file.path, "p/0", file.kind) for value in values]
        self.meters.read(file, LineBatch("mark", (), lines, 0))

    def since(self):
        """Return the metric after the next look at the progress."""
        self.meters.progress(FILE, acked=0, in_flight=0, behind_bytes=0)
        return self.meters.registry.get_sample_value(METRIC, {"node": "broker-1"})


@pytest.fixture
def collected():
    return Collected()


def test_the_metric_is_0_without_a_line_at_debug(collected):
    collected.read(INFO)

    assert collected.since() == 0


def test_a_padded_level_is_at_debug(collected):
    """`%-6p` writes two spaces after DEBUG; the parser reads such lines."""
    collected.read(DEBUG.replace(b" DEBUG ", b" DEBUG  "))

    assert collected.since() == 1_000


def test_the_metric_is_the_first_of_the_lines_at_debug_until_a_minute_has_none(collected):
    collected.read(INFO, DEBUG)
    collected.now += OFF_AFTER_S
    collected.read(DEBUG)
    collected.now += OFF_AFTER_S
    assert collected.since() == 1_000

    collected.now += 1
    assert collected.since() == 0
    collected.read(DEBUG)
    assert collected.since() == collected.now


def test_a_client_log_at_debug_is_no_request_log(collected):
    file = TailedFile(path="/x/client.log", kind="client-log", node="broker-1")
    collected.read(DEBUG, file=file)

    assert collected.since() == 0
