"""Gold as a page for Prometheus: each scrape reads the tables that have a new version."""

import threading
import time
from collections.abc import Iterator

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from answers.exported.gold import ExportedGold
from answers.exported.metrics import METRICS


class GoldCollector(Collector):
    """Collects once per scrape; simultaneous scrapes wait, because they share a database."""

    def __init__(self, gold: ExportedGold) -> None:
        """Read nothing yet."""
        self._gold = gold
        self._lock = threading.Lock()

    def describe(self) -> list[Metric]:
        """Return nothing before the first scrape: registering must not read gold."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Yield all metrics as of now."""
        started = time.monotonic()
        with self._lock:
            self._gold.refresh()
            samples = self._gold.samples([time.time()])
            versions, failures = dict(self._gold.versions), self._gold.failures
        families = {m.name: GaugeMetricFamily(m.name, m.help, labels=m.labels) for m in METRICS}
        for sample in samples:
            families[sample.name].add_sample(sample.name, dict(sample.labels), sample.value)
        yield from families.values()
        yield from _own(versions, failures, time.monotonic() - started)


def _own(versions: dict[str, str], failures: int, took_s: float) -> Iterator[Metric]:
    tables = GaugeMetricFamily(
        "plumbline_export_table_version", "Version of a gold table; -1: not there.", labels=["table"]
    )
    for name, version in versions.items():
        tables.add_metric([name], int(version.partition(".")[0] or -1))
    yield tables
    yield CounterMetricFamily(
        "plumbline_export_read_failures", "Tables that could not be read; the old rows are served.", failures
    )
    yield GaugeMetricFamily("plumbline_export_collect_seconds", "How long this page took.", took_s)


def registry_of(gold: ExportedGold) -> CollectorRegistry:
    """Return a registry with gold and nothing else."""
    registry = CollectorRegistry()
    registry.register(GoldCollector(gold))
    return registry
