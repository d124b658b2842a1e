"""Scrape JMX exporters, one thread each. A failed scrape is counted and does not stop the collector."""

import http.client
import logging
import ssl
import threading
import time
import urllib.request
from dataclasses import dataclass
from queue import Full, Queue

from collectors.bearer import bearer
from collectors.log_files.lines import RawLine
from collectors.sources import named_source
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
    """One attempt; `line` is None if it failed."""

    endpoint: ScrapedEndpoint
    duration_s: float
    line: RawLine | None


def scrape(endpoint: ScrapedEndpoint, *, source: str = "", timeout_s: float = TIMEOUT_S) -> RawLine:
    """
    Return one page of an exporter; its position contains the time of the request in epoch nanoseconds.

    `source` is that of the line, by default the URL with the node's name instead of an address.
    A header marks an OpenMetrics page, because a truncated page lacks the last line `# EOF` that would.

    Raises:
        ScrapeError: no response in time, an HTTP error, a truncated page, a page larger than 128 MiB, or a
            file of the endpoint cannot be read.

    """
    is_tls = endpoint.url.startswith("https://")
    if not (is_tls or endpoint.url.startswith("http://")):
        message = f"{endpoint.url}: an endpoint must be an http or https URL"
        raise ScrapeError(message)
    requested_at_ns = time.time_ns()
    try:
        request = _request(endpoint)
        tls = ssl.create_default_context(cafile=endpoint.ca_file or None) if is_tls else None
        with urllib.request.urlopen(request, timeout=timeout_s, context=tls) as answer:  # noqa: S310 (checked above)
            value: bytes = answer.read(MAX_SCRAPE_BYTES + 1)
            content_type = answer.headers.get_content_type()
            missing_bytes = 0 if len(value) > MAX_SCRAPE_BYTES else (answer.length or 0)
    except (OSError, http.client.HTTPException, ValueError) as error:
        message = f"{endpoint.url}: {error}"
        raise ScrapeError(message) from error
    if missing_bytes:  # http.client does not raise IncompleteRead when read() has a size
        message = f"{endpoint.url}: the response ends {missing_bytes} bytes early"
        raise ScrapeError(message)
    if len(value) > MAX_SCRAPE_BYTES:
        message = f"{endpoint.url}: more than {MAX_SCRAPE_BYTES} bytes; narrow the exporter's rules"
        raise ScrapeError(message)
    position = f"{endpoint.node}/scrape/{requested_at_ns}"
    headers = ((Header.CONTENT_TYPE.value, content_type.encode()),) if content_type == _OPENMETRICS else ()
    source = source or named_source(endpoint.url, endpoint.node)
    return RawLine(value, endpoint.node, source, position, Kind.METRICS.value, headers=headers)


def _request(endpoint: ScrapedEndpoint) -> urllib.request.Request:
    """Return the request of a page. Its token is read each time, and a redirect does not get it."""
    request = urllib.request.Request(endpoint.url, headers={"Accept": _ACCEPT})  # noqa: S310 (checked by `scrape`)
    if endpoint.bearer_token_file:
        request.add_unredirected_header("Authorization", bearer(endpoint.bearer_token_file))
    return request


class Scraper(threading.Thread):
    """A thread that scrapes one endpoint at a fixed interval; a slow endpoint skips scrapes."""

    def __init__(  # noqa: PLR0913 (the endpoint, the queue, the interval)
        self,
        endpoint: ScrapedEndpoint,
        results: Queue[Scrape],
        stop: threading.Event,
        *,
        interval_s: float,
        once: bool,
        source: str = "",
    ) -> None:
        """
        Prepare the thread; with `once` it ends after one scrape. `results` is the collector's queue.

        `source` is that of the lines (`collectors.sources`).
        """
        super().__init__(name=f"scrape-{endpoint.node}", daemon=True)
        self._endpoint = endpoint
        self._results = results
        self._stop_event = stop
        self._interval_s = interval_s
        self._once = once
        self._source = source

    def run(self) -> None:
        """Scrape until the stop event is set."""
        next_at = time.monotonic()
        while not self._stop_event.is_set():
            self._enqueue(self._try_scrape())
            if self._once:
                return
            next_at = max(next_at + self._interval_s, time.monotonic())
            self._stop_event.wait(next_at - time.monotonic())

    def _try_scrape(self) -> Scrape:
        began = time.monotonic()
        line = None
        try:
            line = scrape(self._endpoint, source=self._source)
        except ScrapeError as error:
            log.warning("scrape of %s failed: %s", self._endpoint.node, error)
        return Scrape(self._endpoint, time.monotonic() - began, line)

    def _enqueue(self, scrape: Scrape) -> None:
        """Wait for room in the queue: a late next scrape is better than a lost one."""
        while not self._stop_event.is_set():
            try:
                self._results.put(scrape, timeout=0.5)
            except Full:
                continue
            return
