"""The broker-pair matrix: which number stands in which cell, and the table below it."""

from collections.abc import Sequence
from dataclasses import dataclass

from schemas.rows import Row
from serving.report.answers import present

METHODS = ("paired", "passive")
PALE_MS = 2.0
"""The scale reaches at least this far above the fastest pair: the noise of equal pairs stays pale."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """Rows are followers, columns are leaders; a cell is NULL where there is no figure."""

    method: str
    brokers: list[int]
    cells: list[list[Row | None]]

    @property
    def rtt_ms(self) -> list[list[float | None]]:
        """The figure of each cell."""
        return [[cell.get("rtt_ms") if cell else None for cell in row] for row in self.cells]


def scale_ms(shown: Sequence[Matrix]) -> tuple[float, float]:
    """
    Give the ends of the colour scale, the same for all maps: from the fastest pair to the slowest one.

    The scale is at least as long as two quick round trips and `PALE_MS`, so that equal pairs are all pale.
    """
    values = present(value for matrix in shown for row in matrix.rtt_ms for value in row)
    if not values:
        return 0.0, PALE_MS
    low = min(values)
    return low, max(*values, low + PALE_MS, 3 * low)


def matrices(summary: Sequence[Row], brokers: Sequence[int]) -> list[Matrix]:
    """Lay out one matrix a method that has any row, the method closest to the truth first."""
    by_key = {(row["method"], row["follower_id"], row["leader_id"]): row for row in summary}
    present_methods = [method for method in METHODS if any(row["method"] == method for row in summary)]
    return [
        Matrix(
            method=method,
            brokers=list(brokers),
            cells=[[by_key.get((method, follower, leader)) for leader in brokers] for follower in brokers],
        )
        for method in present_methods or METHODS[:1]
    ]


def brokers_of(*tables: Sequence[Row]) -> list[int]:
    """List every broker that appears on either side of a pair."""
    seen = {row.get(name) for rows in tables for row in rows for name in ("follower_id", "leader_id")}
    return sorted(broker for broker in seen if broker is not None)


def pair_rows(summary: Sequence[Row], quiet: Sequence[Row]) -> list[Row]:
    """List the pairs, largest rise first, with the level each has while nobody is accused."""
    level = {(row["method"], row["follower_id"], row["leader_id"]): row for row in quiet}
    rows = []
    for row in summary:
        was = level.get((row["method"], row["follower_id"], row["leader_id"]), {})
        column = f"rtt_{row['estimator']}_ms" if row.get("estimator") else ""
        # The same quantile on both sides, also where the two spans would choose different ones.
        quiet_ms = was.get(column)
        rise_ms = None if quiet_ms is None or row["rtt_ms"] is None else row["rtt_ms"] - quiet_ms
        rows.append({**row, "quiet_ms": quiet_ms, "rise_ms": rise_ms})
    return sorted(rows, key=_slowest_first)


def _slowest_first(row: Row) -> tuple[int, float, int, int]:
    size = row["rise_ms"] if row["rise_ms"] is not None else (row["rtt_ms"] or 0.0)
    return (METHODS.index(row["method"]), -size, row["follower_id"], row["leader_id"])
