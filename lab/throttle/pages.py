"""
The exporters' pages during a scenario, as files beside the brokers' logs: `logs/broker-N/SCRAPED_AT_NS.prom`.

An exporter without rules takes up to a second of a core for a page of 1.2 MB. For the scenario's time it is
told to look at the beans of replication alone, which it reads by itself when its file changes; names and
labels are those of an exporter without rules, and afterwards the lab's exporters are as before.
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
def kept(lab: Lab, journal: Path, *, interval_s: float = INTERVAL_S) -> Iterator[None]:
    """Scrape every broker at a fixed pace while the block runs; the journal has a JSON line for each try."""
    stop, results = threading.Event(), Queue[Scrape](maxsize=8 * len(lab.brokers))
    endpoints = [ScrapedEndpoint(url=of.exporter_url, node=f"broker-{of.id}") for of in lab.brokers]
    threads: list[threading.Thread] = [
        Scraper(endpoint, results, stop, interval_s=interval_s, once=False) for endpoint in endpoints
    ]
    threads.append(threading.Thread(target=_write, args=(lab, journal, results, stop), daemon=True))
    journal.parent.mkdir(parents=True, exist_ok=True)
    with _of_replication(lab):
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            stop.set()
            for thread in threads:
                thread.join()


@contextmanager
def _of_replication(lab: Lab) -> Iterator[None]:
    try:
        for broker in lab.brokers:
            config.write_exporter_rules(lab, broker, config.EXPORTER_OF_REPLICATION)
        yield
    finally:
        for broker in lab.brokers:
            config.write_exporter_rules(lab, broker, config.EXPORTER_WITHOUT_RULES)


def _write(lab: Lab, journal: Path, results: "Queue[Scrape]", stop: threading.Event) -> None:
    with journal.open("a") as lines:
        while not (stop.is_set() and results.empty()):
            try:
                scrape = results.get(timeout=_WAIT_S)
            except Empty:
                continue
            lines.write(json.dumps(_kept(lab, scrape)) + "\n")
            lines.flush()


def _kept(lab: Lab, scrape: Scrape) -> dict[str, object]:
    told: dict[str, object] = {"node": scrape.endpoint.node, "duration_s": round(scrape.duration_s, 4)}
    if scrape.line is None:
        return told | {"at": None, "bytes": None, "file": None}
    at_ns = int(scrape.line.position.rpartition("/")[2])
    file = lab.state / "logs" / scrape.endpoint.node / f"{at_ns}.prom"
    file.write_bytes(scrape.line.value)
    os.utime(file, ns=(at_ns, at_ns))
    return told | {"at": truth.iso(at_ns), "bytes": len(scrape.line.value), "file": str(file)}
