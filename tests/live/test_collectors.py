"""The collector as a process of its own against a real telemetry broker."""

import itertools
import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.request
import uuid
from collections import defaultdict

import pytest
from confluent_kafka import Consumer, TopicPartition

from collectors.log_files.lines import CHUNK_BYTES, read_lines
from collectors.publish import MAX_RECORD_BYTES
from lab.topics import create_telemetry_topics

pytestmark = pytest.mark.live

KINDS = ("request-log", "metrics")


class CollectorSite:
    """One log, a state folder, topics of its own, and collectors on them."""

    def __init__(self, lab, folder, *, max_record_bytes=MAX_RECORD_BYTES, endpoints=()):
        """Create the topics and write the settings."""
        self.bootstrap = lab.telemetry_bootstrap_servers
        self.prefix = f"test-{uuid.uuid4().hex[:8]}."
        self.log = folder / "kafka-request.log"
        self.positions_file = folder / "state" / "positions.json"
        self.conf = folder / "site.toml"
        self.command = [sys.executable, "-m", "collectors", "--conf", str(self.conf)]
        self.conf.write_text(
            f'telemetry = {{ bootstrap_servers = "{self.bootstrap}", topic_prefix = "{self.prefix}" }}\n'
            f'[collector]\nstate = "{folder / "state"}"\ncluster = "lab"\ntime_zone = "UTC"\n'
            f'files = [{{ path = "{self.log}", kind = "request-log", node = "broker-1" }}]\n'
            "endpoints = ["
            + ", ".join(f'{{ url = "{url}", node = "broker-1" }}' for url in endpoints)
            + "]\n"
        )
        settings = {"max.message.bytes": str(max_record_bytes)}
        create_telemetry_topics(lab, self.prefix, kinds=KINDS, partitions=2, settings=settings)

    def started(self, *options: str) -> subprocess.Popen[str]:
        """Start a collector."""
        return subprocess.Popen([*self.command, *options], stderr=subprocess.PIPE, text=True)

    def collected(self) -> tuple[int, str]:
        """Run a collector over what is there; give its exit code and what it said."""
        done = subprocess.run(  # noqa: PLW1510 (the exit code is what is asked for)
            [*self.command, "--once"], stderr=subprocess.PIPE, text=True, timeout=120
        )
        return done.returncode, done.stderr

    def saved_offsets(self) -> list[int]:
        """Give the saved offset of every file the log has had."""
        if not self.positions_file.exists():
            return []
        logs = json.loads(self.positions_file.read_text())["logs"]
        return [row["offset"] for rows in logs.values() for row in rows.values()]

    def records(self, kind: str = "request-log") -> list[tuple[dict[str, str], bytes, bytes]]:
        """Read a topic from its beginning to its end: headers, key, value."""
        consumer = Consumer(
            {
                "bootstrap.servers": self.bootstrap,
                "group.id": "none",
                "enable.partition.eof": False,
                "fetch.message.max.bytes": MAX_RECORD_BYTES,
            }
        )
        parts = [TopicPartition(self.prefix + kind, partition, 0) for partition in range(2)]
        wanted = sum(consumer.get_watermark_offsets(part, timeout=30)[1] for part in parts)
        consumer.assign(parts)
        messages = []
        while len(messages) < wanted and (
            batch := consumer.consume(min(5_000, wanted - len(messages)), timeout=30)
        ):
            messages += batch
        consumer.close()
        assert len(messages) == wanted
        return [
            ({name: text.decode() for name, text in message.headers()}, message.key(), message.value())
            for message in messages
        ]


def wait_until(condition, *, timeout_s=60.0):
    give_up_at = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < give_up_at
        time.sleep(0.02)


