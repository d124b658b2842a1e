"""
Every job continues on a warehouse and checkpoints that the last release wrote.

`freeze.py` made it. A new release adds its own archive; those of releases that are still read stay.
"""

import json
import os
import shutil
import signal
import time
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from threading import Event, Thread

import pytest
from confluent_kafka import Producer
from deltalake import DeltaTable
from typer.testing import CliRunner

from answers.gold.reader import GoldReader
from conf.http_hosts import names_of
from conf.settings import Settings
from conf.warehouse_format import MARK
from engine.delta import tables
from engine.gold.former import former_repairs
from engine.gold.stream import STREAM
from engine.ingest.batches import parser_options
from engine.ingest.checkpoints import TOPIC_ID
from engine.ingest.positions import former_queries, writer_of_query, writers
from engine.ingest.sources import QUERIES
from engine.streams.audit.ingest import repairs_of
from engine.streams.log import StreamLog
from engine.streams.parser_options import check_options
from lab.secured.broker import BROKER, INGEST, Login, secured_broker
from lab.topics import silent_logger
from plumbline.cli import app
from schemas.bronze import REQUEST_LOG
from schemas.gold.data_quality import DATA_QUALITY
from schemas.gold.leader_redirect import LEADER_REDIRECT
from schemas.silver.not_kept import QUARANTINE
from schemas.silver.requests import REQUESTS
from serving.dashboard.app import make
from transforms.frames import arrow_of

ARCHIVES = sorted(Path(__file__).parent.glob("*.tar.xz"))
LIMIT_BYTES = 300_000
NEW_LINES = 40
FOLLOWS_S = 120


class FrozenWarehouse:
    """A warehouse of a release, unpacked, and the commands of this tree on it."""

    def __init__(self, archive, folder):
        """Unpack it, and write settings without a Kafka cluster."""
        shutil.unpack_archive(archive, folder)
        self.conf = folder / "my.toml"
        self.conf.write_text(
            '[telemetry]\nbootstrap_servers = "127.0.0.1:1"\n'
            f'[warehouse]\nroot = "{folder / "warehouse"}"\ncheckpoints = "{folder / "checkpoints"}"\n'
        )
        self.settings = Settings.load(self.conf)
        self.root = self.settings.warehouse_root

    def run(self, *words, code=0):
        """Run a command in this process; return what it printed."""
        before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
        done = CliRunner().invoke(app, [*words, "--conf", str(self.conf)])
        for number, handler in before.items():
            signal.signal(number, handler)
        assert done.exit_code == code, (words, done.output, done.exception)
        return done

    def rows(self, table):
        """Return the rows of a table."""
        return DeltaTable(tables.path(self.root, table)).to_pyarrow_table().to_pylist()

    def counted(self):
        """Return the number of lines of request logs that gold has counted."""
        return sum(row["lines_read"] for row in self.rows(DATA_QUALITY) if row["kind"] == "request-log")


@pytest.fixture(params=ARCHIVES, ids=lambda archive: archive.name.removesuffix(".tar.xz"))
def frozen(request, tmp_path):
    return FrozenWarehouse(request.param, tmp_path)


@contextmanager
def telemetry_of(frozen, state):
    """
    Start a broker whose telemetry topics end where the frozen checkpoint has read them up to.

    Its topics have other ids than those that the release read, so the notes of the ids are removed.
    """
    with secured_broker(state) as broker:
        security = broker.security(INGEST, Login.MTLS)
        settings = [f"{name} = {json.dumps(value)}\n" for name, value in asdict(security).items() if value]
        frozen.conf.write_text(
            frozen.conf.read_text().replace("127.0.0.1:1", broker.servers(Login.MTLS))
            + f"[telemetry.security]\n{''.join(settings)}"
        )
        options = {"bootstrap.servers": broker.servers(Login.MTLS), "enable.idempotence": True}
        login = broker.security(BROKER, Login.MTLS).librdkafka()
        producer = Producer(options | login, logger=silent_logger)
        for writer in writers(frozen.settings):
            log = StreamLog(writer.checkpoint)
            for (topic, partition), end in log.ends(log.offsets[-1]).items():
                for _ in range(end):
                    producer.produce(topic, b"read before", partition=partition)
            for note in log.folder.glob(f"{TOPIC_ID}.*"):
                note.unlink()
        assert producer.flush(30) == 0
        yield producer


def publish_new_lines(frozen, producer):
    """Publish lines of the request log again, as lines of another file."""
    rows = sorted(frozen.rows(REQUEST_LOG), key=lambda row: row["offset"])[:NEW_LINES]
    for n, row in enumerate(rows):
        texts = {name: row[name] for name in ("cluster", "node", "kind", "time_zone", "source") if row[name]}
        headers = [(name.replace("_", "-"), text.encode()) for name, text in texts.items()]
        headers.append(("position", f"{row['node']}/new/{n}".encode()))
        at_ms = int(row["timestamp"].timestamp() * 1_000)
        producer.produce(row["topic"], row["value"], partition=0, headers=headers, timestamp=at_ms)
    assert producer.flush(30) == 0


