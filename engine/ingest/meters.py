"""Metrics of the ingest, for Prometheus and as a line of progress."""

import threading
import time
from collections import Counter as Counted
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge

from conf.progress import Progress


class IngestMeters:
    """The metrics of one ingest process."""

    def __init__(self, progress: Progress) -> None:
        """Create the metrics at zero."""
        registry = self.registry = CollectorRegistry()
        self._lines = Counter(
            "plumbline_ingest_lines",
            "Lines written, by outcome",
            ["kind", "outcome"],
            registry=registry,
        )
        self._newest = Gauge(
            "plumbline_ingest_newest_line_timestamp_seconds",
            "Instant of the newest line of a node, by the node's clock, at most that of the ingest",
            ["kind", "cluster", "node"],
            registry=registry,
        )
        self._lag = Gauge(
            "plumbline_ingest_lag_records", "Records in the topic not yet read", ["topic"], registry=registry
        )
        self._batch = Gauge(
            "plumbline_ingest_batch_seconds", "Duration of the last batch", ["query"], registry=registry
        )
        self._tally: Counted[str] = Counted()
        self._to_read: Counted[str] = Counted()
        self._newest_us = 0
        self._lock = threading.Lock()  # each query calls from its own thread
        self.progress = progress

    def count(self, counts: Sequence[dict[str, Any]]) -> None:
        """Add the counts of a batch: rows of kind, cluster, node, outcome, lines, newest_us (an instant)."""
        now_us = int(time.time() * 1e6)  # a line may be an hour ahead, which would delay the alert of silence
        with self._lock:
            for row in counts:
                self._lines.labels(row["kind"], row["outcome"]).inc(row["lines"])
                self._tally[row["outcome"]] += row["lines"]
                if row["newest_us"] is not None:
                    newest_us = min(row["newest_us"], now_us)
                    self._newest.labels(row["kind"], row["cluster"], row["node"]).set(newest_us / 1e6)
                    self._newest_us = max(self._newest_us, newest_us)
            self.progress.show(f"ingest: {self.summary()}")

    def progressed(self, progress: Mapping[str, Any]) -> None:
        """Record a query's last Spark progress: batch duration, and unread records per topic."""
        seconds = progress.get("durationMs", {}).get("triggerExecution", 0) / 1e3
        self._batch.labels(progress["name"]).set(seconds)
        with self._lock:
            for topic, records in records_to_read(progress.get("sources", ())).items():
                self._lag.labels(topic).set(records)
                self._to_read[topic] = records

    def summary(self) -> str:
        """Return the current counts as text."""
        if not self._tally:
            return "no lines yet"
        counts = ", ".join(f"{n:,} {outcome}" for outcome, n in sorted(self._tally.items()))
        newest = f", up to {datetime.fromtimestamp(self._newest_us / 1e6, UTC):%H:%M:%S} UTC"
        return counts + (newest if self._newest_us else "") + f", {self._to_read.total():,} to read"


def records_to_read(sources: Iterable[dict[str, Any]]) -> dict[str, int]:
    """
    Return how many records of each topic Kafka sources have not read yet.

    >>> records_to_read([{"latestOffset": {"t": {"0": 5, "1": 2}}, "endOffset": {"t": {"0": 3}}}])
    {'t': 4}
    """
    records: Counted[str] = Counted()
    for source in sources:
        latest, end = source.get("latestOffset") or {}, source.get("endOffset") or {}
        for topic, partitions in latest.items():
            for partition, offset in partitions.items():
                records[topic] += offset - end.get(topic, {}).get(partition, 0)
    return dict(records)
