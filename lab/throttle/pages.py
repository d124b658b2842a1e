"""
Save the pages of the exporters during a scenario, in `logs/broker-N/SCRAPED_AT_NS.prom`.

An exporter without rules needs up to one CPU second for a page of 1.2 MB. During the scenario it exports
only the replication MBeans, with the same names and labels. It reloads its rules when the file changes, and
gets its original rules at the end.
"""

import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, Queue

from collectors.scrape import Scrape, Scraper
from conf.settings import ScrapedEndpoint
from lab import config, truth
from lab.layout import Lab

INTERVAL_S = 2.0
_WAIT_S = 0.2


@contextmanager
def recorded_pages(lab: Lab, journal: Path, *, interval_s: float = INTERVAL_S) -> Iterator[None]:
    """Scrape every broker at a fixed interval while the block runs. The journal has one line per scrape."""
    stop, results = threading.Event(), Queue[Scrape](maxsize=8 * len(lab.brokers))
    endpoints = [
        ScrapedEndpoint(url=broker.exporter_url, node=f"broker-{broker.id}") for broker in lab.brokers
    ]
    threads: list[threading.Thread] = [
        Scraper(endpoint, results, stop, interval_s=interval_s, once=False) for endpoint in endpoints
    ]
    threads.append(threading.Thread(target=_write, args=(lab, journal, results, stop), daemon=True))
    journal.parent.mkdir(parents=True, exist_ok=True)
    with _replication_rules(lab):
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            stop.set()
            for thread in threads:
                thread.join()


@contextmanager
def _replication_rules(lab: Lab) -> Iterator[None]:
    try:
        for broker in lab.brokers:
            config.write_exporter_rules(lab, broker, config.EXPORTER_REPLICATION_RULES)
        yield
    finally:
        for broker in lab.brokers:
            config.write_exporter_rules(lab, broker, config.EXPORTER_DEFAULT_RULES)


def _write(lab: Lab, journal: Path, results: "Queue[Scrape]", stop: threading.Event) -> None:
    with journal.open("a") as lines:
        while not (stop.is_set() and results.empty()):
            try:
                scrape = results.get(timeout=_WAIT_S)
            except Empty:
                continue
            lines.write(json.dumps(_save_page(lab, scrape)) + "\n")
            lines.flush()


def _save_page(lab: Lab, scrape: Scrape) -> dict[str, object]:
    row: dict[str, object] = {"node": scrape.endpoint.node, "duration_s": round(scrape.duration_s, 4)}
    if scrape.line is None:
        return row | {"at": None, "bytes": None, "file": None}
    at_ns = int(scrape.line.position.rpartition("/")[2])
    file = lab.state / "logs" / scrape.endpoint.node / f"{at_ns}.prom"
    file.write_bytes(scrape.line.value)
    os.utime(file, ns=(at_ns, at_ns))
    return row | {"at": truth.iso(at_ns), "bytes": len(scrape.line.value), "file": str(file)}