def ingest(frozen, state):
    """Run the ingest with new lines in the topic."""
    with telemetry_of(frozen, state) as producer:
        publish_new_lines(frozen, producer)
        frozen.run("ingest", "--once")


def follow(frozen):
    """Run `build-gold --follow` until it has committed a batch; end it with SIGTERM."""
    log = StreamLog(STREAM.checkpoint(frozen.settings))
    before, has_ended, give_up_at = log.commits[-1], Event(), time.monotonic() + FOLLOWS_S

    def end():
        while log.commits[-1] == before and time.monotonic() < give_up_at:
            if has_ended.wait(0.5):
                return
        os.kill(os.getpid(), signal.SIGTERM)

    ending = Thread(target=end)
    ending.start()
    try:
        frozen.run("build-gold", "--follow")
    finally:
        has_ended.set()
        ending.join()
    assert log.commits[-1] > before


@pytest.mark.live
@pytest.mark.usefixtures("spark")
def test_every_job_continues_on_it(frozen, tmp_path):
    for query in QUERIES:
        writer = writer_of_query(frozen.settings, query)
        assert StreamLog(writer.checkpoint).commits, query.name
        assert former_queries(frozen.settings, query) == []
        check_options(writer.checkpoint, str(parser_options(frozen.settings)))
    assert repairs_of(writers(frozen.settings)) == []
    assert [*STREAM.repairs(frozen.settings), *former_repairs(frozen.settings)] == []
    lines, requests = frozen.counted(), len(frozen.rows(REQUESTS))
    assert lines == requests + len(frozen.rows(QUARANTINE)) > 500

    shown = frozen.run("migrate").stderr
    assert f"to do: {frozen.root / MARK} is written: format 1" in shown
    assert "to do: bronze.request_log gets cluster_id" in shown
    assert not (frozen.root / MARK).exists()
    frozen.run("migrate", "--yes")
    assert "nothing to do" in frozen.run("migrate").stderr

    ingest(frozen, tmp_path / "kafka")
    assert repairs_of(writers(frozen.settings)) == []
    assert len(frozen.rows(REQUESTS)) == requests + NEW_LINES

    follow(frozen)
    assert frozen.counted() == lines + NEW_LINES
    frozen.run("build-gold")
    assert frozen.counted() == lines + NEW_LINES
    assert "request-log: 0 would be restored, 1 stay" in frozen.run("replay", "--dry-run").stderr
    assert "checks passed" in frozen.run("check-quality", "--layer", "silver").stdout
    assert "checks passed" in frozen.run("check-quality", "--layer", "gold").stdout
    frozen.run("maintain", "--yes")
    assert frozen.counted() == lines + NEW_LINES

    json_file = frozen.conf.with_suffix(".json")
    frozen.run("report", "--json", str(json_file))
    verdict = json.loads(json_file.read_text())["verdict"]["sentence"]
    assert verdict.startswith("Broker 3's link to broker 1 is slow by ")  # as injected: docs/example
    assert json.loads(frozen.run("ask", "fetches", "--json").stdout)["cluster"] == "frozen"
    assert "plumbline_" in frozen.run("export", "--once").stdout
    frozen.run("compare", "3.6.2", "3.9.1", code=2)  # one run of each arm: inconclusive
    page = make(GoldReader.of_warehouse(frozen.root), names_of("127.0.0.1")).server.test_client().get("/")
    assert page.status_code == 200


@pytest.mark.usefixtures("spark")
def test_migrate_removes_the_addresses_in_gold(frozen):
    """Until version 0.1.0, a row of a redirect had the addresses of its connection."""
    columns = {"cluster": "frozen", "connection": "10.0.0.1:9092-203.0.113.7:40000-0-1"}
    row = arrow_of([columns], LEADER_REDIRECT.schema)
    tables.append_rows(row, frozen.root, LEADER_REDIRECT, txn_app_id="before")

    assert "to do: gold.leader_redirect loses the addresses in connection" in frozen.run("migrate").stderr
    assert frozen.rows(LEADER_REDIRECT)[0]["connection"] == columns["connection"]
    frozen.run("migrate", "--yes")
    assert [(held["cluster"], held["connection"]) for held in frozen.rows(LEADER_REDIRECT)] == [
        ("frozen", None)
    ]
    assert "nothing to do" in frozen.run("migrate").stderr


def test_the_archives_are_small():
    assert ARCHIVES
    assert [archive.name for archive in ARCHIVES if archive.stat().st_size > LIMIT_BYTES] == []
