"""The round trips of one cluster as arrays, for statistics over some thousand numbers."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
Pair = tuple[int, int]
"""Follower and leader."""

METHODS = ("passive", "paired")
"""In the order of preference: the later one is chosen if both show equally many pairs."""

QUANTILES = ("p10", "p50")

COLUMNS = (
    *("cluster", "window_start", "follower_id", "leader_id", "method", "n", "rtt_p10_ms", "rtt_p50_ms"),
    *("clock_resolution_ms", "nodes_expected", "nodes_reporting", "is_settled"),
)
"""The columns of `gold.broker_rtt` that a grid contains."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """What the rows of a window have in common."""

    nodes_expected: int | None
    nodes_reporting: int | None
    is_settled: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """
    Rows of `gold.broker_rtt` of one cluster.

    The axes of the arrays are method (`METHODS`), window and pair. Where there is no row, `n` is 0 and the
    values are NaN. Rows without a broker id count as a window, but belong to no pair.
    """

    starts: Ints  # start of each window, seconds since the epoch, ascending
    windows: list[Window]
    pairs: list[Pair]
    n: Ints
    ms: Floats  # round trips; the first axis is the quantile (`QUANTILES`)
    clock_ms: Floats

    def is_settled(self) -> Mask:
        """Return whether each window is settled."""
        return np.array([window.is_settled for window in self.windows], dtype=bool)

    def between(self, start: int, end: int) -> "Grid":
        """Return the windows from `start` to `end` (exclusive)."""
        low, high = np.searchsorted(self.starts, [start, end])
        return Grid(
            starts=self.starts[low:high],
            windows=self.windows[low:high],
            pairs=self.pairs,
            n=self.n[:, low:high],
            ms=self.ms[:, :, low:high],
            clock_ms=self.clock_ms[:, low:high],
        )


def grids(broker_rtt: pa.Table) -> dict[str, Grid]:
    """Return the grid of each cluster from rows of `gold.broker_rtt` (at least `COLUMNS`)."""
    return {cluster: _grid(rows) for cluster, rows in of_clusters(broker_rtt)}


def of_clusters(rows: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    """Yield the rows of each cluster."""
    for cluster in pc.unique(rows["cluster"]):
        yield cluster.as_py(), rows.filter(pc.equal(rows["cluster"], cluster))


def seconds(instants: pa.ChunkedArray) -> Ints:
    """Return instants as seconds since the epoch."""
    micros = instants.cast(pa.timestamp("us", "UTC")).cast(pa.int64())
    whole: Ints = np.floor_divide(micros.to_numpy(), 1_000_000)
    return whole


def _grid(rows: pa.Table) -> Grid:
    starts, of_window = np.unique(seconds(rows["window_start"]), return_inverse=True)
    has_ids = pc.and_(pc.is_valid(rows["follower_id"]), pc.is_valid(rows["leader_id"])).to_numpy()
    of_pairs = rows.filter(pa.array(has_ids))
    ids = np.stack([of_pairs[name].to_numpy() for name in ("follower_id", "leader_id")], axis=1)
    pairs, of_pair = np.unique(ids, axis=0, return_inverse=True)
    of_method = (pc.equal(of_pairs["method"], METHODS[1])).to_numpy().astype(np.int64)
    cell = (of_method, of_window[has_ids], of_pair.reshape(-1))
    shape = (len(METHODS), len(starts), len(pairs))
    n = np.zeros(shape, dtype=np.int64)
    n[cell] = of_pairs["n"].to_numpy()
    ms = np.full((len(QUANTILES), *shape), np.nan)
    for values, quantile in zip(ms, QUANTILES, strict=True):
        values[cell] = _numbers(of_pairs[f"rtt_{quantile}_ms"])
    clock_ms = np.full(shape, np.nan)
    clock_ms[cell] = _numbers(of_pairs["clock_resolution_ms"])
    return Grid(
        starts=starts,
        windows=_windows(rows),
        pairs=[(int(follower), int(leader)) for follower, leader in pairs],
        n=n,
        ms=ms,
        clock_ms=clock_ms,
    )


def _windows(rows: pa.Table) -> list[Window]:
    values = [("nodes_expected", "max"), ("nodes_reporting", "max"), ("is_settled", "all")]
    by_window = rows.group_by("window_start").aggregate(values).sort_by("window_start")
    return [
        Window(
            nodes_expected=row["nodes_expected_max"],
            nodes_reporting=row["nodes_reporting_max"],
            is_settled=bool(row["is_settled_all"]),
        )
        for row in by_window.to_pylist()
    ]


def _numbers(values: pa.ChunkedArray) -> Any:  # noqa: ANN401 (NumPy's own type of a column)
    return values.cast(pa.float64()).to_numpy()


def median(values: Floats, axis: int) -> Floats:
    """
    Return the median of the numbers along an axis, without NaN; NaN if there are none.

    >>> median(np.array([[3.0, 1.0, 2.0, np.nan], [4.0, 1.0, np.nan, np.nan]]), axis=1)
    array([2. , 2.5])
    """
    if not values.shape[axis]:
        return np.full(np.delete(values.shape, axis), np.nan)
    ordered = np.sort(values, axis=axis)  # NaN last
    count = np.sum(~np.isnan(values), axis=axis, keepdims=True)
    low = np.take_along_axis(ordered, np.maximum(count - 1, 0) // 2, axis=axis)
    high = np.take_along_axis(ordered, count // 2, axis=axis) if values.shape[axis] > 1 else low
    return ((low + high) / 2).squeeze(axis)
