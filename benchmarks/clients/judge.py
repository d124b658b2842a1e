"""Whether what the report says of clients is what the lab did: skew, redirects, lookups."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import median
from typing import Any

from benchmarks.clients.witness import Redirect

Row = dict[str, Any]
MATCH_S, SMALLEST_MS = 1.0, 0.001
REDIRECT, DISCONNECT = "redirect", "disconnect"


@dataclass(frozen=True, slots=True, kw_only=True)
class Skew:
    """One run of one arm: what the slow broker got beside the others, and what was made of it."""

    arm: str
    repeat: int
    records_per_s: float
    partitioner: str | None
    slow_ratio: float
    repeat_ratio: float | None
    stay_ratio: float | None
    said: str | None
    batches: int


def skews(truth: Row, tables: Mapping[str, Sequence[Row]]) -> list[Skew]:
    """Give each run with the share of the broker that was really slow, over the mean of the others."""
    of_run: dict[tuple[str | None, str], list[Row]] = defaultdict(list)
    for row in tables["partition_skew"]:
        of_run[row["run"], row["client_id"]].append(row)
    said = {(row["run"], row["client_id"]): row for row in tables["partition_skew_summary"]}
    found = []
    for run in truth["runs"]:
        rows = of_run[run["run"], run["client_id"]]
        slow = [row["share"] for row in rows if row["leader_id"] == truth["slow_broker_id"]]
        others = [row["share"] for row in rows if row["leader_id"] != truth["slow_broker_id"]]
        summary = said.get((run["run"], run["client_id"]))
        if not slow or not others or summary is None:
            continue
        found.append(
            Skew(
                arm=run["arm"],
                repeat=run["repeat"],
                records_per_s=run["records_per_s"],
                partitioner=run["partitioner"],
                slow_ratio=(sum(slow) / len(slow)) / (sum(others) / len(others)),
                repeat_ratio=summary["repeat_ratio"],
                stay_ratio=summary["slowest_stay_ratio"],
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


def above_all(runs: Sequence[Skew], records_per_s: float) -> int:
    """Count the rounds at a rate in which uniform sent the slow broker more than every adaptive arm did."""
    rounds: dict[int, dict[str | None, list[float]]] = defaultdict(lambda: defaultdict(list))
    for run in runs:
        if run.records_per_s == records_per_s:
            rounds[run.repeat][run.partitioner].append(run.slow_ratio)
    return sum(min(of["uniform"]) > max(of["adaptive"]) for of in rounds.values())


def named(runs: Sequence[Skew]) -> tuple[int, int, int]:
    """Count partitioners named right, all runs (with keys too) named wrong, and runs of partitioners."""
    theirs = [run for run in runs if run.partitioner is not None]
    right = sum(run.said == run.partitioner for run in theirs)
    wrong = sum(run.said is not None and run.said != run.partitioner for run in runs)
    return right, wrong, len(theirs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Redirects:
    """One client version in one phase."""

    version: str
    phase: str
    api: str
    n: int
    unfinished: int
    p50_ms: float
    p90_ms: float
    client_p50_ms: float
    broker_p50_ms: float
    broker_share: float
    hinted: int
    wasted: int
    errors: Mapping[int, int]


def by_version(truth: Row, tables: Mapping[str, Sequence[Row]]) -> list[Redirects]:
    """Summarise the redirects of each phase and version; disconnects are told by `deaths`."""
    phase_of = {run["run"]: run["phase"] for run in truth["runs"]}
    version_of = {run["client_id"]: run["client_version"] for run in truth["runs"]}
    groups: dict[tuple[str, str, str], list[Row]] = defaultdict(list)
    for row in tables["leader_redirect"]:
        if row["kind"] == REDIRECT and row["topic"] in phase_of and row["client_id"] in version_of:
            groups[row["api"], phase_of[row["topic"]], version_of[row["client_id"]]].append(row)
    return [
        Redirects(version=version, phase=phase, api=api, **_summed(rows))
        for (api, phase, version), rows in sorted(
            groups.items(), key=lambda group: (group[0][0] != "PRODUCE", group[0][1] != "one", group[0])
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
        "broker_share": sum(parts["broker_part_ms"]) / max(sum(ended), SMALLEST_MS),
        "hinted": sum(bool(row["hinted"]) for row in rows),
        "wasted": sum(row["errors_at_old_leader"] for row in rows),
        "errors": Counter(row["error_code"] for row in rows),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Deaths:
    """What one client lost to leaders that died: partitions led by one, and what was told of them."""

    version: str
    api: str
    lost: int
    told: int
    p50_ms: float
    max_ms: float


def deaths(truth: Row, tables: Mapping[str, Sequence[Row]]) -> tuple[list[Deaths], int]:
    """Count what each client lost to a killed broker and how much of it is told; and what is told wrongly."""
    died = {
        (move["topic"], move["partition"]): (move["old_leader_id"], move["new_leader_id"])
        for move in truth["moves"]
        if move["phase"] == "dead"
    }
    told = [row for row in tables["leader_redirect"] if row["kind"] == DISCONNECT]
    found = []
    clients = {
        (run["client_version"], run["api"], run["client_id"])
        for run in truth["runs"]
        if run["phase"] == "dead"
    }
    right = 0
    for version, api, client_id in sorted(clients, key=lambda of: (of[1] != "PRODUCE", of)):
        of_client = [row for row in told if row["client_id"] == client_id]
        its = [row for row in of_client if _leaders(row) == died.get(_where(row))]
        times = [row["redirect_ms"] for row in its] or [float("nan")]
        right += len(its)
        found.append(
            Deaths(
                version=version,
                api=api,
                lost=len(died),
                told=len({_where(row) for row in its}),
                p50_ms=median(times),
                max_ms=max(times),
            )
        )
    return found, len(told) - right


def _where(row: Row) -> tuple[str, int]:
    return row["topic"], row["partition"]


def _leaders(row: Row) -> tuple[int, int]:
    return row["old_leader_id"], row["new_leader_id"]


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
        is_redirect = (row["kind"], row["api"]) == (REDIRECT, "PRODUCE") and row["redirect_ms"] is not None
        if not is_redirect or row["arm"] not in (one, other):
            continue
        at = datetime.fromisoformat(row["errored_at"])
        before = [move for move in moves if move[1:] == (row["topic"], row["partition"]) and move[0] <= at]
        if before:
            found[before[-1]].setdefault(row["arm"], row["redirect_ms"])
    return [told[one] - told[other] for told in found.values() if len(told) == 2]  # noqa: PLR2004 (both)


@dataclass(frozen=True, slots=True, kw_only=True)
class Witnessed:
    """`redirect_ms` minus what a client's own log says of the same event; and how many that log knows of."""

    differences: list[float]
    seen: int


def witnessed(rows: Sequence[Row], seen: Sequence[Redirect]) -> Witnessed:
    """Hold the events of one run against its client's own log, nearest in time of the same partition."""
    differences = []
    for row in rows:
        if row["kind"] != REDIRECT:
            continue
        at = datetime.fromisoformat(row["errored_at"])
        near = [
            one
            for one in seen
            if one.partition == row["partition"] and abs((one.errored_at - at).total_seconds()) < MATCH_S
        ]
        if near and row["redirect_ms"] is not None:
            nearest = min(near, key=lambda one: abs((one.errored_at - at).total_seconds()))
            differences.append(row["redirect_ms"] - nearest.redirect_ms)
    return Witnessed(differences=differences, seen=len(seen))
