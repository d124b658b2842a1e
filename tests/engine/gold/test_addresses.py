"""Addresses leave gold: those that an earlier version wrote are removed, and sources have names instead."""

import threading
from datetime import UTC, datetime
from queue import Queue

import pyarrow as pa

from collectors.scrapers import start_scrapers
from conf.names import Kind
from conf.progress import Progress
from conf.settings import Collector, ScrapedEndpoint
from engine.delta import tables
from engine.gold.builder import Builder
from schemas.arrow import arrow_schema
from schemas.gold.leader_redirect import LEADER_REDIRECT
from schemas.silver.metrics import METRIC_SCRAPES
from schemas.silver.not_kept import QUARANTINE, SKIPPED
from tests.engine.ingest.parsed import parsed
from tests.http_pages import PageHandler, serving
from tests.transforms.parse.raw_rows import arrow_raw
from transforms.gold.data_quality import data_quality

AT = datetime(2026, 11, 21, 9, tzinfo=UTC)


def test_connections_of_an_earlier_version_are_removed_once(spark, tmp_path):
    old = {
        "cluster": "lab",
        "window_start": AT,
        "errored_at": AT,
        "topic": "t",
        "connection": "a:1-203.0.113.7:2-0-0",
    }
    tables.make(tmp_path, LEADER_REDIRECT)
    schema = arrow_schema(LEADER_REDIRECT)
    tables.overwrite(
        pa.Table.from_pylist([old, old | {"connection": None}], schema), tmp_path, LEADER_REDIRECT
    )

    versions = []
    for _ in range(2):
        Builder(spark, tmp_path, Progress())
        versions.append(tables.snapshot(tmp_path, LEADER_REDIRECT).version)

    rows = tables.read(spark, tmp_path, LEADER_REDIRECT).collect()
    assert [(row.topic, row.connection) for row in rows] == [("t", None)] * 2
    assert versions[0] == versions[1]


PAGE = b"kafka_x 1\nbad x y z\n"
FORMER = "broker-1/scrape/1795252768987716710"
CANARIES = ("127.0.0.1", "localhost", "203.0.113.7")


class ExporterWithAnAddress(PageHandler):
    """Serves one page at every path."""

    def answer(self):
        """Send the page."""
        self.send_response(200)
        self.send_header("Content-Length", str(len(PAGE)))
        self.end_headers()
        self.wfile.write(PAGE)


def scraped():
    """Return the lines of three endpoints of one node, and their port."""
    with serving(ExporterWithAnAddress) as server:
        port, results = server.server_port, Queue()
        hosts = ("127.0.0.1", "localhost", "127.0.0.1")
        urls = [f"http://{host}:{port}/metrics" for host in hosts]
        urls[2] += "?target=203.0.113.7"
        endpoints = tuple(ScrapedEndpoint(url=url, node="broker-1") for url in urls)
        for thread in start_scrapers(Collector(endpoints=endpoints), results, threading.Event(), once=True):
            thread.join()
    return [results.get_nowait().line for _ in urls], port


def test_the_source_of_a_scrape_has_the_name_of_its_node_and_no_address(tmp_path):
    """Bronze rows of a collector before this release keep their URL; no page is counted twice."""
    lines, port = scraped()
    former = "http://203.0.113.8:9404/metrics"
    places = [(line.value, line.source, line.position) for line in lines]
    rows = [
        {"value": value, "source": source, "position": position, "kind": Kind.METRICS.value}
        | {"topic": "t", "partition": 0, "offset": offset}
        for offset, (value, source, position) in enumerate([*places, (PAGE, former, FORMER)])
    ]
    bronze = arrow_raw(rows)

    silver, _ = parsed(bronze, tmp_path)
    held = {table: silver[table].to_table() for table in (METRIC_SCRAPES, QUARANTINE, SKIPPED)}
    scrapes, quarantine, skipped = (held[table] for table in (METRIC_SCRAPES, QUARANTINE, SKIPPED))
    counted = data_quality([bronze], {Kind.METRICS.value: [scrapes]}, quarantine, skipped).to_pylist()

    source = f"http://broker-1:{port}/metrics"
    sources = (source, f"{source}#2", f"{source}#3", former)
    assert sorted((row["source"], row["lines_read"], row["kept"], row["is_balanced"]) for row in counted) == [
        (each, 1, 1, True) for each in sorted(sources)
    ]
    assert [len(table) for table in (scrapes, quarantine)] == [4, 4]
    written = repr([counted, *(table.to_pylist() for table in held.values())])
    assert [canary for canary in CANARIES if canary in written] == []
