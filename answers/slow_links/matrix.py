"""The matrix of broker pairs: the cells, and the scale of their colours."""

from collections.abc import Sequence
from dataclasses import dataclass

from answers.slow_links.round_trips import METHODS
from schemas.rows import Row

PALE_MS = 2.0
"""The scale reaches at least this far above the fastest pair: the noise of equal pairs stays pale."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """Rows are followers, columns are leaders; a cell is NULL where there is no figure."""

    method: str
    brokers: list[int]
    cells: list[list[Row | None]]

    column: str = "rtt_ms"

    @property
    def values(self) -> list[list[float | None]]:
        """The figure of each cell."""
        return [[cell.get(self.column) if cell else None for cell in row] for row in self.cells]

    @property
    def known(self) -> list[float]:
        """The figures of the cells that have one."""
        return [value for row in self.values for value in row if value is not None]


def scale_ms(shown: Sequence[Matrix]) -> tuple[float, float]:
    """
    Return the ends of the colour scale of all maps: the fastest and the slowest pair.

    The scale is at least as long as two fast round trips and `PALE_MS`, so equal pairs are all pale.
    """
    values = [ms for matrix in shown for ms in matrix.known]
    if not values:
        return 0.0, PALE_MS
    low = min(values)
    return low, max(*values, low + PALE_MS, 3 * low)


def change_scale_ms(shown: Sequence[Matrix]) -> tuple[float, float]:
    """Return the ends of the colour scale of differences: the same distance on both sides of 0."""
    most = max((abs(ms) for matrix in shown for ms in matrix.known), default=0.0)
    return -max(most, PALE_MS), max(most, PALE_MS)


def matrices(summary: Sequence[Row], brokers: Sequence[int], column: str = "rtt_ms") -> list[Matrix]:
    """Return one matrix per method that has a row, the method closest to the truth first."""
    by_key = {(row["method"], row["follower_id"], row["leader_id"]): row for row in summary}
    present_methods = [method for method in METHODS if any(row["method"] == method for row in summary)]
    return [
        Matrix(
            method=method,
            brokers=list(brokers),
            column=column,
            cells=[[by_key.get((method, follower, leader)) for leader in brokers] for follower in brokers],
        )
        for method in present_methods or METHODS[:1]
    ]


def brokers_of(*tables: Sequence[Row]) -> list[int]:
    """Return the brokers on either side of a pair."""
    seen = {row.get(name) for rows in tables for row in rows for name in ("follower_id", "leader_id")}
    return sorted(broker for broker in seen if broker is not None)
