"""The way of a line from a log to gold, each part a process of its own, and what must hold at its end."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any

from confluent_kafka import Consumer, TopicPartition

from benchmarks.faults import oracles
from benchmarks.faults.site import Acked, Site
from conf.settings import PROJECT, Telemetry
from engine.ingest.checkpoints import offsets_held
from schemas.bronze import CLIENT_LOG, REQUEST_LOG
from schemas.gold.data_quality import DATA_QUALITY
from schemas.silver.client_events import CLIENT_EVENTS
from schemas.silver.not_kept import QUARANTINE, SKIPPED
from schemas.silver.requests import REQUESTS

NODE = "broker-1"
INGESTED = (REQUEST_LOG, CLIENT_LOG, REQUESTS, CLIENT_EVENTS, QUARANTINE, SKIPPED)
CAUGHT_UP_WITHIN_S = 90
ENDS_WITHIN_S = 10

Row = dict[str, Any]
"""A line that arrived: `position`, `value`, `partition` and `offset`."""


@dataclass(slots=True)
class LedgerLines:
    """The writer's ledger: lines by position, and those that are in no file any more."""

    sha256: dict[str, str] = field(default_factory=dict)
    end: dict[str, int] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)

    @classmethod
    def read(cls, ledger: Path) -> "LedgerLines":
        """Read the ledger; its writer is at rest."""
        written, ends = cls(), dict[str, int]()
        for row in map(json.loads, ledger.read_text().splitlines()):
            if "gone" in row:
                written.gone.add(row["gone"])
            else:
                written.sha256[row["position"]] = row["sha256"]
                ends[row["position"]] = row["end"]
        for position in ends.keys() - written.gone:
            mark = position.split("/")[1]
            written.end[mark] = max(ends[position], written.end.get(mark, 0))
        return written


