import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from queue import Queue

import pytest

from collectors.scrape import ScrapeError, Scraper, scrape
from conf.settings import ScrapedEndpoint

PAGE = b'# TYPE up gauge\nup{job="x"} 1.0\n'


class _Exporter(BaseHTTPRequestHandler):
    def do_GET(self):
        status = 503 if self.path == "/missing" else 200
        self.send_response(status)
        self.send_header("Content-Length", str(len(PAGE) + (self.path == "/torn")))
        self.end_headers()
        self.wfile.write(PAGE)

    def log_message(self, *_):
        """Say nothing."""


@pytest.fixture
def exporter():
    server = HTTPServer(("127.0.0.1", 0), _Exporter)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_scrape_is_the_whole_page_at_the_instant_of_the_request(exporter):
    before = time.time_ns()
    line = scrape(ScrapedEndpoint(url=f"{exporter}/metrics", node="broker-1"))

    node, word, at = line.position.split("/")
    assert (line.value, line.kind, node, word) == (PAGE, "metrics", "broker-1", "scrape")
    assert before <= int(at) <= time.time_ns()


@pytest.mark.parametrize(
    "url", ["{}/missing", "{}/torn", "http://127.0.0.1:1/metrics", "file:///etc/hostname", "http://"]
)
def test_a_failed_scrape_names_its_url(exporter, url):
    url = url.format(exporter)
    with pytest.raises(ScrapeError, match=url):
        scrape(ScrapedEndpoint(url=url, node="broker-1"))


def test_a_failed_scrape_is_told_and_the_next_one_is_tried(exporter):
    stop, results = threading.Event(), Queue()
    endpoint = ScrapedEndpoint(url=f"{exporter}/missing", node="broker-1")
    scraper = Scraper(endpoint, results, stop, interval_s=0.02, once=False)
    scraper.start()
    tries = [results.get(timeout=5) for _ in range(3)]
    stop.set()
    scraper.join()

    assert [one.line for one in tries] == [None] * 3
