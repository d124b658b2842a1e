"""
Parse scrapes in text format 0.0.4 and OpenMetrics: one row per page, its samples and its new series.

Each line is split at its last blank: the head names the series, the tail is the value. Heads repeat in every
scrape, so each is parsed once and cached; all tails are parsed as one column. A line with its own instant, or
in an uncommon form, is parsed separately.
"""

import re
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from transforms.hashes import xxhash64
from transforms.parse.columns import origin
from transforms.parse.plausible import checked_instant
from transforms.parse.record import (
    DAY_US,
    PARSER_VERSION,
    Kept,
    Outcome,
    Quarantined,
    Record,
    Rejected,
    node_number,
)
from transforms.parse.scrapes.line import (
    Sample,
    Series,
    is_utf8,
    read_head,
    read_instant,
    read_line,
    read_type,
)
from transforms.parse.scrapes.memory import MEMORY_BYTES, SeenSeries, SeriesMemory, remembered
from transforms.parse.scrapes.page import Limits, ScrapePage, read_page
from transforms.parse.scrapes.rows import Bools, Floats, Ints, MetricScrape, MetricSeries, SampleBlock

VALUE = rb"[0-9.eE+-]{1,40}|NaN|[+-]Inf"
"""Values as nearly all exporters write them; the full grammar parses any others."""

IS_VALUE = re.compile(VALUE)
ARE_VALUES = re.compile(rb"(?:(?:" + VALUE + rb")(?:\n|\Z))*")
OF_FAMILY = re.compile(r"_(?:total|sum|count|bucket|created|info|gsum|gcount)\Z")
"""Suffixes of sample names that are not part of the family name in a TYPE line."""

HASH = ord("#")


class ScrapeParser:
    """A parser with a cache of series across scrapes, which saves work and does not change samples."""

    def __init__(
        self,
        limits: Limits | None = None,
        *,
        memory_bytes: int = MEMORY_BYTES,
        ahead_us: int | None = None,
    ) -> None:
        """Start with an empty cache; `ahead_us` is that of `checked_instant`, None without that check."""
        self._limits, self._memory = limits or Limits(), SeriesMemory(memory_bytes)
        self._ahead_us = ahead_us

    def parse(self, record: Record) -> Outcome:
        """
        Parse one page into one row of `metric_scrapes`, a block of `metric_samples` and new `metric_series`.

        A series has a row only in its first page, unless the cache has evicted it since. An unreadable line
        is rejected without its page.
        """
        page = read_page(record, self._limits)
        if isinstance(page, Quarantined):
            return page
        key = (record.cluster or "", record.node, page.is_openmetrics)
        parsed, seen = _Lines(record, page, self._limits, self._memory.get(key)).read()
        if self._ahead_us is not None:
            outcome = checked_instant(parsed, record, self._ahead_us)
            if outcome is not parsed:
                return outcome  # Its series are not in the cache: they are new in the next page.
        self._memory.put(key, seen)
        return parsed


