"""Quantiles of many log-bucket histograms at once, in NumPy; `schemas.histogram` defines the buckets."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from schemas.histogram import GAMMA, LN_GAMMA, OFFSET, RANK_SLACK, SMALLEST_MS, Z_95

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


_NONE = pa.nulls(0, pa.map_(pa.int32(), pa.int64()))


class Histograms:
    """A column of histograms (`map<int,bigint>`); a missing or empty one has NaN for every quantile."""

    def __init__(self, column: pa.ChunkedArray) -> None:
        """Read the buckets in their order."""
        maps = column.cast(pa.map_(pa.int32(), pa.int64())).combine_chunks() if len(column) else _NONE
        offsets = maps.offsets.to_numpy() if len(maps) else np.zeros(1, np.int64)
        keys, n = (side.to_numpy().astype(np.int64) for side in (maps.keys, maps.items))
        row = np.repeat(np.arange(len(maps)), np.diff(offsets))
        order = np.lexsort((keys, row))
        self._keys, seen = keys[order], np.concatenate([[0], np.cumsum(n[order])])
        self._seen = seen[1:]
        self._before: Ints = seen[offsets[:-1]]
        self.n: Ints = seen[offsets[1:]] - self._before

    def quantile(self, q: float, low: Floats, high: Floats) -> Floats:
        """Return the nearest-rank quantile in ms, limited to the exact minimum `low` and maximum `high`."""
        key = self._at_rank(np.ceil(q * self.n - RANK_SLACK))
        value = _signed_power(key, exponent=0, factor=2 / (GAMMA + 1))
        limited: Floats = np.fmax(np.fmin(value, high), low)
        return np.where(self.n > 0, limited, np.nan)

    def interval(self, q: float, blocks: Ints) -> tuple[Floats, Floats]:
        """
        Return the ends in ms of the 95 % interval of a quantile, by order statistics without a distribution.

        The ranks are `q` plus or minus `1.96 * sqrt(q * (1 - q) / blocks)`, clipped to the data. `blocks` is
        the number of independent values. Each end is the outer edge of its bucket. With fewer than
        `3.84 * (1 - q) / q` blocks the lower end is the minimum, and the interval covers less than 95 %.
        """
        reach = Z_95 * math.sqrt(q * (1 - q)) / np.sqrt(blocks)
        low = self._at_rank(np.ceil((q - reach) * self.n - RANK_SLACK))
        high = self._at_rank(np.floor((q + reach) * self.n + RANK_SLACK) + 1)
        return (
            np.where(self.n > 0, _edge(low, outward=-1), np.nan),
            np.where(self.n > 0, _edge(high, outward=1), np.nan),
        )

    def _at_rank(self, rank: npt.NDArray[Any]) -> Ints:
        """Return the bucket of a rank, which counts from 1 and is clipped to the data; 0 without data."""
        wanted = np.maximum(1, np.minimum(rank.astype(np.int64), self.n))
        at = np.searchsorted(self._seen, self._before + wanted)
        known = np.append(self._keys, 0)
        return np.where(self.n > 0, known[np.minimum(at, len(self._keys))], 0)


def _edge(key: Ints, *, outward: int) -> Floats:
    """Return the lower (-1) or upper (+1) edge of a bucket in ms."""
    is_far_side = np.sign(key) == outward
    edge = np.where(
        is_far_side,
        _signed_power(key, exponent=0, factor=1.0),
        _signed_power(key, exponent=-1, factor=1.0),
    )
    return np.where(key == 0, outward * SMALLEST_MS, edge)


def _signed_power(key: Ints, *, exponent: int, factor: float) -> Floats:
    power: Floats = np.sign(key) * np.exp((np.abs(key) - OFFSET + exponent) * LN_GAMMA) * factor
    return np.where(key == 0, 0.0, power)
