"""What was injected, written down: the ground truth that measurements are compared with."""

import json
from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import quantiles
from typing import Any

from lab.proxy import applied_log

NS_PER_S = 1_000_000_000
_QUANTILES = {"p5": 5, "p10": 10, "p50": 50, "p90": 90}


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A stretch of time in epoch nanoseconds, its end not included."""

    since_ns: int
    until_ns: int


def iso(epoch_ns: int) -> str:
    """
    Write an instant in UTC with microseconds.

    >>> iso(1_700_000_000_123_456_789)
    '2023-11-14T22:13:20.123456+00:00'
    """
    seconds, ns = divmod(epoch_ns, NS_PER_S)
    moment = datetime.fromtimestamp(seconds, UTC).replace(microsecond=ns // 1000)
    return moment.isoformat(timespec="microseconds")


def applied(folder: Path, span: Span) -> list[dict[str, Any]]:
    """Return quantiles in ms of the round-trip delay really applied to each pair within a span, and n."""
    by_pair: defaultdict[tuple[int, int], list[float]] = defaultdict(list)
    for exchange in applied_log.read(folder, since_ns=span.since_ns, until_ns=span.until_ns):
        by_pair[int(exchange["follower"]), int(exchange["leader"])].append(exchange["applied_ms"])
    return [
        {"follower_id": follower, "leader_id": leader, **_quantiles(values)}
        for (follower, leader), values in sorted(by_pair.items())
    ]


def _quantiles(values: list[float]) -> dict[str, float | int]:
    if len(values) == 1:
        values = values * 2  # `quantiles` wants two
        return {"n": 1, **{f"applied_{name}_ms": round(values[0], 4) for name in _QUANTILES}}
    cuts = quantiles(values, n=100, method="inclusive")
    named = {f"applied_{name}_ms": round(cuts[at - 1], 4) for name, at in _QUANTILES.items()}
    return {"n": len(values), **named}


def stem(name: str, *, at_ns: int) -> str:
    """
    Return what the files of one run are called.

    >>> stem("throttle", at_ns=1_700_000_000_123_456_789)
    'throttle-20231114T221320.123457Z'
    """
    return f"{name}-{datetime.fromtimestamp(at_ns / NS_PER_S, UTC).strftime('%Y%m%dT%H%M%S.%fZ')}"


def write(folder: Path, name: str, facts: dict[str, Any], *, at_ns: int) -> Path:
    """Write `NAME-STAMP.json` and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{stem(name, at_ns=at_ns)}.json"
    path.write_text(json.dumps(facts, indent=2) + "\n")
    return path
