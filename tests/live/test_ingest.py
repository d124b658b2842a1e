"""Collector, ingest and gold as processes of their own on real brokers, killed in mid-run."""

import json
import signal
import subprocess
import sys
import time
import urllib.request
import uuid
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from pyspark.sql import functions as F
from typer.testing import CliRunner

from collectors.log_files.lines import read_lines
from conf.settings import Settings
from engine.delta import tables
from jobs.build_gold import app as gold_app
from jobs.ingest import app as ingest_app
from lab.topics import create_telemetry_topics
from schemas.bronze import CLIENT_LOG, REQUEST_LOG
from schemas.gold.broker_rtt import BROKER_RTT
from schemas.gold.data_quality import DATA_QUALITY
from schemas.silver.client_events import CLIENT_EVENTS
from schemas.silver.not_kept import QUARANTINE, SKIPPED
from schemas.silver.requests import REQUESTS

pytestmark = pytest.mark.live

KINDS = ("request-log", "client-log", "metrics")
LOGGED = ("request-log", "client-log")
ENDS_WITHIN_S = 120
PARTITIONS = 2


class IngestSite:
    """Topics, a warehouse and a collector's state of its own, over the logs of the running lab."""

    def __init__(self, lab, folder):
        """Create the topics and write the settings."""
        self.lab, self.bootstrap = lab, lab.telemetry_bootstrap_servers
        self.prefix = f"test-{uuid.uuid4().hex[:8]}."
        self.conf = folder / "site.toml"
        files = ", ".join(
            f'{{ path = "{broker.logs}/{name}*", kind = "{kind}", node = "broker-{broker.id}" }}'
            for broker in lab.brokers
            for kind, name in zip(LOGGED, ("kafka-request.log", "network-client.log"), strict=True)
        )
        self.conf.write_text(
            f'telemetry = {{ bootstrap_servers = "{self.bootstrap}", topic_prefix = "{self.prefix}" }}\n'
            f'[collector]\ncluster = "lab"\nstate = "{folder / "state"}"\nfiles = [{files}]\n'
            f'[warehouse]\nroot = "{folder / "warehouse"}"\ncheckpoints = "{folder / "checkpoints"}"\n'
            "[ingest]\nmax_offsets_per_trigger = 3000\n"
        )
        self.positions_file = folder / "state" / "positions.json"
        self.warehouse = Settings.load(self.conf).warehouse_root
        self.admin = AdminClient({"bootstrap.servers": self.bootstrap})
        create_telemetry_topics(lab, self.prefix, kinds=KINDS, partitions=PARTITIONS)

    @contextmanager
    def start(self, word, *options):
        """Start a job; one that still runs at the end of the block is killed."""
        command = [sys.executable, "-m", "plumbline", word, "--conf", str(self.conf), *options]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as job:
            try:
                yield job
            finally:
                job.kill()

    def run(self, app, *options):
        """Run a job to its end, in the session of the tests; give its exit code and what it said."""
        before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
        result = CliRunner().invoke(app, ["--conf", str(self.conf), *options])
        for number, handler in before.items():
            signal.signal(number, handler)
        return result.exit_code, result.output

    def publish(self, kind, lines, **headers):
        """Publish lines as some collector would, each with its position."""
        producer = Producer({"bootstrap.servers": self.bootstrap, "enable.idempotence": True})
        for nth, (position, line) in enumerate(lines):
            told = {"node": "broker-1", "kind": kind, "cluster": "lab", "position": position} | headers
            headers_of = [(k, v.encode()) for k, v in told.items()]
            producer.produce(self.prefix + kind, line, partition=nth % PARTITIONS, headers=headers_of)
            producer.poll(0)
        assert producer.flush(30) == 0

    def collected(self):
        """Give the positions of the lines that the collector counts as safe, by kind."""
        marks = json.loads(self.positions_file.read_text())["logs"]
        safe = {kind: set() for kind in LOGGED}
        for broker in self.lab.brokers:
            for kind, name in zip(LOGGED, ("kafka-request.log", "network-client.log"), strict=True):
                for path in sorted(broker_logs(broker, name)):
                    for line in read_lines(path, f"broker-{broker.id}", kind):
                        mark = line.position.split("/")[1]
                        offsets = [rows[mark]["offset"] for rows in marks.values() if mark in rows]
                        if offsets and line.end_offset <= max(offsets):
                            safe[kind].add(line.position)
        return safe

    def count(self, spark, table, *columns):
        """Count rows, or distinct values of columns."""
        frame = tables.read(spark, self.warehouse, table)
        return (frame.select(*columns).distinct() if columns else frame).count()


def broker_logs(broker, name):
    return Path(broker.logs).glob(f"{name}*")


def scraped(url):
    with urllib.request.urlopen(url) as answer:  # noqa: S310 (loopback)
        return answer.read().decode()


