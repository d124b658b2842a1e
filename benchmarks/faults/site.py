"""The setup of a fault campaign: topics, a ledger of acknowledged records, warehouses, and jobs to kill."""

import hashlib
import os
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterable
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import Consumer, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import KafkaError, NewTopic
from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError

from conf.names import Kind
from conf.settings import PROJECT, Settings
from engine.process.fail_points import VARIABLE

KINDS = tuple(kind.value for kind in Kind)
PARTITIONS = 2
ENDS_WITHIN_S = 900
CHECKPOINT_EVERY = 5
"""In versions. A table writes a Delta checkpoint within seconds, not once in minutes."""


@dataclass(frozen=True, slots=True)
class Acked:
    """An entry of the ledger: a record that a broker has acknowledged."""

    topic: str
    partition: int
    offset: int
    position: str
    sha256: str


@dataclass(frozen=True, slots=True)
class PublishedLine:
    """One line to publish."""

    kind: str
    node: str
    position: str
    value: bytes
    headers: tuple[tuple[str, str], ...] = ()  # in addition to those of every line


class Site:
    """Separate topics on a running telemetry broker, and any number of warehouses that read them."""

    def __init__(self, bootstrap_servers: str, folder: Path, *, replicas: int = 1) -> None:
        """Create the topics; with several replicas, `min.insync.replicas` is one less."""
        self.folder, self.ledger = folder, list[Acked]()
        self._unplaced = list[tuple[Message, PublishedLine]]()  # acknowledged without an offset
        self.not_in_topic = 0  # of those; a collector publishes them again
        self._bootstrap, self._prefix = bootstrap_servers, f"faults-{uuid.uuid4().hex[:8]}."
        quiet = {"log_level": "2"}  # Some faults stop brokers, which librdkafka would log.
        self._producer = Producer(
            {"bootstrap.servers": bootstrap_servers, "enable.idempotence": True} | quiet
        )
        self._admin = AdminClient({"bootstrap.servers": bootstrap_servers})
        config = {"min.insync.replicas": str(max(1, replicas - 1))}
        topics = [
            NewTopic(self._prefix + kind, PARTITIONS, replication_factor=replicas, config=config)
            for kind in KINDS
        ]
        for created in self._admin.create_topics(topics).values():
            created.result(timeout=30)

    def publish(
        self, lines: Iterable[PublishedLine], *, per_s: float = 0.0, until: threading.Event | None = None
    ) -> None:
        """
        Publish lines, and add each to the ledger when a broker has acknowledged it.

        `per_s` limits the rate. Publishing ends when `until` is set.
        """
        started_at = time.monotonic()
        for number, line in enumerate(lines):
            if until and until.is_set():
                break
            while per_s and number > per_s * (time.monotonic() - started_at):
                self._producer.poll(0.02)
            headers = {
                "node": line.node,
                "kind": line.kind,
                "cluster": "made",
                "cluster-id": "A3UMX2uJTSWHqIFWNOVTbQ",
                "time-zone": "UTC",
                "position": line.position,
                "source": f"{line.node}/{line.kind}",
                **dict(line.headers),
            }
            self._producer.produce(
                self._prefix + line.kind,
                line.value,
                partition=number % PARTITIONS,
                headers=[(name, text.encode()) for name, text in headers.items()],
                on_delivery=lambda error, message, line=line: self._delivered(error, message, line),
            )
            self._producer.poll(0)
        assert self._producer.flush(60) == 0
        for message, line in self._unplaced:
            found = self._found(message, line)
            self.not_in_topic += not found
            self.ledger += found
        self._unplaced.clear()

    def close(self) -> None:
        """Delete the topics."""
        for deleted in self._admin.delete_topics([self._prefix + kind for kind in KINDS]).values():
            deleted.result(timeout=30)

    def _delivered(self, error: KafkaError | None, message: Message, line: PublishedLine) -> None:
        assert error is None, error
        if message.offset() is None:  # see `collectors.publish`
            self._unplaced.append((message, line))
            return
        self.ledger.append(_acked(message, line))

    def _found(self, reported: Message, line: PublishedLine) -> list[Acked]:
        """Read the place of a line from its partition, where it may be or not."""
        topic, partition = reported.topic(), reported.partition()
        with closing(Consumer({"bootstrap.servers": self._bootstrap, "group.id": self._prefix})) as consumer:
            first, end = consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=30)
            consumer.assign([TopicPartition(topic, partition, first)])
            records = list[Message]()
            while (records[-1].offset() + 1 if records else first) < end:
                records += consumer.consume(1_000, timeout=10)
        position = ("position", line.position.encode())
        return [_acked(record, line) for record in records if position in (record.headers() or ())]

    def warehouse(self, name: str, *, batch: int = 500, more: str = "") -> "JobsWarehouse":
        """Create a warehouse that reads these topics in batches of `batch` records; `more` is more TOML."""
        folder = self.folder / name
        folder.mkdir()
        conf = folder / "site.toml"
        conf.write_text(
            f'telemetry = {{ bootstrap_servers = "{self._bootstrap}", topic_prefix = "{self._prefix}" }}\n'
            f'[warehouse]\nroot = "{folder / "warehouse"}"\ncheckpoints = "{folder / "checkpoints"}"\n'
            f"[ingest]\nmax_offsets_per_trigger = {batch}\n{more}"
        )
        return JobsWarehouse(conf)


def _acked(message: Message, line: PublishedLine) -> Acked:
    digest = hashlib.sha256(line.value).hexdigest()
    return Acked(message.topic(), message.partition(), message.offset(), line.position, digest)


class JobsWarehouse:
    """One warehouse, and the jobs that write it as separate processes."""

    def __init__(self, conf: Path) -> None:
        """Use the warehouse that the settings name."""
        self.conf, self.settings = conf, Settings.load(conf)
        self.root = self.settings.warehouse_root

    def ingest(self, fail_at: str = "", *options: str) -> tuple[int, str]:
        """Run the ingest once; return its exit code (-9 after a kill) and its error output."""
        return self._run("ingest", "--once", *options, fail_at=fail_at)

    def build_gold(self, fail_at: str = "") -> tuple[int, str]:
        """Run `build-gold` once; return its exit code and its error output."""
        return self._run("build-gold", fail_at=fail_at)

    def start(self, word: str, *options: str) -> subprocess.Popen[str]:
        """Start a job in the background; the caller ends it."""
        command = [sys.executable, "-m", "plumbline", word, "--conf", str(self.conf), *options]
        return subprocess.Popen(command, cwd=PROJECT, stderr=subprocess.PIPE, text=True)

    def _run(self, word: str, *options: str, fail_at: str) -> tuple[int, str]:
        command = [sys.executable, "-m", "plumbline", word, "--conf", str(self.conf), *options]
        variables = {VARIABLE: fail_at} if fail_at else {}
        done = subprocess.run(  # noqa: PLW1510 (the caller checks the exit code)
            command,
            cwd=PROJECT,
            env=os.environ | variables,
            stderr=subprocess.PIPE,
            text=True,
            timeout=ENDS_WITHIN_S,
        )
        return done.returncode, done.stderr


def checkpoint_often(where: Path, every: int = CHECKPOINT_EVERY) -> None:
    """Set the table in a folder to write a Delta checkpoint every `every` versions."""
    log, wanted = DeltaTable(str(where)), {"delta.checkpointInterval": str(every)}
    if wanted.items() - log.metadata().configuration.items():
        with suppress(CommitFailedError):  # A concurrent merge won; the next start sets it.
            log.alter.set_table_properties(wanted)
