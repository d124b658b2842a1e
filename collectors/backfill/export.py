"""
Read samples of a time range from a Prometheus and publish them in windows of ten minutes.

Windows begin at multiples of ten minutes since the epoch, so runs with different start times publish the same
pages. The end of a window is saved when all its pages are acknowledged; the next run continues there.
"""

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from confluent_kafka import KafkaError
from filelock import AcquireReturnProxy, FileLock, Timeout

from collectors.backfill.pages import Pages
from collectors.backfill.prometheus import PrometheusClient, PrometheusSeries, TooLargeError
from collectors.backfill.prometheus_query import with_names
from collectors.errors import CollectorError
from collectors.log_files.lines import RawLine
from collectors.publish import Publisher
from conf.atomic_file import write_atomically
from conf.exit_codes import HeldError

WINDOW_MS, DAY_MS = 600_000, 86_400_000
NAMES_PER_QUERY, MAX_NAMES_PER_QUERY = 32, 256
SHORTEST_MS = 1_000
FLUSH_S, QUIET_S = 300.0, 60.0

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The series and the time range to read, in epoch milliseconds: `since_ms` <= time < `until_ms`."""

    selectors: tuple[str, ...]
    since_ms: int
    until_ms: int


@dataclass(slots=True)
class SampleReader:
    """Reads many metrics per query; it adapts their number to the size of the responses."""

    client: PrometheusClient
    selection: Selection
    names_per_query: int = NAMES_PER_QUERY

    def read(self, names: Sequence[str], start_ms: int, end_ms: int) -> Iterator[list[PrometheusSeries]]:
        """
        Yield the series of these metric names, one group of names at a time, in order.

        Raises:
            CollectorError: the response for one metric and one second is too large.

        """
        left = [(list(names), start_ms, end_ms)]
        while left:
            group, start, end = left.pop()
            if len(group) > self.names_per_query:
                left.append((group[self.names_per_query :], start, end))
                group = group[: self.names_per_query]
            selectors = [with_names(each, group) for each in self.selection.selectors]
            try:
                series = self.client.samples(selectors, start, end)
            except TooLargeError as error:
                left += reversed(self._halves(group, start, end, error))
                continue
            if len(group) == self.names_per_query:
                self.names_per_query = min(2 * self.names_per_query, MAX_NAMES_PER_QUERY)
            yield series

    def _halves(
        self, group: list[str], start: int, end: int, error: TooLargeError
    ) -> list[tuple[list[str], int, int]]:
        if len(group) > 1:
            self.names_per_query = len(group) // 2
            return [(group, start, end)]
        middle = (start + end) // 2
        if end - start <= SHORTEST_MS:
            message = f"{error}; this is one metric in {end - start} ms: select fewer nodes with --match"
            raise CollectorError(message) from error
        return [(group, start, middle), (group, middle, end)]


class PublishedRange:
    """The time range that earlier runs published, one file per server and selection."""

    def __init__(self, folder: Path, identity: dict[str, object]) -> None:
        """Compute the file name from the identity; nothing is read yet."""
        self._identity = identity
        digest = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:16]
        self.path = folder / f"{digest}.json"

    def lock(self) -> AcquireReturnProxy[FileLock]:
        """
        Lock out a second run of the same backfill.

        Raises:
            HeldError: another run has the lock.

        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        lock = self.path.with_suffix(".lock")
        try:
            return FileLock(lock).acquire(timeout=0)
        except Timeout as error:
            message = (
                f"another backfill with the same server and selection is running ({lock}): wait until it ends"
            )
            raise HeldError(message) from error

    def around(self, since_ms: int) -> tuple[int, int]:
        """
        Return the published range that contains `since_ms`, or an empty range at `since_ms`.

        Raises:
            CollectorError: the file is damaged.

        """
        try:
            row = json.loads(self.path.read_text())
            first, last = int(row["since_ms"]), int(row["until_ms"])
        except FileNotFoundError:
            return since_ms, since_ms
        except (ValueError, KeyError, TypeError) as error:
            message = f"{self.path} cannot be read ({error!r}); remove it to publish everything again"
            raise CollectorError(message) from error
        return (first, last) if first <= since_ms <= last else (since_ms, since_ms)

    def save(self, since_ms: int, until_ms: int) -> None:
        """Save the published range; the file is replaced atomically."""
        published = {"since_ms": since_ms, "until_ms": until_ms, "of": self._identity}
        write_atomically(self.path, json.dumps(published) + "\n")