class _Lines:
    """The state of parsing one page."""

    def __init__(self, record: Record, page: ScrapePage, limits: Limits, seen: SeenSeries) -> None:
        self._record, self._page, self._limits, self._seen = record, page, limits, seen
        self._cluster = record.cluster or ""
        self._seed = xxhash64(self._cluster, record.node)
        self._lines = page.text.split(b"\n")
        self._heads, self._tails = _cut(self._lines)
        self._has_new_heads = False
        self._new = dict[int, tuple[str, list[tuple[str, str]]]]()
        self._shared = dict[tuple[str, str], tuple[str, str]]()

    def read(self) -> tuple[Kept, SeenSeries]:
        """Return the rows of the page, and its cache entry."""
        values, is_value = _values(self._tails)
        if self._page.scraped_at is None:
            is_value[:] = False
        ids, unread = self._ids(is_value)
        single = np.union1d(unread, np.flatnonzero(~is_value)).tolist()
        block, failures = self._samples(ids, values, single)
        series = self._series(block) if self._new else []
        rejected = self._rejected(failures)
        rows: dict[str, list[Any]] = {
            "metric_scrapes": [self._scrape(block, len(rejected))],
            "metric_samples": [block] if len(block.series_id) else [],
            "metric_series": series,
        }
        seen = self._seen
        if ids is not seen.ids or self._has_new_heads:
            seen = remembered(self._heads, ids, unread, self._known, len(self._page.text))
        return Kept(rows, rejected), seen

    @cached_property
    def _known(self) -> dict[bytes, int]:
        return self._seen.known()

    @cached_property
    def _held(self) -> set[int]:
        """The series that already have a row."""
        return set(self._known.values())

    def _ids(self, is_value: Bools) -> tuple[Ints, Ints]:
        """Return the series id of each line, and the lines whose head is no series."""
        seen = self._seen
        if len(self._heads) == len(seen.ids) and b"\n".join(self._heads) == seen.heads:
            return seen.ids, seen.unread
        ids, unread = list(map(self._known.get, self._heads)), []
        for n in [n for n, series_id in enumerate(ids) if series_id is None]:
            head = self._heads[n]
            # If a number precedes the tail, that number is the value and the tail is an instant.
            if is_value[n] and not IS_VALUE.fullmatch(head.rpartition(b" ")[2]):
                ids[n] = self._id(head)
            if ids[n] is None:
                ids[n] = 0
                unread.append(n)
        found = np.array(ids, np.int64)
        found.flags.writeable = False  # The cache and a sample block share it.
        return found, np.array(unread, np.int64)

    def _id(self, head: bytes) -> int | None:
        series_id = self._known.get(head)
        if series_id is not None:
            return series_id
        series = read_head(head, self._limits, is_openmetrics=self._page.is_openmetrics)
        return self._added_id(head, series) if series else None

    def _added_id(self, head: bytes, series: Series) -> int:
        series_id = xxhash64(series.text, seed=self._seed)
        if series_id not in self._held:
            # Many series share a label, so one object per label saves memory.
            labels = [self._shared.setdefault(label, label) for label in series.labels]
            self._new[series_id] = series.name, labels
        self._known[head] = series_id
        self._has_new_heads = True
        return series_id

    def _samples(
        self, ids: Ints, values: Floats, single: list[int]
    ) -> tuple[SampleBlock, list[tuple[int, Quarantined]]]:
        """Return the samples, and the unreadable lines; lines in `single` are parsed one by one."""
        scraped_at, failures = self._page.scraped_at or 0, self._bad_comments()
        if not single:
            return SampleBlock(self._cluster, ids, scraped_at, values), failures
        ids, values, at = ids.copy(), values.copy(), np.full(len(ids), scraped_at, np.int64)
        is_sample = np.ones(len(ids), np.bool_)
        numbers = [n for n, line in enumerate(self._lines) if line and line[0] != HASH]
        for n in single:
            read = self._with_instant(n) or self._line(self._lines[numbers[n]])
            is_sample[n] = read is not None and not isinstance(read, Quarantined)
            if isinstance(read, Quarantined):
                failures.append((numbers[n], read))
            elif read is not None:
                ids[n], at[n], values[n] = read
        return SampleBlock(self._cluster, ids[is_sample], at[is_sample], values[is_sample]), failures

    def _with_instant(self, n: int) -> tuple[int, int, float] | None:
        """Return the sample of a line in the common form with an instant; None for any other line."""
        head, _, number = self._heads[n].rpartition(b" ")
        if not IS_VALUE.fullmatch(number) or not IS_VALUE.fullmatch(self._tails[n]):
            return None
        at = read_instant(self._tails[n].decode(), is_openmetrics=self._page.is_openmetrics)
        value = _number(number)
        if at is None or value is None:
            return None
        series_id = self._id(head)
        return None if series_id is None else (series_id, at, value)

    def _line(self, line: bytes) -> tuple[int, int, float] | Quarantined | None:
        """Return the sample of a line by the full grammar."""
        page = self._page
        read = read_line(line, self._limits, is_openmetrics=page.is_openmetrics, scraped_at=page.scraped_at)
        if not isinstance(read, Sample):
            return read
        head = read.series.text.encode()
        series_id = self._known.get(head)
        if series_id is None:
            series_id = self._added_id(head, read.series)
        return series_id, read.at, read.value

    def _bad_comments(self) -> list[tuple[int, Quarantined]]:
        if self._page.text.isascii():
            return []
        comments = (
            (n, line) for n, line in enumerate(self._lines) if line[:1] == b"#" and not line.isascii()
        )
        failure = Quarantined("not_utf8", "bytes that are no UTF-8")
        return [(n, failure) for n, line in comments if not is_utf8(line)]

    def _rejected(self, failures: list[tuple[int, Quarantined]]) -> list[Rejected]:
        position = self._record.position or ""
        return [
            Rejected(f"{position}#{n + 1}", self._lines[n], failure.reason, failure.detail or "")
            for n, failure in sorted(failures)
        ]

    def _scrape(self, block: SampleBlock, rejected: int) -> Any:  # noqa: ANN401 (a row)
        """Return the row of the page; a back-filled page has the instant of its newest sample."""
        record, page, samples = self._record, self._page, len(block.series_id)
        at = page.scraped_at
        if at is None:
            at = int(np.max(block.at)) if samples else record.timestamp
        lines = len(self._lines) - (self._lines[-1] == b"")
        place = (self._cluster, node_number(record.node), at, None if at is None else at // DAY_US)
        form = "openmetrics" if page.is_openmetrics else "text"
        counts = (len(page.text), lines, samples, lines - samples - rejected, rejected)
        return MetricScrape(*place, form, *counts, *origin(record))

    def _series(self, block: SampleBlock) -> list[Any]:
        """Return the rows of the new series; each has a sample in this page."""
        types, first_at = self._types(), dict[int, int]()
        at = block.at
        if isinstance(at, int):
            first_at = dict.fromkeys(self._new, at)
        else:
            for series_id, sampled_at in zip(block.series_id.tolist(), at.tolist(), strict=True):
                first_at[series_id] = min(sampled_at, first_at.get(series_id, sampled_at))
        node, broker = self._record.node, node_number(self._record.node)
        rows = []
        for series_id, (name, labels) in self._new.items():
            kind = types.get(name) or types.get(OF_FAMILY.sub("", name))
            series = (self._cluster, series_id, name, labels, node, broker, kind)
            rows.append(MetricSeries(*series, first_at[series_id], PARSER_VERSION))
        return rows

    def _types(self) -> dict[str, str]:
        """Return the type of each family; of several, the alphabetically last."""
        lines = (read_type(line) for line in self._lines if line.startswith(b"# TYPE "))
        return dict(sorted(family_and_type for family_and_type in lines if family_and_type))


def _cut(lines: list[bytes]) -> tuple[list[bytes], list[bytes]]:
    """Return the heads and tails of lines, split at the last blank, without comments and empty lines."""
    heads, tails = list[bytes](), list[bytes]()
    add_head, add_tail = heads.append, tails.append
    for line in lines:
        if line and line[0] != HASH:
            head, _, tail = line.rpartition(b" ")
            add_head(head)
            add_tail(tail)
    return heads, tails


def _values(tails: list[bytes]) -> tuple[Floats, Bools]:
    """Return the tails as numbers, and whether each is a number in the common form."""
    if ARE_VALUES.fullmatch(b"\n".join(tails)):
        try:
            values = pc.cast(pa.array(tails, pa.string()), pa.float64())
            return values.to_numpy(zero_copy_only=False), np.ones(len(tails), np.bool_)
        except pa.ArrowInvalid:  # Python parses +Inf, +1 and 1e400, which Arrow does not.
            pass
    read = [_number(tail) if IS_VALUE.fullmatch(tail) else None for tail in tails]
    is_value = np.array([value is not None for value in read], np.bool_)
    return np.array([0.0 if value is None else value for value in read]), is_value


def _number(text: bytes) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
