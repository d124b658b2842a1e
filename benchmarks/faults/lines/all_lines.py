"""Telemetry to publish: broker logs with one slow link and some damage, scrapes, clients, moves."""

import random
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from itertools import cycle
from pathlib import Path

import pyarrow as pa

from benchmarks.faults.lines.client_lines import of_clients
from benchmarks.faults.lines.move_lines import of_moves
from benchmarks.faults.site import PublishedLine
from schemas.bronze import RAW
from tests.engine import made_logs
from transforms.frames import arrow_of

OF_ANOTHER_LOGGER = b"2026-11-21T11:04:10Z INFO Rolled new log segment (kafka.log.UnifiedLog)"
DAMAGED = (b"\x00\xff\xfe", OF_ANOTHER_LOGGER)
SLOW_LINK, ADDED_MS, ONSET_S = (3, 1), 20.0, 70
SCRAPE_EVERY_S = 10
SCRAPE = (
    'kafka_network_RequestMetrics_Mean{{name="TotalTimeMs",request="FetchFollower"}} {mean_ms}\n'
    'kafka_network_RequestMetrics_Count{{name="TotalTimeMs",request="FetchFollower"}} {count}\n'
    'kafka_network_RequestMetrics_Mean{{name="RemoteTimeMs",request="FetchFollower"}} 490.5\n'
    'kafka_network_RequestMetrics_Count{{name="RemoteTimeMs",request="FetchFollower"}} {count}\n'
)
JITTER_S, LATE_S, LATE_SHARE, AGAIN_SHARE, DAMAGED_SHARE = 3.0, 300.0, 0.002, 0.01, 0.005


def damaged(
    lines: list[PublishedLine], dice: random.Random, share: float = DAMAGED_SHARE
) -> list[PublishedLine]:
    """Cut some log lines, or replace them with garbage or with a line of another logger; return all lines."""
    log_lines = [i for i, line in enumerate(lines) if line.kind != "metrics"]
    for i in dice.sample(log_lines, int(share * len(log_lines))):
        value = dice.choice([lines[i].value[:80], *DAMAGED])
        lines[i] = replace(lines[i], value=value)
    return lines


def in_order(folder: Path, *, seconds: int) -> list[tuple[float, PublishedLine]]:
    """Return the log lines and scrapes of `seconds`, each with its instant, in order."""
    made_logs.write_logs(folder, seconds=seconds, added_ms={SLOW_LINK: ADDED_MS}, onset_s=ONSET_S)
    lines = []
    for path in sorted(folder.rglob("*.log")):
        node, kind = path.parent.name, "request-log" if "request" in path.name else "client-log"
        for number, written in enumerate(path.read_bytes().splitlines()):
            lines.append((instant(written), PublishedLine(kind, node, f"{node}/{kind}/{number}", written)))
    return sorted([*lines, *_scrapes(seconds)], key=lambda pair: pair[0])


def steady(folder: Path, dice: random.Random, *, seconds: int = 1800) -> Iterator[PublishedLine]:
    """
    Yield lines endlessly, nearly in order: some are late, re-sent or damaged. The same lines repeat.

    They include lines about clients and about moves.
    """
    lines = [*in_order(folder, seconds=seconds), *of_clients(seconds), *of_moves(seconds)]
    lines.sort(key=lambda pair: pair[0])
    arriving = [(at + dice.uniform(0, JITTER_S), line) for at, line in lines]
    arriving += [(at + dice.uniform(0, LATE_S), line) for at, line in _some(arriving, dice, AGAIN_SHARE)]
    for i in dice.sample(range(len(arriving)), int(LATE_SHARE * len(arriving))):
        arriving[i] = (arriving[i][0] + dice.uniform(0, LATE_S), arriving[i][1])
    arriving.sort(key=lambda pair: pair[0])
    return cycle(damaged([line for _, line in arriving], dice))


def instant(line: bytes) -> float:
    """Return the instant at the start of a line, in epoch seconds."""
    whole, _, fraction = line.split(b"Z", 1)[0].decode().partition(".")
    return _second(whole) + float(f"0.{fraction}")


def rows_of_bronze(lines: Iterable[PublishedLine]) -> pa.Table:
    """Return lines as bronze rows, as if a collector had published them."""
    rows = [
        {
            "value": line.value,
            "cluster": "made",
            "node": line.node,
            "kind": line.kind,
            "time_zone": "UTC",
            "source": f"{line.node}/{line.kind}",
            "position": line.position,
            "headers": [{"key": name, "value": text.encode()} for name, text in line.headers] or None,
        }
        for line in lines
    ]
    return arrow_of(rows, RAW)


@cache
def _second(whole: str) -> float:
    return datetime.fromisoformat(whole).replace(tzinfo=UTC).timestamp()


def _scrapes(seconds: int) -> Iterator[tuple[float, PublishedLine]]:
    for number, after_s in enumerate(range(0, seconds, SCRAPE_EVERY_S)):
        at_ns = made_logs.START_NS + after_s * 1_000_000_000
        for broker in (1, 2, 3):
            node = f"broker-{broker}"
            text = SCRAPE.format(mean_ms=500 + broker + number / 100, count=10 * number)
            yield at_ns / 1e9, PublishedLine("metrics", node, f"{node}/scrape/{at_ns}", text.encode())


def _some(
    lines: list[tuple[float, PublishedLine]], dice: random.Random, share: float
) -> list[tuple[float, PublishedLine]]:
    return dice.sample(lines, int(share * len(lines)))
