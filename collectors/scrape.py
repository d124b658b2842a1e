"""Scrapes JMX exporters on a thread each; a failed scrape is counted and never ends the collector."""

import http.client
import logging
import threading
import time
import urllib.request
from dataclasses import dataclass
from queue import Full, Queue

from collectors.log_files.lines import RawLine
from conf.names import Header, Kind
from conf.settings import ScrapedEndpoint

log = logging.getLogger(__name__)

TIMEOUT_S = 10.0
MAX_SCRAPE_BYTES = 128 * 1024 * 1024
_ACCEPT = "text/plain;version=0.0.4,application/openmetrics-text;version=1.0.0;q=0.5,*/*;q=0.1"
_OPENMETRICS = "application/openmetrics-text"


class ScrapeError(Exception):
    """One scrape failed."""


@dataclass(frozen=True, slots=True)
class Scrape:
    """One try: `line` is None when it failed."""

    endpoint: ScrapedEndpoint
    duration_s: float
    line: RawLine | None


def scrape(endpoint: ScrapedEndpoint, *, timeout_s: float = TIMEOUT_S) -> RawLine:
    """
    Fetch one exporter's page whole; its position is the instant of the request, in epoch nanoseconds.

    A page in OpenMetrics says so in a header: its last line does too, but for one that was cut.

    Raises:
        ScrapeError: nobody answers in time, the answer is no page, or it is beyond 128 MiB.

    """
    if not endpoint.url.startswith(("http://", "https://")):
        message = f"{endpoint.url}: an endpoint is an http or https URL"
        raise ScrapeError(message)
    request = urllib.request.Request(endpoint.url, headers={"Accept": _ACCEPT})  # noqa: S310 (checked above)
    requested_at_ns = time.time_ns()
    try:
        with urllib.request.urlopen(request, timeout=timeout_s) as answer:  # noqa: S310 (checked above)
            value: bytes = answer.read(MAX_SCRAPE_BYTES + 1)
            content_type = answer.headers.get_content_type()
            missing_bytes = 0 if len(value) > MAX_SCRAPE_BYTES else (answer.length or 0)
    except (OSError, http.client.HTTPException, ValueError) as error:
        message = f"{endpoint.url}: {error}"
        raise ScrapeError(message) from error
    if missing_bytes:  # http.client is silent about it when it is told how much to read
        message = f"{endpoint.url}: the answer ends {missing_bytes} bytes early"
        raise ScrapeError(message)
    if len(value) > MAX_SCRAPE_BYTES:
        message = f"{endpoint.url}: more than {MAX_SCRAPE_BYTES} bytes; narrow the exporter's rules"
        raise ScrapeError(message)
    position = f"{endpoint.node}/scrape/{requested_at_ns}"
    told = ((Header.CONTENT_TYPE.value, content_type.encode()),) if content_type == _OPENMETRICS else ()
    return RawLine(value, endpoint.node, endpoint.url, position, Kind.METRICS.value, headers=told)


class Scraper(threading.Thread):
    """Scrapes one endpoint at a fixed pace into a queue; a slow one skips turns, it never piles up."""

    def __init__(
        self,
        endpoint: ScrapedEndpoint,
        results: Queue[Scrape],
        stop: threading.Event,
        *,
        interval_s: float,
        once: bool,
    ) -> None:
        """Prepare the thread; `once` ends it after one try."""
        super().__init__(name=f"scrape-{endpoint.node}", daemon=True)
        self._endpoint = endpoint
        self._results = results
        self._stop_event = stop
        self._interval_s = interval_s
        self._once = once

    def run(self) -> None:
        """Scrape until told to stop."""
        next_at = time.monotonic()
        while not self._stop_event.is_set():
            self._hand_over(self._tried())
            if self._once:
                return
            next_at = max(next_at + self._interval_s, time.monotonic())
            self._stop_event.wait(next_at - time.monotonic())

    def _tried(self) -> Scrape:
        began = time.monotonic()
        line = None
        try:
            line = scrape(self._endpoint)
        except ScrapeError as error:
            log.warning("scrape of %s failed: %s", self._endpoint.node, error)
        return Scrape(self._endpoint, time.monotonic() - began, line)

    def _hand_over(self, scrape: Scrape) -> None:
        """Wait for room: the next scrape is late rather than this one lost."""
        while not self._stop_event.is_set():
            try:
                self._results.put(scrape, timeout=0.5)
            except Full:
                continue
            return
