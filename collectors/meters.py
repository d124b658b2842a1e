"""The metrics of a collector."""

import re
import time
from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge

from collectors.log_files.tail import LineBatch
from collectors.scrape import Scrape
from conf.names import Kind
from conf.settings import TailedFile

_LOG = ("node", "kind", "source")
_PREFIX = "plumbline_collector_"
DEBUG, HEAD_BYTES = re.compile(rb" DEBUG +Completed request:"), 96  # a layout may pad the level: %-6p
OFF_AFTER_S = 60.0
"""A request log without a line at DEBUG for this long is off: followers fetch twice a second."""


class CollectorMeters:
    """The metrics of one run."""

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        """Create the metrics at zero."""
        self._now = now
        self._debug_seen_at: dict[str, float] = {}
        self.lines = 0
        self.read_bytes = 0
        registry = self.registry = CollectorRegistry()
        self._lines_read = Counter(_PREFIX + "lines_read", "Lines and chunks read.", _LOG, registry=registry)
        self._bytes_read = Counter(
            _PREFIX + "read_bytes", "Bytes read, uncompressed.", _LOG, registry=registry
        )
        self._acked = Counter(
            _PREFIX + "lines_acked", "Lines and chunks acknowledged.", _LOG, registry=registry
        )
        self._in_flight = Gauge(
            _PREFIX + "lines_in_flight", "Sent, not acknowledged yet.", _LOG, registry=registry
        )
        self._behind = Gauge(_PREFIX + "behind_bytes", "Bytes not read yet.", _LOG, registry=registry)
        self._lost = Counter(
            _PREFIX + "lost_ranges", "Byte ranges lost before they were read.", _LOG, registry=registry
        )
        self._debug_since = Gauge(
            _PREFIX + "request_log_debug_since_timestamp_seconds",
            "Since when the request log has lines at DEBUG, as this collector reads them; 0: it has none.",
            ["node"],
            registry=registry,
        )
        self._scrapes = Counter(_PREFIX + "scrapes", "Successful scrapes.", ["node"], registry=registry)
        self._errors = Counter(_PREFIX + "scrape_errors", "Failed scrapes.", ["node"], registry=registry)
        self._scrape_s = Gauge(
            _PREFIX + "scrape_duration_seconds", "Duration of the last scrape.", ["node"], registry=registry
        )
        self._scraped_at = Gauge(
            _PREFIX + "last_scrape_timestamp_seconds",
            "Time of the last successful scrape.",
            ["node"],
            registry=registry,
        )

    def declare(self, file: TailedFile) -> None:
        """Export a log's metrics as 0 before its first line: an alert treats absent and 0 differently."""
        for meter in (
            self._lines_read,
            self._bytes_read,
            self._acked,
            self._in_flight,
            self._behind,
            self._lost,
        ):
            meter.labels(file.node, file.kind, file.path)
        if file.kind == Kind.REQUEST_LOG.value:
            self._debug_since.labels(file.node).set(0)

    def read(self, file: TailedFile, batch: LineBatch) -> None:
        """Count the lines, bytes and losses of a batch."""
        labels = (file.node, file.kind, file.path)
        self.lines += len(batch.lines)
        self.read_bytes += batch.read_bytes
        self._lines_read.labels(*labels).inc(len(batch.lines))
        self._bytes_read.labels(*labels).inc(batch.read_bytes)
        if batch.lost:
            self._lost.labels(*labels).inc()
        is_request_log = file.kind == Kind.REQUEST_LOG.value
        if is_request_log and any(DEBUG.search(line.value, 0, HEAD_BYTES) for line in batch.lines):
            if file.node not in self._debug_seen_at:
                self._debug_since.labels(file.node).set(self._now())
            self._debug_seen_at[file.node] = self._now()

    def progress(self, file: TailedFile, *, acked: int, in_flight: int, behind_bytes: int) -> None:
        """Count new acks, and set the records in flight, the unread bytes, and whether DEBUG is off."""
        if self._now() - self._debug_seen_at.get(file.node, self._now()) > OFF_AFTER_S:
            del self._debug_seen_at[file.node]
            self._debug_since.labels(file.node).set(0)
        labels = (file.node, file.kind, file.path)
        self._acked.labels(*labels).inc(acked)
        self._in_flight.labels(*labels).set(in_flight)
        self._behind.labels(*labels).set(behind_bytes)

    def scraped(self, scrape: Scrape) -> None:
        """Count a scrape, successful or failed."""
        node = scrape.endpoint.node
        self._scrape_s.labels(node).set(scrape.duration_s)
        if scrape.line is None:
            self._errors.labels(node).inc()
            return
        self.lines += 1
        self.read_bytes += len(scrape.line.value)
        self._scrapes.labels(node).inc()
        self._scraped_at.labels(node).set_to_current_time()
