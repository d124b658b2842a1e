"""The delay that the lab's proxies applied, compared with the measured rise of the round trip."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

from answers.listing import Listing, count, identifier, milliseconds, text
from schemas.rows import Row

WINDOW = timedelta(seconds=10)
Summarise = Callable[[datetime, datetime], Sequence[Row]]
"""Rows like `broker_rtt_summary` of the windows between two instants."""


def injected_against_measured(truth: Row, summarise: Summarise) -> list[Row]:
    """
    Return the rise of each pair's round trip and the rise of the delay that its proxy applied.

    Both are differences of the same quantile over the same two spans, quiet and injected, so the delay of an
    idle proxy cancels. Only windows that are completely inside a span count.
    """
    before = summarise(*whole_windows(truth["quiet_since"], truth["injected_at"]))
    during = summarise(*whole_windows(truth["injected_at"], truth["ended_at"]))
    quiet, injected = _by_pair(truth["applied_quiet"]), _by_pair(truth["applied_injected"])
    level = {_key(row): row for row in before}
    rows = [
        _compared(row, level.get(_key(row), {}), quiet.get(_pair(row), {}), injected.get(_pair(row), {}))
        for row in during
    ]
    slowed = {_pair(pair) for pair in truth["delayed_pairs"]}
    rows = [{**row, "is_delayed": _pair(row) in slowed} for row in rows]
    return sorted(rows, key=lambda row: (row["method"], not row["is_delayed"], *_pair(row)))


def whole_windows(since: datetime, until: datetime) -> tuple[datetime, datetime]:
    """Return the start and end of the windows that are completely inside a span; equal without any."""
    seconds = int(WINDOW.total_seconds())
    first = datetime.fromtimestamp(-(-since.timestamp() // seconds) * seconds, UTC)
    last = datetime.fromtimestamp(until.timestamp() // seconds * seconds, UTC)
    return first, max(first, last)


def _compared(during: Row, before: Row, quiet: Row, injected: Row) -> Row:
    estimators = {during.get("estimator"), before.get("estimator")}
    # One quantile for all four figures: the median if one span has too few for p10.
    quantile = "p10" if estimators == {"p10"} else "p50" if None not in estimators else None
    before_ms, during_ms = (row.get(f"rtt_{quantile}_ms") for row in (before, during))
    applied_before_ms, applied_ms = (row.get(f"applied_{quantile}_ms") for row in (quiet, injected))
    rise_ms = _rise(before_ms, during_ms)
    injected_ms = _rise(applied_before_ms, applied_ms)
    return {
        "follower_id": during["follower_id"],
        "leader_id": during["leader_id"],
        "method": during["method"],
        "quantile": quantile,
        "applied_before_ms": applied_before_ms,
        "applied_ms": applied_ms,
        "injected_ms": injected_ms,
        "before_ms": before_ms,
        "during_ms": during_ms,
        "rise_ms": rise_ms,
        "error_ms": _rise(injected_ms, rise_ms),
        "n_before": before.get("n", 0),
        "n": during["n"],
    }


def _rise(from_ms: float | None, to_ms: float | None) -> float | None:
    return None if from_ms is None or to_ms is None else to_ms - from_ms


def _by_pair(rows: Sequence[Row]) -> dict[tuple[int, int], Row]:
    return {_pair(row): row for row in rows}


def _pair(row: Row) -> tuple[int, int]:
    return row["follower_id"], row["leader_id"]


def _key(row: Row) -> tuple[int, int, str]:
    return (*_pair(row), row["method"])


LISTING = Listing(
    name="truth-table",
    title="Injected delay compared with the measured one",
    lead="The delay that the lab's proxies applied, and the rise of the round trip over the pair's own level "
    "before it, at the same quantile.",
    is_marked=lambda row: bool(row["is_delayed"]),
    columns=(
        identifier("follower", "follower_id"),
        identifier("leader", "leader_id"),
        text("method", "method"),
        text("quantile", "quantile"),
        milliseconds("injected ms", "injected_ms"),
        milliseconds("before ms", "before_ms", in_terminal=False),
        milliseconds("during ms", "during_ms", in_terminal=False),
        milliseconds("rise ms", "rise_ms", style="strong"),
        milliseconds("error ms", "error_ms"),
        count("n", "n"),
    ),
)