class Edge:
    """A log with its writer, a collector on it, and a warehouse that reads the topics of a site."""

    def __init__(self, site: Site, folder: Path, dice: Random) -> None:
        """Start the writer; the collector waits for `start`."""
        self.site, self.warehouse = site, site.warehouse("edge", batch=5_000)
        self.live, self.ledger = folder / "logs" / "kafka-request.log", folder / "written.jsonl"
        self.live.parent.mkdir()
        self.state, self._said = folder / "state", folder / "collector.txt"
        self.ingest_said = folder / "ingest.txt"
        self.positions = self.state / "positions.json"
        self._said.touch()
        self._overlay = folder / "collector.toml"
        self._overlay.write_text(
            f'[collector]\nstate = "{self.state}"\ncluster = "made"\ntime_zone = "UTC"\n'
            f'files = [{{ path = "{self.live}", kind = "request-log", node = "{NODE}" }}]\n'
        )
        arguments = [str(self.live), str(self.ledger), NODE, str(dice.random())]
        self._writer = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.faults.edge.log_writer", *arguments],
            cwd=PROJECT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.topic = f"{self.warehouse.settings.telemetry.topic_prefix}request-log"
        self.collector: subprocess.Popen[bytes] | None = None
        self._processes: list[subprocess.Popen[bytes]] = []

    def write(self, *command: str | int, meanwhile: Callable[[], object] = lambda: None) -> None:
        """Send the writer one command, do something at the same time, and wait until it is done."""
        self._writer.stdin.write(" ".join(map(str, command)) + "\n")
        self._writer.stdin.flush()
        meanwhile()
        assert self._writer.stdout.readline() == "done\n", "the writer of the log has ended"

    @property
    def output(self) -> str:
        """Everything that the collectors have printed."""
        return self._said.read_text(errors="replace")

    def start(self, *options: str) -> subprocess.Popen[bytes]:
        """Start a collector."""
        command = ["-m", "collectors", "--conf", str(self.warehouse.conf), "--conf", str(self._overlay)]
        return self._process(self._said, *command, *options)

    def begin(self) -> None:
        """Start the first collector and wait until it has decided where the log begins for it."""
        self.collector = self.start()
        assert waited_for(self.positions.exists), self.output

    def start_again(self) -> None:
        """Start the collector after its end."""
        self.collector = self.start()

    def start_ingest(self) -> subprocess.Popen[bytes]:
        """Start the ingest as a stream."""
        conf = str(self.warehouse.conf)
        return self._process(self.ingest_said, "-m", "plumbline", "ingest", "--conf", conf)

    def _process(self, output: Path, *arguments: str) -> subprocess.Popen[bytes]:
        with output.open("ab") as out:
            process = subprocess.Popen([sys.executable, *arguments], cwd=PROJECT, stderr=out, stdout=out)
        self._processes.append(process)
        return process

    def kill(self) -> None:
        """End the collector as `kill -9` does."""
        self.collector.kill()
        self.collector.wait()

    def stop(self) -> list[str]:
        """End the collector by SIGTERM; it may take a few seconds."""
        return ended_by(self.collector, signal.SIGTERM, "the collector")

    def close(self) -> None:
        """End whatever still runs."""
        for process in self._processes:
            process.kill()
            process.wait()
        self._writer.stdin.close()
        self._writer.wait(30)
        self._writer.stdout.close()

    def saved(self) -> dict[str, int]:
        """Return the saved offset of each file by its fingerprint."""
        if not self.positions.exists():
            return {}
        logs = json.loads(self.positions.read_text())["logs"]
        return {mark: row["offset"] for rows in logs.values() for mark, row in rows.items()}

    def caught_up(self) -> list[str]:
        """Wait for the collector that runs to have delivered all that is on the disk; then stop it."""
        if not waited_for(lambda: self.collector.poll() is not None or not self.behind()):
            return [f"the collector stays behind: {self.behind()}", self.output[-500:]]
        if self.collector.returncode is not None:
            return [f"the collector ended with {self.collector.returncode}: {self.output[-500:]}"]
        return self.stop()

    def behind(self) -> dict[str, tuple[int, int]]:
        """Return saved offset and end of each file that is not wholly saved; deleted bytes do not count."""
        saved, written = self.saved(), LedgerLines.read(self.ledger)
        return {
            mark: (saved.get(mark, 0), end) for mark, end in written.end.items() if saved.get(mark, 0) < end
        }

    def partition(self) -> int:
        """Name the partition that the log goes to: the one that holds something."""
        held = offsets_held(self.warehouse.settings.telemetry, self.topic)
        return max(held, key=lambda partition: held[partition][1])

    def records(self) -> int:
        """Count what the topic of the log holds."""
        return sum(high for _, high in offsets_held(self.warehouse.settings.telemetry, self.topic).values())

    def wrong(self) -> list[str]:
        """Catch up, look into the topic; then ingest what is there, build gold, and ask every oracle."""
        self.write("pause")
        wrong = self.caught_up() or self.wrong_in_topic()
        if wrong:
            return wrong
        for job in (self.warehouse.ingest, self.warehouse.build_gold):
            code, output = job()
            wrong += [f"{job.__name__} ended with {code}: {output[-500:]}"] if code else []
        return wrong or self.wrong_in_tables()

    def wrong_in_topic(self) -> list[str]:
        """Compare the topic with the log's ledger."""
        rows = in_topic(self.warehouse.settings.telemetry, self.topic)
        return [f"topic: {finding}" for finding in wrong_lines(rows, LedgerLines.read(self.ledger))]

    def wrong_in_tables(self) -> list[str]:
        """Compare bronze, silver and gold with both ledgers and with the topic of the log."""
        root = self.warehouse.root
        rows = in_topic(self.warehouse.settings.telemetry, self.topic)
        return [
            *oracles.lost_or_doubled(root, [*self.site.ledger, *(acked(self.topic, row) for row in rows)]),
            *oracles.unbalanced(root),
            *oracles.bad_log(root, INGESTED),
            *oracles.unbalanced_books(root),
            *wrong_lines(in_bronze(root), LedgerLines.read(self.ledger)),
            *wrong_totals(root),
        ]


def in_bronze(root: Path) -> list[Row]:
    """Return the log's rows in bronze, in the topic's order."""
    rows = oracles.rows_of(root, REQUEST_LOG, "position", "value", "partition", "offset").to_pylist()
    return sorted(rows, key=lambda row: (row["partition"], row["offset"]))


