"""
The telemetry of a quiet cluster: recorded once from three brokers under a small load, then sent at its pace.

It has lines of the request log, the client log and the state-change log, and pages of the JMX exporters. At
the end of the recording, replicas move under a throttle. These lines are sent as they came, so that some
batches of gold touch each table.
"""

import gzip
import heapq
import math
import re
import shutil
from collections.abc import Collection, Iterator
from dataclasses import replace
from datetime import datetime
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from benchmarks.metrics.record import record as record_pages
from benchmarks.metrics.record import recorded as recorded_pages
from benchmarks.pipeline.arms.lines import NodeLine, stamp
from benchmarks.pipeline.arms.scale import Scale
from conf.names import Kind
from conf.settings import ScrapedEndpoint
from lab import cluster, load
from lab.throttle import parts, scenario

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

MOVE = replace(parts.BY_NAME["a_load"], partition_bytes=40 * parts.MB)
"""Two replicas move in 16 s under a load, whose producer the old leaders refuse in the end."""

MOVED_FROM = "moved-from"
"""The file of a complete recording with the instant, as in the logs, from which on replicas moved."""

LINES, QUIET, MOVES = "lines alone", "quiet cluster", "moves"
"""The stages of a run that are measured."""

Due = Iterator[tuple[float, Kind, int]]
"""Seconds from the start of a stage, a kind, and the number of the record from 0."""


class QuietPage(NamedTuple):
    """One scrape."""

    node: str
    at_ns: int
    text: bytes


class Recording(NamedTuple):
    """A recording: lines by kind, alternating between brokers, and pages in scrape order."""

    lines: dict[Kind, list[NodeLine]]
    pages: list[QuietPage]


class Stage(NamedTuple):
    """A stage of a run: its name and length, what is sent, and when."""

    name: str
    seconds: float
    recording: Recording
    due: Due


def record(state: Path, scale: Scale) -> Path:
    """Return the folder of the recording; the first call runs three brokers."""
    folder = state / "quiet-recorded"
    if (folder / MOVED_FROM).exists():
        return folder
    shutil.rmtree(folder / "pages", ignore_errors=True)
    lab = cluster.start(folder, request_log=True, client_log=True, fresh=True)
    try:
        load.begin(lab, load.Load(records_per_s=LOAD_PER_S))
        endpoints = [ScrapedEndpoint(url=one.exporter_url, node=f"broker-{one.id}") for one in lab.brokers]
        record_pages(endpoints, folder / "pages", seconds=scale.recorded_s, every_s=EVERY_S)
        moved_from = stamp()
        scenario.run(folder, scenario.ThrottlePlan(repeats=scale.moves, parts=(MOVE,)))
    finally:
        cluster.stop(folder)
    (folder / MOVED_FROM).write_bytes(moved_from)
    return folder


def read(folder: Path) -> tuple[Recording, Recording]:
    """
    Return the recording of the quiet cluster, and that of the moves.

    Raises:
        FileNotFoundError: a kind has no lines, or there are no pages.

    """
    moved_from, pages = (folder / MOVED_FROM).read_bytes(), pages_in(folder)
    lines = {kind: _lines(folder / "logs", name) for kind, name in FILES.items()}
    quiet, moves = (
        {
            kind: [line for line in found if (line[1] >= moved_from) is is_move]
            for kind, found in lines.items()
        }
        for is_move in (False, True)
    )
    return Recording(quiet, pages), Recording(moves, pages)


def pages_in(folder: Path) -> list[QuietPage]:
    """Return the recorded pages in scrape order."""
    pages = [
        QuietPage(node, at_ns, gzip.decompress(path.read_bytes()))
        for node, of_node in recorded_pages(folder / "pages").items()
        for at_ns, path in of_node
    ]
    return sorted(pages, key=lambda page: page.at_ns)


def stages(folder: Path, scale: Scale, *, with_gold: bool) -> list[Stage]:
    """Return the stages of a run; with gold, also those in which only batches of gold are measured."""
    quiet, moves = read(folder)
    settle_s, moves_s = scale.quiet_settle_s, length(moves)
    measured = [
        Stage("settle", settle_s, quiet, due(settle_s)),
        Stage(QUIET, scale.quiet_s, quiet, due(scale.quiet_s)),
    ]
    if not with_gold:
        return measured
    return [
        Stage("start", settle_s, quiet, due(settle_s, FILES)),
        Stage(LINES, scale.lines_s, quiet, due(scale.lines_s, FILES)),
        *measured,
        Stage(MOVES, moves_s, moves, heapq.merge(due_again(moves), due(moves_s, {Kind.METRICS}))),
    ]


def spans(run: list[Stage], began: float) -> dict[str, tuple[float, float]]:
    """Return begin and end of each stage of a run, by name."""
    ends = accumulate((stage.seconds for stage in run), initial=began)
    return {stage.name: (end - stage.seconds, end) for stage, end in zip(run, list(ends)[1:], strict=True)}


def due(seconds: float, kinds: Collection[Kind] = INTERVAL_S) -> Due:
    """
    Yield the records due within `seconds`, in order: the instant in seconds, the kind, its number from 0.

    >>> [(at_s, kind.value) for at_s, kind, _ in due(0.05)]
    [(0.0, 'client-log'), (0.0, 'cluster'), (0.0, 'metrics'), (0.0, 'request-log'), (0.0, 'state-change'), \
(0.025, 'request-log')]
    """
    yield from heapq.merge(*(_due(kind, INTERVAL_S[kind], seconds) for kind in kinds))


def _due(kind: Kind, every_s: float, seconds: float) -> Due:
    for nth in range(math.ceil(round(seconds / every_s, 6))):
        yield nth * every_s, kind, nth


def due_again(recording: Recording) -> Due:
    """Yield the lines of a recording, due at the distances in which they were written."""
    first, _ = _ends(recording)
    yield from heapq.merge(
        *(
            [((_instant(line) - first).total_seconds(), kind, nth) for nth, (_, line) in enumerate(lines)]
            for kind, lines in recording.lines.items()
        )
    )


def length(recording: Recording) -> float:
    """Return the seconds from the first to the last line."""
    first, last = _ends(recording)
    return (last - first).total_seconds()


def _ends(recording: Recording) -> tuple[datetime, datetime]:
    ends = [_instant(lines[nth][1]) for lines in recording.lines.values() if lines for nth in (0, -1)]
    return min(ends), max(ends)


def _instant(line: bytes) -> datetime:
    return datetime.fromisoformat(line[: line.index(b" ")].decode())


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
