"""Whether what the report says of clients is what the lab did: skew, redirects, lookups."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import median
from typing import Any

from benchmarks.clients.witness import Redirect

Row = dict[str, Any]
MATCH_S = 1.0
STICKY, UNIFORM, ADAPTIVE = "sticky", "uniform", "adaptive"


@dataclass(frozen=True, slots=True, kw_only=True)
class Skew:
    """One run of one arm: what the slow broker got beside the others, and what was made of it."""

    arm: str
    repeat: int
    records_per_s: float
    partitioner: str
    slow_ratio: float
    said: str | None
    batches: int


def skews(truth: Row, tables: Mapping[str, Sequence[Row]]) -> list[Skew]:
    """Give each run with the share of the broker that was really slow, over the mean of the others."""
    of_run: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in tables["partition_skew"]:
        of_run[row["run"], row["arm"]].append(row)
    said = {(row["run"], row["arm"]): row for row in tables["partition_skew_summary"]}
    found = []
    for run in truth["runs"]:
        rows = of_run[run["run"], run["arm"]]
        slow = [row["share"] for row in rows if row["leader_id"] == truth["slow_broker_id"]]
        others = [row["share"] for row in rows if row["leader_id"] != truth["slow_broker_id"]]
        summary = said.get((run["run"], run["arm"]))
        if not slow or not others or summary is None:
            continue
        found.append(
            Skew(
                arm=run["arm"],
                repeat=run["repeat"],
                records_per_s=run["records_per_s"],
                partitioner=run["partitioner"],
                slow_ratio=(sum(slow) / len(slow)) / (sum(others) / len(others)),
                said=summary["partitioner"],
                batches=summary["batches"],
            )
        )
    return found


def in_order(runs: Sequence[Skew]) -> dict[tuple[int, float], tuple[bool, bool]]:
    """Tell of each repeat and rate whether sticky got 3 times as much, and sticky > uniform > adaptive."""
    told: dict[tuple[int, float], dict[str, float]] = defaultdict(dict)
    for run in runs:
        told[run.repeat, run.records_per_s][run.arm] = run.slow_ratio
    return {
        key: (
            min(of["default-partitioner"], of["uniform-sticky"]) >= 3,  # noqa: PLR2004 (the aim)
            min(of["default-partitioner"], of["uniform-sticky"]) > of["uniform"] > of["adaptive"],
        )
        for key, of in told.items()
    }


def named(runs: Sequence[Skew]) -> tuple[int, int, int]:
    """Count the arms named right, named wrong, and all."""
    right = sum(run.said == run.partitioner for run in runs)
    wrong = sum(run.said is not None and run.said != run.partitioner for run in runs)
    return right, wrong, len(runs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Redirects:
    """One client version in one phase."""

    version: str
    phase: str
    n: int
    unfinished: int
    p50_ms: float
    p90_ms: float
    client_p50_ms: float
    broker_p50_ms: float
    hinted: int
    wasted: int


def by_version(truth: Row, tables: Mapping[str, Sequence[Row]]) -> list[Redirects]:
    """Summarise the redirects of each phase and version."""
    phase_of = {run["run"]: run["phase"] for run in truth["runs"]}
    groups: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in tables["leader_redirect"]:
        if row["run"] in phase_of and row["api"] == "PRODUCE":
            groups[phase_of[row["run"]], row["arm"]].append(row)
    return [
        Redirects(version=version, phase=phase, **_summed(rows))
        for (phase, version), rows in sorted(
            groups.items(), key=lambda group: (group[0][0] != "one", group[0])
        )
    ]


def _summed(rows: Sequence[Row]) -> Row:
    ended = sorted(row["redirect_ms"] for row in rows if row["redirect_ms"] is not None)
    parts = {
        name: [row[name] for row in rows if row[name] is not None]
        for name in ("client_part_ms", "broker_part_ms")
    }
    return {
        "n": len(ended),
        "unfinished": len(rows) - len(ended),
        "p50_ms": median(ended) if ended else float("nan"),
        "p90_ms": ended[int(0.9 * (len(ended) - 1))] if ended else float("nan"),
        "client_p50_ms": median(parts["client_part_ms"] or [float("nan")]),
        "broker_p50_ms": median(parts["broker_part_ms"] or [float("nan")]),
        "hinted": sum(bool(row["hinted"]) for row in rows),
        "wasted": sum(row["errors_at_old_leader"] for row in rows),
    }


def paired(truth: Row, tables: Mapping[str, Sequence[Row]], one: str, other: str) -> list[float]:
    """
    Give `redirect_ms` of one version minus the other's, move by move: both met the same moves.

    A move is a partition and the election asked for before; a client whose error came later than the next
    move is not paired.
    """
    moves = sorted(
        (datetime.fromisoformat(move["asked_at"]), move["topic"], move["partition"])
        for move in truth["moves"]
        if move["phase"] == "one"
    )
    found: dict[tuple[datetime, str, int], dict[str, float]] = defaultdict(dict)
    for row in tables["leader_redirect"]:
        if row["arm"] not in (one, other) or row["redirect_ms"] is None:
            continue
        at = datetime.fromisoformat(row["errored_at"])
        before = [move for move in moves if move[1:] == (row["topic"], row["partition"]) and move[0] <= at]
        if before:
            found[before[-1]].setdefault(row["arm"], row["redirect_ms"])
    return [told[one] - told[other] for told in found.values() if len(told) == 2]  # noqa: PLR2004 (both)


def witnessed(rows: Sequence[Row], seen: Sequence[Redirect]) -> list[float]:
    """Give `redirect_ms` minus what the client's own log says of the same event."""
    differences = []
    for row in rows:
        at = datetime.fromisoformat(row["errored_at"])
        near = [
            one
            for one in seen
            if one.partition == row["partition"] and abs((one.errored_at - at).total_seconds()) < MATCH_S
        ]
        if near and row["redirect_ms"] is not None:
            nearest = min(near, key=lambda one: abs((one.errored_at - at).total_seconds()))
            differences.append(row["redirect_ms"] - nearest.redirect_ms)
    return differences
