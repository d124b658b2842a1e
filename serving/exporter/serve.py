"""Gold as a page for Prometheus: each scrape looks for new versions of the tables and tells of now."""

import threading
import time
from collections.abc import Iterator

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from conf.export import Export
from serving.exporter.catalog import METRICS
from serving.exporter.samples import samples
from serving.exporter.tables import GoldTables


class GoldCollector(Collector):
    """Asked once a scrape; two scrapes at a time wait for each other, for they share a database."""

    def __init__(self, gold: GoldTables, limits: Export) -> None:
        """Hold what is asked."""
        self._gold, self._limits = gold, limits
        self._lock = threading.Lock()

    def describe(self) -> list[Metric]:
        """Tell nothing before the first scrape: registering must not read gold."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Give all metrics as of now."""
        started = time.monotonic()
        with self._lock:
            self._gold.refresh(self._limits.remember_s + self._limits.events_span_s)
            told = samples(self._gold, [time.time()], self._limits)
            versions, failures = dict(self._gold.versions), self._gold.failures
        families = {m.name: GaugeMetricFamily(m.name, m.help, labels=m.labels) for m in METRICS}
        for sample in told:
            families[sample.name].add_sample(sample.name, dict(sample.labels), sample.value)
        yield from families.values()
        yield from _own(versions, failures, time.monotonic() - started)


def _own(versions: dict[str, int], failures: int, took_s: float) -> Iterator[Metric]:
    tables = GaugeMetricFamily(
        "plumbline_export_table_version", "Version of a gold table; -1: not there.", labels=["table"]
    )
    for name, version in versions.items():
        tables.add_metric([name], version)
    yield tables
    yield CounterMetricFamily(
        "plumbline_export_read_failures", "Tables that could not be read; the old rows are served.", failures
    )
    yield GaugeMetricFamily("plumbline_export_collect_seconds", "How long this page took.", took_s)


def registry_of(gold: GoldTables, limits: Export) -> CollectorRegistry:
    """Give a registry with gold and nothing else."""
    registry = CollectorRegistry()
    registry.register(GoldCollector(gold, limits))
    return registry
