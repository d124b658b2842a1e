"""Compare the reported leaders that move and die with what the lab did."""

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
class PhaseRedirects:
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


def by_version(truth: Row, tables: Mapping[str, Sequence[Row]]) -> list[PhaseRedirects]:
    """Summarise the redirects of each phase and version; `deaths` has the disconnects."""
    phase_of = {run["run"]: run["phase"] for run in truth["runs"]}
    version_of = {run["client_id"]: run["client_version"] for run in truth["runs"]}
    groups: dict[tuple[str, str, str], list[Row]] = defaultdict(list)
    for row in tables["leader_redirect"]:
        if row["kind"] == REDIRECT and row["topic"] in phase_of and row["client_id"] in version_of:
            groups[row["api"], phase_of[row["topic"]], version_of[row["client_id"]]].append(row)
    return [
        PhaseRedirects(version=version, phase=phase, api=api, **_summed(rows))
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
    """What one client lost to leaders that died: their partitions, and how many of these were reported."""

    version: str
    api: str
    lost: int
    reported: int
    p50_ms: float
    max_ms: float


def deaths(truth: Row, tables: Mapping[str, Sequence[Row]]) -> tuple[list[Deaths], int]:
    """Count what each client lost to a killed broker, and what is reported of it, rightly and wrongly."""
    died = {
        (move["topic"], move["partition"]): (move["old_leader_id"], move["new_leader_id"])
        for move in truth["moves"]
        if move["phase"] == "dead"
    }
    reported = [row for row in tables["leader_redirect"] if row["kind"] == DISCONNECT]
    found = []
    clients = {
        (run["client_version"], run["api"], run["client_id"])
        for run in truth["runs"]
        if run["phase"] == "dead"
    }
    right = 0
    for version, api, client_id in sorted(clients, key=lambda client: (client[1] != "PRODUCE", client)):
        of_client = [row for row in reported if row["client_id"] == client_id]
        its = [row for row in of_client if _leaders(row) == died.get(_where(row))]
        times = [row["redirect_ms"] for row in its] or [float("nan")]
        right += len(its)
        found.append(
            Deaths(
                version=version,
                api=api,
                lost=len(died),
                reported=len({_where(row) for row in its}),
                p50_ms=median(times),
                max_ms=max(times),
            )
        )
    return found, len(reported) - right


def _where(row: Row) -> tuple[str, int]:
    return row["topic"], row["partition"]


def _leaders(row: Row) -> tuple[int, int]:
    return row["old_leader_id"], row["new_leader_id"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedRedirect:
    """One redirect, from the brokers' logs or from a client's own."""

    version: str
    topic: str
    partition: int
    errored_at: datetime
    redirect_ms: float


def lost(truth: Row, tables: Mapping[str, Sequence[Row]], api: str) -> list[ObservedRedirect]:
    """Return the redirects that Plumbline reports of producers, or of consumers."""
    version_of = {run["client_id"]: run["client_version"] for run in truth["runs"] if run["api"] == api}
    return [
        ObservedRedirect(
            version=version_of[row["client_id"]],
            topic=row["topic"],
            partition=row["partition"],
            errored_at=datetime.fromisoformat(row["errored_at"]),
            redirect_ms=row["redirect_ms"],
        )
        for row in tables["leader_redirect"]
        if (row["kind"], row["api"]) == (REDIRECT, api)
        and row["client_id"] in version_of
        and row["redirect_ms"] is not None
    ]


def paired(truth: Row, seen: Sequence[ObservedRedirect], one: str, other: str, *, phase: str) -> list[float]:
    """
    Return `redirect_ms` of one version minus the other's, move by move: both met the same moves.

    A move is a partition and the election requested before; a client whose error came later than the next
    move is not paired.
    """
    moves = sorted(
        (datetime.fromisoformat(move["asked_at"]), move["topic"], move["partition"])
        for move in truth["moves"]
        if move["phase"] == phase
    )
    found: dict[tuple[datetime, str, int], dict[str, float]] = defaultdict(dict)
    for event in seen:
        where = (event.topic, event.partition)
        before = [move for move in moves if move[1:] == where and move[0] <= event.errored_at]
        if before and event.version in (one, other):
            found[before[-1]].setdefault(event.version, event.redirect_ms)
    return [times[one] - times[other] for times in found.values() if len(times) == 2]  # noqa: PLR2004 (both)


@dataclass(frozen=True, slots=True, kw_only=True)
class Witnessed:
    """`redirect_ms` minus that of the client's own log, by event; and the number of events in that log."""

    differences: list[float]
    seen: int


def witnessed(rows: Sequence[Row], seen: Sequence[Redirect]) -> Witnessed:
    """Compare the events of one run with its client's own log: the nearest in time of the same partition."""
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
