"""
Reads a span of time out of a Prometheus and publishes it as scrapes are published.

The span is cut at whole ten minutes since the epoch: a run that begins or ends elsewhere publishes the same
pages in between. How far it got is noted once a window's pages are acknowledged; the next run goes on there.
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
from collectors.backfill.prometheus import Client, Series, TooLargeError
from collectors.backfill.prometheus_query import with_names
from collectors.errors import CollectorError
from collectors.log_files.lines import RawLine
from collectors.publish import Publisher

WINDOW_MS, DAY_MS = 600_000, 86_400_000
NAMES_AT_FIRST, NAMES_AT_MOST = 32, 256
SHORTEST_MS = 1_000
FLUSH_S, QUIET_S = 300.0, 60.0

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """What is read: instants in epoch milliseconds, the first of them in it and the last one not."""

    selectors: tuple[str, ...]
    since_ms: int
    until_ms: int


@dataclass(slots=True)
class Reader:
    """Asks for as many metrics at once as answers may hold: more when they are small, fewer when not."""

    client: Client
    span: Span
    names_at_once: int = NAMES_AT_FIRST

    def read(self, names: Sequence[str], start_ms: int, end_ms: int) -> Iterator[list[Series]]:
        """
        Give the series of these names, a group of names at a time, in order.

        Raises:
            TooLargeError: one metric in one second is too much.

        """
        left = [(list(names), start_ms, end_ms)]
        while left:
            group, start, end = left.pop()
            if len(group) > self.names_at_once:
                left.append((group[self.names_at_once :], start, end))
                group = group[: self.names_at_once]
            selectors = [with_names(each, group) for each in self.span.selectors]
            try:
                series = self.client.samples(selectors, start, end)
            except TooLargeError as error:
                left += reversed(self._halves(group, start, end, error))
                continue
            if len(group) == self.names_at_once:
                self.names_at_once = min(2 * self.names_at_once, NAMES_AT_MOST)
            yield series

    def _halves(
        self, group: list[str], start: int, end: int, error: TooLargeError
    ) -> list[tuple[list[str], int, int]]:
        if len(group) > 1:
            self.names_at_once = len(group) // 2
            return [(group, start, end)]
        middle = (start + end) // 2
        if end - start <= SHORTEST_MS:
            message = f"{error}; that is one metric in {end - start} ms: choose fewer nodes by --match"
            raise CollectorError(message) from error
        return [(group, start, middle), (group, middle, end)]


class Done:
    """How far earlier runs got, in a file of its own for each server and selection."""

    def __init__(self, folder: Path, of: dict[str, object]) -> None:
        """Name the file; nothing is read yet."""
        self._of = of
        digest = hashlib.sha256(json.dumps(of, sort_keys=True).encode()).hexdigest()[:16]
        self.path = folder / f"{digest}.json"

    def lock(self) -> AcquireReturnProxy[FileLock]:
        """
        Keep a second run of the same away.

        Raises:
            CollectorError: there is one.

        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        held = self.path.with_suffix(".lock")
        try:
            return FileLock(held).acquire(timeout=0)
        except Timeout as error:
            message = f"another backfill of the same is at work ({held}): wait for it"
            raise CollectorError(message) from error

    def told(self, since_ms: int) -> tuple[int, int]:
        """
        Give the span around `since_ms` that was published whole; an empty one when it was not.

        Raises:
            CollectorError: the file is damaged.

        """
        try:
            told = json.loads(self.path.read_text())
            first, last = int(told["since_ms"]), int(told["until_ms"])
        except FileNotFoundError:
            return since_ms, since_ms
        except (ValueError, KeyError, TypeError) as error:
            message = f"{self.path} cannot be read ({error!r}); remove it, and all is published again"
            raise CollectorError(message) from error
        return (first, last) if first <= since_ms <= last else (since_ms, since_ms)

    def note(self, since_ms: int, until_ms: int) -> None:
        """Note what is published, whole or not at all."""
        begun = self.path.with_suffix(".begun")
        begun.write_text(json.dumps({"since_ms": since_ms, "until_ms": until_ms, "of": self._of}) + "\n")
        begun.replace(self.path)


@dataclass(slots=True)
class Backfill:
    """One run."""

    reader: Reader
    pages: Pages
    publisher: Publisher
    done: Done
    say: Say
    published: int = 0
    _names: tuple[tuple[int, int], list[str]] = field(default=((0, 0), []))

    def run(self, span: Span, *, done_from_ms: int) -> None:
        """
        Publish window by window, and note each when it is acknowledged: from `done_from_ms` on all is there.

        Raises:
            CollectorError: the server or the telemetry brokers do not do their part.

        """
        began = time.monotonic()
        for start, end in windows(span.since_ms, span.until_ms):
            self.pages.begin(start, end)
            names = self._names_of(start, span)
            for series in self.reader.read(names, start, end) if names else ():
                self._publish(self.pages.add(series))
            self._publish(self.pages.rest())
            self._wait(end)
            self.done.note(done_from_ms, end)
            self.say(_progress(self, span, end, time.monotonic() - began))

    def _names_of(self, start: int, span: Span) -> list[str]:
        """List the metrics of a day at once: spans of which the server has nothing cost nothing."""
        (first, last), names = self._names
        if not first <= start < last:
            first, last = start, min(start - start % DAY_MS + DAY_MS, span.until_ms)
            names = self.reader.client.names(span.selectors, first, last)
            self._names = ((first, last), names)
        return names

    def _publish(self, pages: Iterator[RawLine]) -> None:
        for page in pages:
            self.publisher.send(page, self._delivered)
            self.publisher.serve()
            self.published += 1

    def _wait(self, end: int) -> None:
        left = self.publisher.flush(FLUSH_S, QUIET_S)
        self.publisher.serve()
        if left:
            message = (
                f"{left} pages of the window that ends at {seconds_of(end)} were not acknowledged; "
                "are the telemetry brokers up? Then start again, it goes on with that window"
            )
            raise CollectorError(message)

    def _delivered(self, error: KafkaError | None, _message: object) -> None:
        if error is not None:
            self.publisher.failed(error, self.publisher.topic("metrics"))


def windows(since_ms: int, until_ms: int) -> Iterator[tuple[int, int]]:
    """
    Cut a span at whole ten minutes since the epoch.

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
    Write an instant for people.

    >>> seconds_of(1_700_000_000_006)
    '2023-11-14T22:13:20Z'
    """
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at_ms // 1_000))


def _progress(of: Backfill, span: Span, at: int, took_s: float) -> str:
    left_s = took_s * (span.until_ms - at) / (at - span.since_ms)
    return (
        f"published up to {seconds_of(at)}: {of.pages.samples:,} samples on {of.published:,} pages, "
        f"{of.pages.samples / max(took_s, 1e-3):,.0f} samples/s; about {left_s:,.0f} s left"
    )