def wait_for(condition, *, timeout_s=ENDS_WITHIN_S):
    give_up_at = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < give_up_at
        time.sleep(0.1)


@pytest.fixture
def site(lab, tmp_path):
    return IngestSite(lab, tmp_path)


@pytest.mark.usefixtures("quiet_lab")
def test_collector_and_ingest_killed_in_mid_run_lose_and_double_nothing(site, spark):
    """
    Both are ended twice while they work: killed, then the ingest asked; the brokers go on logging meanwhile.

    The truth is what lies in the brokers' files up to where the collector says it is.
    """
    log = site.warehouse / "bronze" / "request_log" / "_delta_log"
    for ending in (signal.SIGKILL, signal.SIGTERM):
        wanted = len(list(log.glob("*.json"))) + 2
        with site.start("collect") as collector, site.start("ingest") as ingest:
            url = next(line.split()[-1] for line in ingest.stderr if "/metrics" in line)
            wait_for(lambda: len(list(log.glob("*.json"))) >= wanted)  # noqa: B023 (waited for here)
            wait_for(lambda: 'kind="request-log",outcome="kept"' in scraped(url))  # noqa: B023 (waited for here)
            collector.kill()
            time.sleep(1.0)
            ingest.send_signal(ending)
            collector.communicate()
            told = ingest.communicate(timeout=ENDS_WITHIN_S)[1]
    assert (ingest.returncode, "Traceback" in told) == (0, False), told
    with site.start("collect", "--once") as collector:
        collector.communicate(timeout=ENDS_WITHIN_S)
    assert collector.returncode == 0
    assert site.run(ingest_app, "--once")[0] == 0
    assert site.run(gold_app)[0] == 0

    safe = site.collected()
    for kind, table in zip(LOGGED, (REQUEST_LOG, CLIENT_LOG), strict=True):
        raw = tables.read(spark, site.warehouse, table)
        read = {row.position for row in raw.select("position").distinct().collect()}
        assert read == safe[kind]
        assert site.count(spark, table) == site.count(spark, table, "topic", "partition", "offset")
    quality = tables.read(spark, site.warehouse, DATA_QUALITY).collect()
    assert len(quality) == 6
    assert all(row.is_balanced for row in quality)
    assert sum(row.kept + row.quarantined + row.skipped for row in quality) == sum(map(len, safe.values()))
    assert site.count(spark, REQUESTS) > 100 < site.count(spark, CLIENT_EVENTS)  # after a start some 900
    pairs = tables.read(spark, site.warehouse, BROKER_RTT).filter(F.col("rtt_ms").isNotNull())
    assert pairs.select("follower_id", "leader_id", "method").distinct().count() == 12


def test_bad_lines_go_to_quarantine_and_stop_nothing(site, spark):
    good = b"[2026-11-21 10:00:00,000] DEBUG something else (kafka.server.KafkaApis)"
    torn = b'[2026-11-21 10:00:00,000] DEBUG Completed request:{"isForwarded":false,"requestHea'
    lines = [("p/1/0", good), ("p/1/1", torn), ("p/1/2", b"\x00\xff\xfe"), ("p/1/1", torn)]
    site.publish("request-log", lines, time_zone="UTC")

    assert site.run(ingest_app, "--once")[0] == 0

    quarantine = tables.read(spark, site.warehouse, QUARANTINE).orderBy("position", "offset").collect()
    assert [(row.position, bytes(row.value)) for row in quarantine] == [
        ("p/1/1", torn),
        ("p/1/1", torn),
        ("p/1/2", b"\x00\xff\xfe"),
    ]
    assert quarantine[0].reason == "truncated_line"
    skipped = tables.read(spark, site.warehouse, SKIPPED).collect()
    assert [(row.logger, row.lines) for row in skipped] == [("kafka.server.KafkaApis", 1)]
    assert site.run(gold_app)[0] == 0
    row = tables.read(spark, site.warehouse, DATA_QUALITY).first()
    assert (row.lines_read, row.kept, row.quarantined, row.skipped, row.duplicates) == (4, 0, 2, 1, 1)


@pytest.mark.usefixtures("spark")
def test_lines_that_retention_took_before_they_were_read_stop_the_job_and_are_named(site):
    site.publish("request-log", [(f"p/1/{n}", b"x (a.b)") for n in range(40)])
    assert site.run(ingest_app, "--once")[0] == 0
    site.publish("request-log", [(f"p/2/{n}", b"x (a.b)") for n in range(400)])
    topic = site.prefix + "request-log"
    gone = [TopicPartition(topic, partition, 150) for partition in range(PARTITIONS)]
    for deleted in site.admin.delete_records(gone).values():
        deleted.result(timeout=30)

    code, said = site.run(ingest_app, "--once")

    assert code == 3, said
    assert f"{topic} partition 0: offsets " in said
    assert " to 149" in said
