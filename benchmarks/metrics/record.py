"""
Record what exporters say, page by page: `FOLDER/NODE/SCRAPED_AT_NS.prom.gz`, the instant of the request.

Pages are kept as they came, so that every way of storing them can be held against what was scraped.
"""

import gzip
import threading
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from queue import Empty, Queue

from collectors.scrape import Scrape, Scraper
from conf.settings import ScrapedEndpoint

SUFFIX = ".prom.gz"
SAY_EVERY_S = 60.0
FAILED = "failed"


def record(endpoints: Sequence[ScrapedEndpoint], into: Path, *, seconds: float, every_s: float) -> int:
    """Scrape for some seconds, keep every page, return how many; an interrupted recording is continued."""
    stop, pages = threading.Event(), Queue[Scrape](maxsize=len(endpoints))
    scrapers = [Scraper(endpoint, pages, stop, interval_s=every_s, once=False) for endpoint in endpoints]
    for scraper in scrapers:
        scraper.start()
    kept, until, say_at = Counter[str](), time.monotonic() + seconds, 0.0
    try:
        while (now := time.monotonic()) < until:
            try:
                kept[_keep(pages.get(timeout=min(1.0, until - now)), into)] += 1
            except Empty:
                continue
            if now >= say_at:
                say_at = now + SAY_EVERY_S
                print(f"{until - now:,.0f} s left; pages: {dict(sorted(kept.items()))}", flush=True)
    finally:
        stop.set()
        for scraper in scrapers:
            scraper.join(timeout=every_s)
    print(f"recorded {dict(sorted(kept.items()))} in {into}", flush=True)
    return sum(number for node, number in kept.items() if node != FAILED)


def _keep(scrape: Scrape, into: Path) -> str:
    """Write one page whole or not at all; tell whose it was."""
    if scrape.line is None:
        return FAILED
    folder = into / scrape.line.node
    folder.mkdir(parents=True, exist_ok=True)
    at_ns = scrape.line.position.rpartition("/")[2]
    begun = folder / f"{at_ns}.begun"
    begun.write_bytes(gzip.compress(scrape.line.value, compresslevel=6, mtime=0))
    begun.replace(folder / f"{at_ns}{SUFFIX}")
    return scrape.line.node


def recorded(folder: Path) -> dict[str, list[tuple[int, Path]]]:
    """
    List what was recorded: of each node the instants (epoch nanoseconds) and pages, in order.

    Raises:
        FileNotFoundError: there is no page; the message says how to make some.

    """
    pages: dict[str, list[tuple[int, Path]]] = {}
    for path in sorted(folder.glob(f"*/*{SUFFIX}")):
        pages.setdefault(path.parent.name, []).append((int(path.name.removesuffix(SUFFIX)), path))
    if not pages:
        message = f"no NODE/*{SUFFIX} in {folder}: `python -m benchmarks.metrics record` makes them"
        raise FileNotFoundError(message)
    return {node: sorted(of) for node, of in pages.items()}
