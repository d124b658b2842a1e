"""
The telemetry of a quiet cluster: recorded once from three brokers under a small load, then sent at its pace.

It has lines of the request log, the client log and the state-change log, and pages of the JMX exporters.
"""

import gzip
import heapq
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks.metrics.record import record as record_pages
from benchmarks.metrics.record import recorded as recorded_pages
from benchmarks.pipeline.arms.lines import NodeLine
from conf.names import Kind
from conf.settings import ScrapedEndpoint
from lab import cluster, load

EVERY_S = 10.0
LOAD_PER_S = 50.0
FILES = {
    Kind.REQUEST_LOG: "kafka-request.log",
    Kind.CLIENT_LOG: "network-client.log",
    Kind.STATE_CHANGE: "state-change.log",
}
BEGINS = re.compile(rb"\d{4}-\d\d-\d\dT\S+ ")

INTERVAL_S = {
    Kind.REQUEST_LOG: 1 / 40,
    Kind.CLIENT_LOG: 1 / 15,
    Kind.STATE_CHANGE: 1 / 5,
    Kind.METRICS: EVERY_S,
    Kind.CLUSTER: 30.0,
}
"""Seconds between two records of a kind, for all brokers together; a scrape is one page per broker."""


class QuietPage(NamedTuple):
    """One scrape."""

    node: str
    at_ns: int
    text: bytes


class Recording(NamedTuple):
    """A recording: lines by kind, alternating between brokers, and pages in scrape order."""

    lines: dict[Kind, list[NodeLine]]
    pages: list[QuietPage]


def record(state: Path, seconds: float) -> Path:
    """Return the folder of the recording; the first call runs three brokers for `seconds`."""
    folder = state / "quiet-recorded"
    if (folder / ".done").exists():
        return folder
    lab = cluster.start(folder, request_log=True, client_log=True, fresh=True)
    try:
        load.begin(lab, load.Load(records_per_s=LOAD_PER_S))
        endpoints = [ScrapedEndpoint(url=one.exporter_url, node=f"broker-{one.id}") for one in lab.brokers]
        record_pages(endpoints, folder / "pages", seconds=seconds, every_s=EVERY_S)
    finally:
        cluster.stop(folder)
    (folder / ".done").touch()
    return folder


def read(folder: Path) -> Recording:
    """
    Return the recording in a folder.

    Raises:
        FileNotFoundError: a kind has no lines, or there are no pages.

    """
    lines = {kind: _lines(folder / "logs", name) for kind, name in FILES.items()}
    return Recording(lines, pages_in(folder))


def pages_in(folder: Path) -> list[QuietPage]:
    """Return the recorded pages in scrape order."""
    pages = [
        QuietPage(node, at_ns, gzip.decompress(path.read_bytes()))
        for node, of_node in recorded_pages(folder / "pages").items()
        for at_ns, path in of_node
    ]
    return sorted(pages, key=lambda page: page.at_ns)


def due(seconds: float) -> Iterator[tuple[float, Kind, int]]:
    """
    Yield the records due within `seconds`, in order: the instant in seconds, the kind, its number from 0.

    >>> [(at_s, kind.value) for at_s, kind, _ in due(0.05)]
    [(0.0, 'client-log'), (0.0, 'cluster'), (0.0, 'metrics'), (0.0, 'request-log'), (0.0, 'state-change'), \
(0.025, 'request-log')]
    """
    yield from heapq.merge(*(_due(kind, every_s, seconds) for kind, every_s in INTERVAL_S.items()))


def _due(kind: Kind, every_s: float, seconds: float) -> Iterator[tuple[float, Kind, int]]:
    for nth in range(math.ceil(round(seconds / every_s, 6))):
        yield nth * every_s, kind, nth


def _lines(logs: Path, name: str) -> list[NodeLine]:
    found = [
        (path.parent.name, line)
        for path in sorted(logs.glob(f"broker-*/{name}"))
        for line in path.read_bytes().splitlines()
        if BEGINS.match(line)
    ]
    if not found:
        message = f"{logs}: no broker has lines in {name}. Remove {logs.parent} to record again."
        raise FileNotFoundError(message)
    return sorted(found, key=lambda line: line[1])
