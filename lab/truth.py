"""Write the ground truth: what a scenario injected, and when."""

import json
from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import quantiles
from typing import Any

from conf.atomic_file import write_atomically
from lab.proxy import applied_log

NS_PER_S = 1_000_000_000
_QUANTILES = {"p5": 5, "p10": 10, "p50": 50, "p90": 90}


@dataclass(frozen=True, slots=True, kw_only=True)
class NanosRange:
    """A time range in epoch nanoseconds. `until_ns` is exclusive."""

    since_ns: int
    until_ns: int


def iso(epoch_ns: int) -> str:
    """
    Format an instant as ISO 8601 in UTC with microseconds.

    >>> iso(1_700_000_000_123_456_789)
    '2023-11-14T22:13:20.123456+00:00'
    """
    seconds, ns = divmod(epoch_ns, NS_PER_S)
    moment = datetime.fromtimestamp(seconds, UTC).replace(microsecond=ns // 1000)
    return moment.isoformat(timespec="microseconds")


def applied_delays(folder: Path, span: NanosRange) -> list[dict[str, Any]]:
    """Return n and quantiles (ms) of the round-trip delays that were applied to each pair in a time range."""
    by_pair: defaultdict[tuple[int, int], list[float]] = defaultdict(list)
    for exchange in applied_log.read(folder, since_ns=span.since_ns, until_ns=span.until_ns):
        by_pair[int(exchange["follower"]), int(exchange["leader"])].append(exchange["applied_ms"])
    return [
        {"follower_id": follower, "leader_id": leader, **_quantiles(values)}
        for (follower, leader), values in sorted(by_pair.items())
    ]


def _quantiles(values: list[float]) -> dict[str, float | int]:
    if len(values) == 1:
        values = values * 2  # `quantiles` needs two values
        return {"n": 1, **{f"applied_{name}_ms": round(values[0], 4) for name in _QUANTILES}}
    cuts = quantiles(values, n=100, method="inclusive")
    named = {f"applied_{name}_ms": round(cuts[at - 1], 4) for name, at in _QUANTILES.items()}
    return {"n": len(values), **named}


def file_stem(name: str, *, at_ns: int) -> str:
    """
    Return the file name of a run, without extension.

    >>> file_stem("throttle", at_ns=1_700_000_000_123_456_789)
    'throttle-20231114T221320.123457Z'
    """
    return f"{name}-{datetime.fromtimestamp(at_ns / NS_PER_S, UTC).strftime('%Y%m%dT%H%M%S.%fZ')}"


def write(folder: Path, name: str, facts: dict[str, Any], *, at_ns: int) -> Path:
    """Write `NAME-INSTANT.json` and return its path."""
    path = folder / f"{file_stem(name, at_ns=at_ns)}.json"
    write_atomically(path, json.dumps(facts, indent=2) + "\n")
    return path
