"""Start the polling threads of a collector: one per endpoint, and one for the cluster's throttles."""

import threading
from queue import Queue

from collectors.cluster_poll import ClusterPoller
from collectors.scrape import Scrape, Scraper
from collectors.sources import sources_of
from conf.settings import Collector


def start_scrapers(
    collector: Collector, results: Queue[Scrape], stop: threading.Event, *, once: bool
) -> list[threading.Thread]:
    """Start the threads and return them; with `once` each ends after one attempt."""
    interval_s, endpoints = collector.scrape_interval_s, collector.endpoints
    scrapers: list[threading.Thread] = [
        Scraper(endpoint, results, stop, interval_s=interval_s, once=once, source=source)
        for endpoint, source in zip(endpoints, sources_of(endpoints), strict=True)
    ]
    if collector.cluster_bootstrap_servers:
        scrapers.append(_poller(collector, results, stop, once=once))
    for scraper in scrapers:
        scraper.start()
    return scrapers


def _poller(
    collector: Collector, results: Queue[Scrape], stop: threading.Event, *, once: bool
) -> ClusterPoller:
    return ClusterPoller(
        collector.cluster_bootstrap_servers,
        collector.cluster_client_options,
        collector.cluster_security,
        results,
        stop,
        interval_s=collector.cluster_poll_interval_s,
        once=once,
    )
