import threading
import time
from queue import Queue

import pytest

from collectors.scrape import ScrapeError, Scraper, scrape
from conf.settings import ScrapedEndpoint
from tests.http_pages import PageHandler, serving

PAGE = b'# TYPE up gauge\nup{job="x"} 1.0\n'


class _PageOrTorn(PageHandler):
    def answer(self):
        status = 503 if self.path == "/missing" else 200
        self.send_response(status)
        self.send_header("Content-Length", str(len(PAGE) + (self.path == "/torn")))
        self.end_headers()
        self.wfile.write(PAGE)


@pytest.fixture
def exporter():
    with serving(_PageOrTorn) as server:
        yield server.url


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
