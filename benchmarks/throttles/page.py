"""docs/truth-throttles.md: what the lab did with throttles and moves, what was reported, whether they agree."""

from collections.abc import Callable, Sequence
from statistics import median

from benchmarks.clients.page import verdict
from benchmarks.pages import render
from benchmarks.throttles.judge import FORECAST_SHARE, RATE_SHARE, Move, Row, ThrottledSide, at, held

NONE = "—"
MB = 1e6


HEAD = """# Throttles and moves, measured against what was done

Made by `make verify-throttles` on one machine of 2 cores: three real brokers (KRaft, 4.3.1) whose limits the lab
sets and whose disks it looks at. How the figures are made: [throttles.md](throttles.md).

"""


def section(truth: Row, found: Sequence[ThrottledSide], moved: Sequence[Move]) -> tuple[str, bool]:
    """Return every side and every move of a recording; the second value: every aim is met."""
    aims = {
        "each move's rate within 5 % of its limit": bool(held(found)) and all(s.is_held for s in held(found)),
        "each rate within 5 % of what the disk saw": all(side.is_as_on_disk is not False for side in found),
        "each state, and each fault's cause, as it was made": all(side.is_named for side in found),
        "each forecast of half-way within 15 % of the move's time": bool(moved)
        and all(move.is_met for move in moved),
        "a round within 15 minutes": _round_min(truth) <= 15,  # noqa: PLR2004 (the aim)
    }
    missed = [aim for aim, is_met in aims.items() if not is_met]
    text = render(
        "throttles",
        since=truth["since"][:16],
        rounds=_rounds(truth),
        round_min=_round_min(truth),
        rate_share=RATE_SHARE,
        forecast_share=FORECAST_SHARE,
        parts=[_part(name, [side for side in found if side.part == name]) for name in _names(found)],
        moves=[_moved(name, [move for move in moved if move.part == name]) for name in _names(moved)],
        named=_named(found),
        beans=_of_beans(found),
    )
    return text + verdict(missed), not missed


def _part(name: str, of: Sequence[ThrottledSide]) -> str:
    limit = of[0].limit_bytes_per_s
    rates = [
        side.rate_bytes_per_s / limit for side in of if side.is_narrow and side.rate_bytes_per_s is not None
    ]
    disk = [
        side.rate_bytes_per_s / side.disk_bytes_per_s
        for side in of
        if side.is_as_on_disk is not None and side.rate_bytes_per_s is not None and side.disk_bytes_per_s
    ]
    over = [side.overshoot for side in of if side.overshoot is not None]
    disk_over = [side.disk_overshoot for side in of if side.disk_overshoot is not None]
    named = sum(side.is_named for side in of)
    return (
        f"| {name} | {limit / MB:g} | {len(of)} | {named} of {len(of)} | {_ratio(rates)} | {_ratio(disk)} | "
        f"{_share(disk_over)} / {_share(over)} | {_over_limit(of, lambda side: side.best_bytes_per_s)} | "
        f"{_over_limit(of, lambda side: side.bean_bytes_per_s)} | {_over_limit(of, lambda side: side.bean_max_bytes_per_s)} |"
    )


def _over_limit(of: Sequence[ThrottledSide], value: Callable[[ThrottledSide], float | None]) -> str:
    ratios = [got / side.limit_bytes_per_s for side in of if (got := value(side)) is not None]
    return f"{median(ratios):.2f}" if ratios else NONE


def _ratio(values: Sequence[float]) -> str:
    return f"{median(values):.3f} ({max(values, key=lambda one: abs(one - 1)):.3f})" if values else NONE


def _share(values: Sequence[float]) -> str:
    return f"{median(values):+.1%}" if values else NONE


def _moved(name: str, of: Sequence[Move]) -> str:
    ends = [move.end_error_s for move in of if move.end_error_s is not None]
    forecasts, kip = (
        [error for move in of if (error := getattr(move, field)) is not None]
        for field in ("forecast_error", "kip_error")
    )
    forecast = [move.is_in_interval for move in of if move.is_in_interval is not None]
    return (
        f"| {name} | {len(of)} | {median(move.took_s for move in of):.0f} | {_worst(ends, '{:+.1f}')} | "
        f"{_worst(forecasts, '{:+.1%}')} | {sum(forecast)} of {len(forecast)} | {_worst(kip, '{:+.0%}')} |"
    )


def _worst(values: Sequence[float], form: str) -> str:
    if not values:
        return NONE
    return f"{form.format(median(values))} ({form.format(max(values, key=abs))})"


def _named(found: Sequence[ThrottledSide]) -> str:
    wrong = [
        f"round {side.repeat + 1}, {side.part}, broker {side.broker_id} as {side.direction}: "
        f"{_word(side.reported, side.reported_cause)} instead of {_word(side.expected, side.expected_cause)}"
        for side in found
        if not side.is_named
    ]
    named = f"Named as made: {len(found) - len(wrong)} of {len(found)} sides."
    return f"{named} Not so: {'; '.join(wrong)}." if wrong else named


def _word(state: str | None, cause: str | None) -> str:
    return f"{state or 'nothing'} ({cause})" if cause else state or "nothing"


def _of_beans(found: Sequence[ThrottledSide]) -> str:
    """Return how many throttles that held would be wrong by the brokers' own byte-rate."""
    with_bean = [side for side in held(found) if side.bean_bytes_per_s is not None and side.is_held]
    wrong = [
        side
        for side in with_bean
        if abs(float(side.bean_bytes_per_s or 0) / side.limit_bytes_per_s - 1) > RATE_SHARE
    ]
    return (
        f"The mean of the brokers' own byte-rate bean over the same time is off its limit by more than {RATE_SHARE:.0%} on "
        f"{len(wrong)} of the {len(with_bean)} sides that held: it rises and falls over 11 s."
    )


def _names(rows: Sequence[ThrottledSide] | Sequence[Move]) -> list[str]:
    return list(dict.fromkeys(row.part for row in rows))


def _rounds(truth: Row) -> int:
    return 1 + max(int(part["repeat"]) for part in truth["parts"])


def _round_min(truth: Row) -> float:
    return (at(truth["until"]) - at(truth["since"])).total_seconds() / 60 / _rounds(truth)
