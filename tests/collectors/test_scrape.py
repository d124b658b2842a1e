import threading
import time
from dataclasses import replace
from queue import Queue

import pytest

from collectors.scrape import ScrapeError, Scraper, scrape
from conf.settings import ScrapedEndpoint
from tests.http_pages import PageHandler, serving
from tests.tls import server_context

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


class _AnswersToToken(PageHandler):
    """Answers with the token that it was sent, and sends `/moved` on to `elsewhere`."""

    elsewhere = ""

    def answer(self):
        body = f"token {self.headers['Authorization']}\n".encode()
        self.send_response(302 if self.path == "/moved" else 200)
        self.send_header("Location", self.elsewhere)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def token(tmp_path):
    (tmp_path / "token").write_text("open-sesame\n")
    return tmp_path / "token"


def test_an_exporter_of_the_named_authority_gets_the_token_of_the_file(tmp_path, token):
    with serving(_AnswersToToken) as server:
        server.socket = server_context(tmp_path).wrap_socket(server.socket, server_side=True)
        url = server.url.replace("http", "https")
        trusted = ScrapedEndpoint(
            url=url, node="broker-1", ca_file=str(tmp_path / "cert.pem"), bearer_token_file=str(token)
        )

        assert scrape(trusted).value == b"token Bearer open-sesame\n"
        token.write_text("renewed")
        assert scrape(trusted).value == b"token Bearer renewed\n"
        with pytest.raises(ScrapeError, match="certificate verify failed"):
            scrape(replace(trusted, ca_file=""))


def test_a_redirect_does_not_take_the_token_along(token, monkeypatch):
    with serving(_AnswersToToken) as server, serving(_AnswersToToken) as other:
        monkeypatch.setattr(_AnswersToToken, "elsewhere", f"{other.url}/metrics")
        moved = ScrapedEndpoint(url=f"{server.url}/moved", node="broker-1", bearer_token_file=str(token))

        assert scrape(moved).value == b"token None\n"


@pytest.mark.parametrize("name", ["ca_file", "bearer_token_file"])
@pytest.mark.parametrize("content", [None, "open sesame\nX: y"])
def test_a_file_that_is_none_fails_the_scrape_and_is_not_quoted(tmp_path, name, content):
    if content:
        (tmp_path / "file").write_text(content)
    endpoint = ScrapedEndpoint(url="https://127.0.0.1:1/", node="broker-1", **{name: str(tmp_path / "file")})
    with pytest.raises(ScrapeError, match=r"https://127\.0\.0\.1:1/: ") as error:
        scrape(endpoint)

    assert "sesame" not in str(error.value)


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
