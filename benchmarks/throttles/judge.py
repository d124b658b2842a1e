"""Compare reported throttles and moves with what the lab did and the disks saw: pure functions."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

Row = dict[str, Any]

RATE_SHARE, FORECAST_SHARE, DISK_SHARE = 0.05, 0.15, 0.05
"""How far rates may be from limit and disk, and a forecast from the end, over the move's time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThrottledSide:
    """One broker and direction of one part: what was expected, seen on disk, and reported."""

    part: str
    repeat: int
    kind: str
    is_narrow: bool
    broker_id: int
    direction: str
    limit_bytes_per_s: int
    expected: str
    expected_cause: str | None
    reported: str | None
    reported_cause: str | None
    rate_bytes_per_s: float | None
    low_bytes_per_s: float | None
    high_bytes_per_s: float | None
    n: int | None
    disk_bytes_per_s: float | None
    overshoot: float | None
    disk_overshoot: float | None
    best_bytes_per_s: float | None
    bean_bytes_per_s: float | None
    bean_max_bytes_per_s: float | None

    @property
    def is_named(self) -> bool:
        """The state is as expected, and so is the cause if one is expected."""
        is_cause = self.expected_cause is None or self.reported_cause == self.expected_cause
        return self.reported == self.expected and is_cause

    @property
    def is_held(self) -> bool | None:
        """
        The rate is close enough to the limit; None for a part that need not keep to it.

        Nor need a side with more brokers than the other: the other side limits it.
        """
        if self.kind != "move" or self.expected != "compliant" or not self.is_narrow:
            return None
        rate = self.rate_bytes_per_s
        return rate is not None and abs(rate / self.limit_bytes_per_s - 1) <= RATE_SHARE

    @property
    def is_as_on_disk(self) -> bool | None:
        """
        The rate is that of the disk; None if the disk has no whole period after the first one.

        None too for a move that was cancelled in mid-period, and for a side that is not held: its bursts have
        any size, and a second more or less of its few periods changes the rate.
        """
        if self.disk_bytes_per_s is None or not self.is_narrow or self.kind not in ("move", "in_sync"):
            return None
        rate = self.rate_bytes_per_s
        return rate is not None and abs(rate / self.disk_bytes_per_s - 1) <= DISK_SHARE


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """One move: when it ended and what was forecast half-way; errors are shares of the move's time."""

    part: str
    repeat: int
    limit_bytes_per_s: int
    took_s: float
    end_error_s: float | None
    forecast_error: float | None
    is_in_interval: bool | None
    kip_error: float | None
    n: int | None

    @property
    def is_met(self) -> bool:
        """The forecast of half-way is close enough to the end."""
        return self.forecast_error is not None and abs(self.forecast_error) <= FORECAST_SHARE


def sides(truth: Row, tables: Row) -> list[ThrottledSide]:
    """Judge every broker and direction that a part expects something of."""
    return [side for part in truth["parts"] for side in _sides(part, tables["throttle_compliance"])]


def moves(truth: Row, tables: Row) -> list[Move]:
    """Judge every move that came to its end; one that the report lacks has no figures."""
    done = [part for part in truth["parts"] if part["done_at"] and part["begun_at"]]
    return [_move(part, tables["reassignment_progress"]) for part in done]


def _sides(part: Row, rows: Sequence[Row]) -> Iterator[ThrottledSide]:
    # If a broker is expected twice, one after the other, the report has the last state.
    expected = {(one["broker_id"], one["direction"]): one for one in part["states"] if one["state"]}
    brokers = {"leader": len(set(part["leaders"])), "follower": len(set(part["followers"]))}
    disk = {(one["broker_id"], one["direction"]): one["measured"] for one in part["on_disk"]}
    for (broker_id, direction), one in expected.items():
        row = _of_span(rows, broker_id, direction, part) or {}
        seen = disk.get((broker_id, direction)) or {}
        first, limit = seen.get("first_window_bytes_per_s"), one["limit_bytes_per_s"]
        yield ThrottledSide(
            part=part["name"],
            repeat=part["repeat"],
            kind=part["kind"],
            is_narrow=brokers[direction] == min(brokers.values()),
            broker_id=broker_id,
            direction=direction,
            limit_bytes_per_s=limit,
            expected=one["state"],
            expected_cause=one["cause"],
            reported=row.get("state"),
            reported_cause=row.get("cause"),
            rate_bytes_per_s=row.get("rate_bytes_per_s"),
            low_bytes_per_s=row.get("rate_low_bytes_per_s"),
            high_bytes_per_s=row.get("rate_high_bytes_per_s"),
            n=row.get("n"),
            disk_bytes_per_s=seen.get("after_first_window_bytes_per_s"),
            overshoot=row.get("first_window_overshoot"),
            disk_overshoot=None if first is None else max(0.0, first / limit - 1),
            best_bytes_per_s=row.get("best_window_bytes_per_s"),
            bean_bytes_per_s=row.get("bean_bytes_per_s"),
            bean_max_bytes_per_s=row.get("bean_max_bytes_per_s"),
        )


def _of_span(rows: Sequence[Row], broker_id: int, direction: str, part: Row) -> Row | None:
    """Return the row whose limit was in force longest while the part lasted."""
    since, until = at(part["limit_set_at"]), at(part["cleared_at"])
    found = [
        (overlap, row)
        for row in rows
        if (row["broker_id"], row["direction"]) == (broker_id, direction)
        and row["limit_bytes_per_s"] == part["limit_bytes_per_s"]
        and (overlap := _overlap_s(row, since, until)) > 0
    ]
    return max(found, key=lambda pair: pair[0], default=(0.0, None))[1]


def _overlap_s(row: Row, since: datetime, until: datetime) -> float:
    starts, ends = at(row["since"]), at(row["until"])
    return (min(until, ends) - max(since, starts)).total_seconds()


def _move(part: Row, rows: Sequence[Row]) -> Move:
    asked, done = at(part["asked_at"]), at(part["done_at"])
    row = next((row for row in rows if asked <= at(row["moved_at"]) <= done), {})
    ended, low, high = (row.get(name) for name in ("ended_at", "forecast_low_at", "forecast_high_at"))
    return Move(
        part=part["name"],
        repeat=part["repeat"],
        limit_bytes_per_s=part["limit_bytes_per_s"],
        took_s=(done - at(part["begun_at"])).total_seconds(),
        end_error_s=None if ended is None else (at(ended) - done).total_seconds(),
        forecast_error=row.get("forecast_error"),
        is_in_interval=at(low) <= done <= at(high) if low and high else None,
        kip_error=row.get("kip_error"),
        n=row.get("forecast_n"),
    )


def at(instant: str) -> datetime:
    """Read an instant of a truth or a report."""
    return datetime.fromisoformat(instant)


def held(found: Sequence[ThrottledSide]) -> list[ThrottledSide]:
    """Return the sides that must keep to their limit."""
    return [side for side in found if side.is_held is not None]


def forecast_moves(found: Sequence[Move], truth: Row) -> list[Move]:
    """Return the moves to forecast: those of the test plan under a throttle that holds."""
    kinds = {part["name"]: (part["kind"], part["states"]) for part in truth["parts"]}
    return [
        move
        for move in found
        if kinds[move.part][0] == "move" and any(one["state"] == "compliant" for one in kinds[move.part][1])
    ]