def test_a_killed_collector_leaves_no_gap_and_doubles_only_what_can_be_told(lab, tmp_path):
    """Killed three times in mid-run, the log renamed once: each line is there, twice only in one place."""
    site = CollectorSite(lab, tmp_path)
    numbers = itertools.count()

    def write(lines: int) -> None:
        with site.log.open("ab") as out:
            out.writelines(b"%08d %s\n" % (next(numbers), b"x" * 1_200) for _ in range(lines))

    write(20_000)
    for round_ in range(3):
        before = sum(site.saved_offsets())
        with site.started() as collector:
            write(10_000)
            wait_until(lambda: sum(site.saved_offsets()) > before)  # noqa: B023 (waited for at once)
            collector.kill()
            collector.communicate()
        sent = {headers["position"] for headers, _, _ in site.records()}
        paths = [site.log, *tmp_path.glob("kafka-request.log.*")]
        lines = {
            line.position: line for path in paths for line in read_lines(path, "broker-1", "request-log")
        }
        marks = json.loads(site.positions_file.read_text())["logs"].popitem()[1]
        safe = [
            p
            for p, line in lines.items()
            if line.end_offset <= marks.get(p.split("/")[1], {"offset": 0})["offset"]
        ]
        assert set(safe) <= sent  # what is saved was acknowledged
        if round_ == 1:
            site.log.rename(tmp_path / "kafka-request.log.1")
            write(5_000)
    assert site.collected()[0] == 0

    values = defaultdict(list)
    for headers, _, value in site.records():
        values[headers["position"]].append(value)
    written = {
        line.position: line.value for path in paths for line in read_lines(path, "broker-1", "request-log")
    }
    written |= {line.position: line.value for line in read_lines(site.log, "broker-1", "request-log")}
    assert {position: set(sent) for position, sent in values.items()} == {p: {v} for p, v in written.items()}
    assert len(written) == next(numbers)


def test_what_a_stopped_broker_has_not_acknowledged_is_not_saved_and_sent_again(lab, tmp_path):
    """Frozen, the broker still gets the bytes: after the kill they are in the topic twice, in one place."""
    site = CollectorSite(lab, tmp_path)
    site.log.write_bytes(b"first\n")
    assert site.collected()[0] == 0
    with site.started() as collector:
        wait_until(lambda: "metrics: " in collector.stderr.readline())
        time.sleep(2.0)  # connected, and with nothing to do
        os.kill(int(lab.processes["telemetry"]["pid"]), signal.SIGSTOP)
        try:
            with site.log.open("ab") as out:
                out.writelines(b"line %d\n" % number for number in range(1_000))
            time.sleep(2.5)  # two saves of the positions
            collector.kill()
            collector.communicate()
        finally:
            os.kill(int(lab.processes["telemetry"]["pid"]), signal.SIGCONT)
    assert site.saved_offsets() == [6]
    assert site.collected()[0] == 0

    values = defaultdict(list)
    for headers, _, value in site.records():
        values[headers["position"]].append(value)
    written = {line.position: line.value for line in read_lines(site.log, "broker-1", "request-log")}
    assert {position: set(sent) for position, sent in values.items()} == {p: {v} for p, v in written.items()}
    assert {len(sent) for position, sent in values.items() if not position.endswith("/0")} == {2}


def test_once_ends_though_the_log_never_is_quiet(lab, tmp_path):
    site = CollectorSite(lab, tmp_path)
    site.log.write_bytes(b"first\n")
    is_over = threading.Event()

    def write() -> None:
        with site.log.open("ab", buffering=0) as out:
            while not is_over.wait(0.002):
                out.write(b"another\n")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        assert site.collected()[0] == 0
    finally:
        is_over.set()
        writer.join()
    assert site.saved_offsets()[0] >= len(b"first\n")


