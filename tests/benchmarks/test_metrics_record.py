"""What is recorded is what was scraped."""

import gzip

import pytest

from benchmarks.metrics.record import record, recorded
from conf.settings import ScrapedEndpoint
from tests.http_pages import PageHandler, serving

PAGE = b"up 1.0\n"


class _PageOrError(PageHandler):
    def answer(self):
        self.send_response(200 if self.path == "/metrics" else 503)
        self.end_headers()
        self.wfile.write(PAGE)


@pytest.fixture
def exporter():
    with serving(_PageOrError) as server:
        yield server.url


def test_pages_are_kept_as_they_came_with_the_instant_in_the_name(exporter, tmp_path, capsys):
    endpoints = [
        ScrapedEndpoint(url=f"{exporter}/metrics", node="broker-1"),
        ScrapedEndpoint(url=f"{exporter}/away", node="broker-2"),
    ]
    number = record(endpoints, tmp_path, seconds=0.5, every_s=0.1)

    (node, pages), *others = recorded(tmp_path).items()
    assert (node, others) == ("broker-1", [])
    assert len(pages) == number >= 3
    assert {gzip.decompress(path.read_bytes()) for _, path in pages} == {PAGE}
    assert [at for at, _ in pages] == sorted(at for at, _ in pages)
    assert "'failed': " in capsys.readouterr().out


def test_a_folder_without_pages_says_how_to_make_some(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"python -m benchmarks\.metrics record"):
        recorded(tmp_path)
