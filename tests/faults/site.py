"""What a campaign of faults needs: topics, a ledger of what was acknowledged, a warehouse, jobs that die."""

import hashlib
import os
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import Message, Producer
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
"""Versions: a table meets its Delta checkpoint within seconds of a test, not once in minutes."""


@dataclass(frozen=True, slots=True)
class Acked:
    """One line of the ledger: a record that a broker has acknowledged."""

    topic: str
    partition: int
    offset: int
    position: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Line:
    """One line to publish."""

    kind: str
    node: str
    position: str
    value: bytes
    headers: tuple[tuple[str, str], ...] = ()  # beside those that every line has: its run


class Site:
    """Topics of its own on a running telemetry broker, and as many warehouses over them as are asked for."""

    def __init__(self, bootstrap_servers: str, folder: Path, *, replicas: int = 1) -> None:
        """Create the topics; with several replicas a record is acknowledged by all but one of them."""
        self.folder, self.ledger = folder, list[Acked]()
        self._bootstrap, self._prefix = bootstrap_servers, f"faults-{uuid.uuid4().hex[:8]}."
        quiet = {"log_level": "2"}  # brokers that are away are what some faults are about
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
        self, lines: Iterable[Line], *, per_s: float = 0.0, until: threading.Event | None = None
    ) -> None:
        """
        Publish lines; each goes into the ledger once a broker has acknowledged it.

        With `per_s` no faster than that, and with `until` no longer than till it is set.
        """
        began = time.monotonic()
        for nth, line in enumerate(lines):
            if until and until.is_set():
                break
            while per_s and nth > per_s * (time.monotonic() - began):
                self._producer.poll(0.02)
            headers = {
                "node": line.node,
                "kind": line.kind,
                "cluster": "made",
                "time-zone": "UTC",
                "position": line.position,
                "source": f"{line.node}/{line.kind}",
                **dict(line.headers),
            }
            self._producer.produce(
                self._prefix + line.kind,
                line.value,
                partition=nth % PARTITIONS,
                headers=[(name, text.encode()) for name, text in headers.items()],
                on_delivery=lambda error, message, line=line: self._delivered(error, message, line),
            )
            self._producer.poll(0)
        assert self._producer.flush(60) == 0

    def close(self) -> None:
        """Delete the topics."""
        for deleted in self._admin.delete_topics([self._prefix + kind for kind in KINDS]).values():
            deleted.result(timeout=30)

    def _delivered(self, error: KafkaError | None, message: Message, line: Line) -> None:
        assert error is None, error
        digest = hashlib.sha256(line.value).hexdigest()
        place = (message.topic(), message.partition(), message.offset())
        self.ledger.append(Acked(*place, line.position, digest))

    def warehouse(self, name: str, *, batch: int = 500, more: str = "") -> "Written":
        """Make a warehouse that reads these topics in batches of so many records; `more` is TOML as well."""
        folder = self.folder / name
        folder.mkdir()
        conf = folder / "site.toml"
        conf.write_text(
            f'telemetry = {{ bootstrap_servers = "{self._bootstrap}", topic_prefix = "{self._prefix}" }}\n'
            f'[warehouse]\nroot = "{folder / "warehouse"}"\ncheckpoints = "{folder / "checkpoints"}"\n'
            f"[ingest]\nmax_offsets_per_trigger = {batch}\n{more}"
        )
        return Written(conf)


class Written:
    """One warehouse, and the jobs that write it as processes of their own."""

    def __init__(self, conf: Path) -> None:
        """Use what the settings name."""
        self.conf, self.settings = conf, Settings.load(conf)
        self.root = self.settings.warehouse_root

    def ingest(self, fail_at: str = "", *options: str) -> tuple[int, str]:
        """Take what is there; give the exit code (-9 when it was killed) and what was said."""
        return self._run("ingest", "--once", *options, fail_at=fail_at)

    def build_gold(self, fail_at: str = "") -> tuple[int, str]:
        """Build what is new."""
        return self._run("build-gold", fail_at=fail_at)

    def start(self, word: str, *options: str) -> subprocess.Popen[str]:
        """Start a job and let it run; whoever starts it ends it."""
        command = [sys.executable, "-m", "plumbline", word, "--conf", str(self.conf), *options]
        return subprocess.Popen(command, cwd=PROJECT, stderr=subprocess.PIPE, text=True)

    def _run(self, word: str, *options: str, fail_at: str) -> tuple[int, str]:
        command = [sys.executable, "-m", "plumbline", word, "--conf", str(self.conf), *options]
        told = {VARIABLE: fail_at} if fail_at else {}
        done = subprocess.run(  # noqa: PLW1510 (the exit code is what is asked for)
            command,
            cwd=PROJECT,
            env=os.environ | told,
            stderr=subprocess.PIPE,
            text=True,
            timeout=ENDS_WITHIN_S,
        )
        return done.returncode, done.stderr


def checkpoint_often(where: Path, every: int = CHECKPOINT_EVERY) -> None:
    """Let the table in a folder have its Delta checkpoints often from now on."""
    log, wanted = DeltaTable(str(where)), {"delta.checkpointInterval": str(every)}
    if wanted.items() - log.metadata().configuration.items():
        with suppress(CommitFailedError):  # files are being merged: the next start sets it
            log.alter.set_table_properties(wanted)
