"""
The samples of recorded pages, read here without the pipeline's parser: what every store is held against.

A series is its node and its text before the value; a number in order of appearance stands for it.
"""

import gzip
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.metrics.record import recorded

Longs = npt.NDArray[np.int64]
Doubles = npt.NDArray[np.float64]
Bits = npt.NDArray[np.uint64]

Head = tuple[str, str]
"""Node, and name with labels."""


@dataclass(frozen=True, slots=True)
class RecordedPage:
    """One scrape: its instant in epoch nanoseconds, and series and values in the order of its lines."""

    at_ns: int
    series: Longs
    values: Doubles


@dataclass(frozen=True, slots=True)
class Samples:
    """All pages in order of time; 16 bytes a sample in memory."""

    heads: Sequence[Head]
    pages: Sequence[RecordedPage]

    def __len__(self) -> int:
        """Return the number of samples."""
        return sum(len(page.series) for page in self.pages)

    def in_order(self, unit_ns: int) -> tuple[Longs, Longs, Bits]:
        """Return series, instants in that unit, and bits, by series and instant."""
        at = [np.full(len(page.series), page.at_ns // unit_ns) for page in self.pages]
        series, values = (np.concatenate(list(of)) for of in zip(*self._columns(), strict=True))
        return ordered(series, np.concatenate(at), values)

    def on_time(self, every_s: float) -> "Samples":
        """Return the same samples as if every scrape had begun when it was due, to the nanosecond."""
        every_ns, first = round(every_s * 1e9), dict[str, int]()
        pages = []
        for page in self.pages:
            start = first.setdefault(self.node_of(page), page.at_ns)
            turns = round((page.at_ns - start) / every_ns)
            pages.append(replace(page, at_ns=start + turns * every_ns))
        return Samples(self.heads, pages)

    def node_of(self, page: RecordedPage) -> str:
        """Return the node of a page."""
        return self.heads[int(page.series[0])][0]

    def _columns(self) -> Iterator[tuple[Longs, Doubles]]:
        return ((page.series, page.values) for page in self.pages)


def read(folder: Path) -> Samples:
    """Read a recording."""
    numbers: dict[Head, int] = {}
    pages = []
    places = ((at, node, path) for node, of_node in recorded(folder).items() for at, path in of_node)
    for at_ns, node, path in sorted(places):
        lines = [line for line in gzip.decompress(path.read_bytes()).decode().splitlines() if line[:1] != "#"]
        split = [line.rpartition(" ") for line in lines]
        series = [numbers.setdefault((node, head), len(numbers)) for head, _, _ in split]
        values = np.array([float(value) for _, _, value in split])
        pages.append(RecordedPage(at_ns, np.array(series, dtype=np.int64), values))
    return Samples(list(numbers), pages)


def ordered(series: Longs, at: Longs, values: Doubles) -> tuple[Longs, Longs, Bits]:
    """Put samples in order of series and instant, values as bits; all NaNs are one, for text has but one."""
    order = np.lexsort((at, series))
    bits = values[order].view(np.uint64)
    return series[order], at[order], np.where(np.isnan(values[order]), np.uint64(0x7FF8000000000000), bits)


def is_same(one: tuple[Longs, Longs, Bits], other: tuple[Longs, Longs, Bits]) -> bool:
    """Return whether two stores have the same samples."""
    return all(np.array_equal(mine, theirs) for mine, theirs in zip(one, other, strict=True))
