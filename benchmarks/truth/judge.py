"""Compare measurements with the injected truth: pure functions of rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from scipy import stats

from answers.slow_links.culprits import findings

Row = dict[str, Any]
TOLERANCE = {"paired": (0.4, 0.04), "passive": (0.6, 0.06)}
"""The largest error of a rise against the applied delay: these ms or this share of it, if that is more."""

OTHERS_MS = 0.6
"""The largest change of a pair that was not delayed."""

NAMED_WITHIN = timedelta(seconds=30)
WINDOW = timedelta(seconds=10)
NO_CULPRIT = ("none", "not_enough_data")
OVERLAP = 0.8
"""The part of the injected span that the finding of a demo must cover."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """What was reported of one injected shape."""

    shape: str
    records_per_s: float
    reported: str
    is_right: bool
    after_s: float | None  # from the injection to the end of the first window that named it rightly
    since_error_s: float | None  # the onset that was named less the injection


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoResult:
    """The findings of one demo against what was injected."""

    injected: str
    reported: str
    findings: int
    is_named: bool  # there is one finding, of the injected shape
    overlap: float  # the share of the injected span that it covers
    onset_s: float | None  # its onset less the injection
    outside: int  # windows of findings outside the injected span

    @property
    def is_right(self) -> bool:
        """Whether the demo meets its target."""
        is_in_time = self.onset_s is not None and abs(self.onset_s) <= WINDOW.total_seconds()
        return self.is_named and self.overlap >= OVERLAP and is_in_time and not self.outside


def allowed_ms(method: str, injected_ms: float) -> float:
    """
    Return how far a rise may be off.

    >>> allowed_ms("paired", 3.0), allowed_ms("paired", 20.0)
    (0.4, 0.8)
    """
    least, share = TOLERANCE[method]
    return max(least, share * injected_ms)


def is_met(row: Row) -> bool:
    """Return whether one pair's rise, a row of `injected_against_measured`, agrees with what was injected."""
    if row["rise_ms"] is None or row["injected_ms"] is None:
        return False
    if row["is_delayed"]:
        return bool(abs(row["error_ms"]) <= allowed_ms(row["method"], row["injected_ms"]))
    return bool(abs(row["rise_ms"]) <= OTHERS_MS)


def named(truth: Row, culprits: Sequence[Row]) -> Named:
    """Judge the windows that begin in the injected span and end within 30 s of its start."""
    injected_at: datetime = truth["injected_at"]
    wanted = _wanted(truth)
    judged = [
        row
        for row in culprits
        if row["window_start"] >= injected_at - WINDOW
        and row["window_start"] + WINDOW <= injected_at + NAMED_WITHIN
    ]
    accusing = [row for row in judged if row["culprit"] not in NO_CULPRIT]
    right = [row for row in accusing if _shape(row) == wanted]
    first = min(right, key=lambda row: row["window_start"], default=None)
    return Named(
        shape=_named(wanted),
        records_per_s=truth["records_per_s"],
        reported=", ".join(_named(_shape(row)) for row in accusing) or "nothing",
        is_right=bool(right) and len(right) == len(accusing),
        after_s=(first["window_start"] + WINDOW - injected_at).total_seconds() if first else None,
        since_error_s=(first["since"] - injected_at).total_seconds() if first else None,
    )


def demo_result(truth: Row, culprits: Sequence[Row]) -> DemoResult:
    """Judge the findings of one demo by the windows of that demo alone."""
    found = findings(culprits)
    since, until = truth["injected_at"], truth["ended_at"]
    right = [one for one in found if _shape(one.row) == _wanted(truth)]
    shared_s = sum((min(one.until, until) - max(one.since, since)).total_seconds() for one in right)
    return DemoResult(
        injected=_named(_wanted(truth)),
        reported=", ".join(_named(_shape(one.row)) for one in found) or "nothing",
        findings=len(found),
        is_named=len(found) == len(right) == 1,
        overlap=max(0.0, shared_s) / (until - since).total_seconds(),
        onset_s=(right[0].since - since).total_seconds() if right else None,
        outside=sum(not since - WINDOW <= start < until for one in found for start in one.core),
    )


def alarms(culprits: Sequence[Row], since: datetime, until: datetime) -> list[Row]:
    """Return the first window of every accusation in a span in which no broker was slow."""
    rows = [row for row in culprits if since <= row["window_start"] < until]
    rows.sort(key=lambda row: row["window_start"])
    return [
        row
        for before, row in zip([None, *rows], rows, strict=False)
        if row["culprit"] not in NO_CULPRIT and (before is None or before["culprit"] in NO_CULPRIT)
    ]


def rate_per_hour(count: int, hours: float) -> tuple[float, float, float]:
    """
    Return a rate with its exact 95 % interval (Garwood, 1936).

    >>> [round(rate, 2) for rate in rate_per_hour(0, 1.0)]
    [0.0, 0.0, 3.69]
    """
    low = stats.chi2.ppf(0.025, 2 * count) / 2 if count else 0.0
    high = stats.chi2.ppf(0.975, 2 * (count + 1)) / 2
    return count / hours, float(low) / hours, float(high) / hours


def share(right: int, n: int) -> tuple[float, float]:
    """Return the exact 95 % interval of a share (Clopper and Pearson, 1934)."""
    ends = stats.binomtest(right, n).proportion_ci(method="exact")
    return float(ends.low), float(ends.high)


def _wanted(truth: Row) -> tuple[Any, ...]:
    shape = truth["shape"]
    ids = {name: truth[name] for name in ("broker_id", "follower_id", "leader_id")}
    if shape.endswith("_side"):
        ids[shape.removesuffix("_side") + "_id"] = truth["broker_id"]
    return (shape, *ids.values())


def _named(shape: tuple[Any, ...]) -> str:
    return " ".join(str(part) for part in shape if part is not None)


def _shape(row: Row) -> tuple[Any, ...]:
    return row["culprit"], row["broker_id"], row["follower_id"], row["leader_id"]