@dataclass(slots=True)
class Backfill:
    """One run of `plumbline backfill`."""

    reader: SampleReader
    pages: Pages
    publisher: Publisher
    published: PublishedRange
    show: Say
    page_count: int = 0
    _names: tuple[tuple[int, int], list[str]] = field(default=((0, 0), []))

    def run(self, selection: Selection, *, published_since_ms: int) -> None:
        """
        Publish window by window; save each window when it is acknowledged.

        `published_since_ms` is the start of the published range, which this run extends.

        Raises:
            CollectorError: the server or the telemetry brokers failed.

        """
        began = time.monotonic()
        for start, end in windows(selection.since_ms, selection.until_ms):
            self.pages.begin(start, end)
            names = self._names_of(start, selection)
            for series in self.reader.read(names, start, end) if names else ():
                self._publish(self.pages.add(series))
            self._publish(self.pages.rest())
            self._wait(end)
            self.published.save(published_since_ms, end)
            self.show(_progress(self, selection, end, time.monotonic() - began))

    def _names_of(self, start: int, selection: Selection) -> list[str]:
        """Return the metric names of the day of `start`; windows without names need no queries."""
        (first, last), names = self._names
        if not first <= start < last:
            first, last = start, min(start - start % DAY_MS + DAY_MS, selection.until_ms)
            names = self.reader.client.names(selection.selectors, first, last)
            self._names = ((first, last), names)
        return names

    def _publish(self, pages: Iterator[RawLine]) -> None:
        for page in pages:
            self.publisher.send(page, self._delivered)
            self.publisher.serve()
            self.page_count += 1

    def _wait(self, end: int) -> None:
        left = self.publisher.flush(FLUSH_S, QUIET_S)
        self.publisher.serve()
        if left:
            message = (
                f"{left} pages of the window that ends at {seconds_of(end)} were not acknowledged; "
                "check the telemetry brokers, then start again: the next run continues with that window"
            )
            raise CollectorError(message)

    def _delivered(self, error: KafkaError | None, _message: object) -> None:
        if error is not None:
            self.publisher.failed(error, self.publisher.topic("metrics"))


def windows(since_ms: int, until_ms: int) -> Iterator[tuple[int, int]]:
    """
    Split a time range at multiples of ten minutes since the epoch.

    >>> list(windows(500_000, 1_300_000))
    [(500000, 600000), (600000, 1200000), (1200000, 1300000)]
    >>> list(windows(600_000, 600_000))
    []
    """
    start = since_ms
    while start < until_ms:
        end = min(start - start % WINDOW_MS + WINDOW_MS, until_ms)
        yield start, end
        start = end


def seconds_of(at_ms: int) -> str:
    """
    Return a time as ISO 8601 in UTC, in whole seconds.

    >>> seconds_of(1_700_000_000_006)
    '2023-11-14T22:13:20Z'
    """
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at_ms // 1_000))


def _progress(run: Backfill, selection: Selection, at: int, took_s: float) -> str:
    left_s = took_s * (selection.until_ms - at) / (at - selection.since_ms)
    return (
        f"published up to {seconds_of(at)}: {run.pages.samples:,} samples in {run.page_count:,} pages, "
        f"{run.pages.samples / max(took_s, 1e-3):,.0f} samples/s; about {left_s:,.0f} s left"
    )