def test_a_record_says_where_it_came_from_and_big_values_arrive_whole(lab, tmp_path):
    site = CollectorSite(lab, tmp_path)
    oversized = bytes(range(11, 256)) * (2 * CHUNK_BYTES // 245 + 1)  # more than two chunks
    site.log.write_bytes(b"\x00\xff\r\n" + b"b" * 300_000 + b"\n" + oversized + b"\nlast\n")

    assert site.collected()[0] == 0

    records = site.records()
    headers, key, value = records[0]
    mark = headers["position"].split("/")[1]
    assert (key, value) == (b"broker-1", b"\x00\xff\r")
    assert headers == {
        "cluster": "lab",
        "time-zone": "UTC",
        "node": "broker-1",
        "kind": "request-log",
        "source": str(site.log),
        "position": f"broker-1/{mark}/0",
    }
    assert [h.get("chunk") for h, _, _ in records] == [None, None, "1/?", "2/?", "3/3", None]
    assert [h.get("content-encoding") for h, _, _ in records] == [None] * 6  # Spark reads a line plain
    assert records[1][2] == b"b" * 300_000
    assert b"".join(value for _, _, value in records[2:5]) == oversized
    assert len({h["position"] for h, _, _ in records[2:5]}) == 1


def test_a_signal_ends_the_collector_cleanly_with_all_it_read_safe(lab, tmp_path):
    site = CollectorSite(lab, tmp_path)
    site.log.write_bytes(b"".join(b"line %d\n" % number for number in range(10_000)))
    with site.started() as collector:
        wait_until(lambda: max(site.saved_offsets(), default=0) > 0)
        with site.log.open("ab") as out:
            out.write(b"one more\n")
        time.sleep(0.5)
        collector.send_signal(signal.SIGTERM)
        _, said = collector.communicate(timeout=60)

    assert (collector.returncode, "Traceback" in said) == (0, False)
    assert site.saved_offsets() == [site.log.stat().st_size]
    assert len(site.records()) == 10_001


def test_a_refused_record_ends_the_collector_and_no_position_passes_it(lab, tmp_path):
    """The topic takes 1,000 bytes a record; the third line cannot be delivered."""
    site = CollectorSite(lab, tmp_path, max_record_bytes=1_000)
    site.log.write_bytes(b"one\ntwo\n" + os.urandom(5_000).hex().encode() + b"\n")

    code, said = site.collected()

    assert code == 1
    assert f"a record was not delivered to {site.prefix}request-log" in said
    assert "max.message.bytes=16777216" in said
    assert max(site.saved_offsets()) <= len(b"one\ntwo\n")


def test_exporters_are_scraped_whole_and_one_that_is_away_stops_nothing(lab, tmp_path):
    url = f"http://127.0.0.1:{lab.brokers[0].exporter_port}/metrics"
    source = url.replace("127.0.0.1", "broker-1")
    site = CollectorSite(lab, tmp_path, endpoints=(url, "http://127.0.0.1:1/metrics"))

    code, said = site.collected()

    ((headers, key, value),) = site.records("metrics")
    assert (code, key, headers["kind"], headers["source"]) == (0, b"broker-1", "metrics", source)
    assert b"kafka_network_RequestMetrics" in value
    assert "content-encoding" not in headers
    assert headers["position"].startswith("broker-1/scrape/")
    assert "scrape of broker-1 failed" in said


def test_its_own_figures_can_be_scraped(lab, tmp_path):
    site = CollectorSite(lab, tmp_path)
    site.log.write_bytes(b"one\ntwo\npartial")
    with site.started() as collector:
        url = next(line for line in collector.stderr if line.startswith("metrics: ")).split()[1]
        wait_until(lambda: site.saved_offsets() == [8])
        time.sleep(1.2)  # figures are set once a second
        with urllib.request.urlopen(url, timeout=10) as answer:  # noqa: S310 (a loopback address of ours)
            page = answer.read().decode()
        collector.send_signal(signal.SIGINT)
        collector.communicate(timeout=60)

    figures = {line.split("{")[0]: float(line.split()[-1]) for line in page.splitlines() if "{" in line}
    assert figures["plumbline_collector_lines_acked_total"] == 2
    assert figures["plumbline_collector_read_bytes_total"] == 15
    assert figures["plumbline_collector_behind_bytes"] == 0
    assert collector.returncode == 0
