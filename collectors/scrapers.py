"""The threads of a collector that ask: one an endpoint, and one for the cluster's throttles."""

import threading
from queue import Queue

from collectors.cluster_poll import ClusterPoller
from collectors.scrape import Scrape, Scraper
from conf.settings import Collector


def started(
    collector: Collector, results: Queue[Scrape], stop: threading.Event, *, once: bool
) -> list[threading.Thread]:
    """Start them; `once` ends each after one try."""
    interval_s = collector.scrape_interval_s
    scrapers: list[threading.Thread] = [
        Scraper(endpoint, results, stop, interval_s=interval_s, once=once) for endpoint in collector.endpoints
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
        results,
        stop,
        interval_s=collector.cluster_poll_interval_s,
        once=once,
    )