def in_topic(telemetry: Telemetry, topic: str) -> list[Row]:
    """Return the rows in the topic of the log, in its order."""
    held = offsets_held(telemetry, topic)
    options = {
        "bootstrap.servers": telemetry.bootstrap_servers,
        "group.id": "plumbline-faults",
        "log_level": "2",
    }
    consumer = Consumer(options)
    consumer.assign([TopicPartition(topic, partition, low) for partition, (low, _) in held.items()])
    missing, rows = sum(high - low for low, high in held.values()), list[Row]()
    while missing and (messages := consumer.consume(min(missing, 5_000), timeout=30)):
        missing -= len(messages)
        for message in messages:
            position = dict(message.headers())["position"].decode()
            where = {"partition": message.partition(), "offset": message.offset()}
            rows.append({"position": position, "value": message.value(), **where})
    consumer.close()
    assert not missing, f"{missing} records of {topic} cannot be read"
    return sorted(rows, key=lambda row: (row["partition"], row["offset"]))


def acked(topic: str, row: Row) -> Acked:
    """Return a record of the topic as acknowledged; the collector handles the acks itself."""
    digest = sha256(row["value"]).hexdigest()
    return Acked(topic, row["partition"], row["offset"], row["position"], digest)


def wrong_lines(rows: list[Row], written: LedgerLines) -> list[str]:
    """Compare rows with the log's ledger: no line lost, torn, merged or made up, each file in its order."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for row in rows:
        found[row["position"]].add(sha256(row["value"]).hexdigest())
    lost = sorted(written.sha256.keys() - found.keys() - written.gone)
    invented = sorted(found.keys() - written.sha256.keys())
    changed = [p for p in found.keys() & written.sha256.keys() if found[p] != {written.sha256[p]}]
    reached, disordered = dict[str, int](), list[str]()
    for position in dict.fromkeys(row["position"] for row in rows):  # where each was for the first time
        mark, offset = position.rsplit("/", 1)
        disordered += [position] if int(offset) < reached.get(mark, 0) else []
        reached[mark] = int(offset)
    kinds = {"lost": lost, "made up": invented, "with other bytes": changed, "out of order": disordered}
    return [
        f"of {len(written.sha256)} lines {len(bad)} are {what}, as {bad[0]}"
        for what, bad in kinds.items()
        if bad
    ]


def wrong_totals(root: Path) -> list[str]:
    """Compare `gold.data_quality` with bronze: each position counts once, every other row is a duplicate."""
    positions = oracles.rows_of(root, REQUEST_LOG, "position")["position"].to_pylist()
    books = [row for row in oracles.rows_of(root, DATA_QUALITY).to_pylist() if row["kind"] == "request-log"]
    counts = Counter[str]()
    for row in books:
        counts.update({name: row[name] for name in ("lines_read", "kept", "duplicates")})
    once = len(set(positions))
    truth = {"lines_read": len(positions), "kept": once, "duplicates": len(positions) - once}
    wrong = [
        f"gold has {counts[name]} {name}, there are {n}" for name, n in truth.items() if counts[name] != n
    ]
    return wrong + [f"{row['source']} is not balanced" for row in books if not row["is_balanced"]]


def ended_by(
    process: subprocess.Popen[bytes], number: int, name: str, *, within_s: float = ENDS_WITHIN_S
) -> list[str]:
    """Send a signal; the process ends with 0 in time."""
    process.send_signal(number)
    try:
        code = process.wait(within_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return [f"{name} did not end within {within_s} s of signal {number}"]
    return [f"{name} ended with {code} at signal {number}"] if code else []


def waited_for(condition: Callable[[], object], *, timeout_s: float = CAUGHT_UP_WITHIN_S) -> bool:
    """Wait for a condition; return whether it came true."""
    give_up_at = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > give_up_at:
            return False
        time.sleep(0.05)
    return True


@contextmanager
def frozen(pid: int) -> Iterator[None]:
    """Stop a process as SIGSTOP does, and let it go on."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


@contextmanager
def edge(site: Site, folder: Path, dice: Random) -> Iterator[Edge]:
    """Yield an edge; its processes that still run at the end are ended."""
    there = Edge(site, folder, dice)
    try:
        yield there
    finally:
        there.close()
