"""A back-fill publishes what a real Prometheus holds, bit for bit, and the same pages when it is repeated."""

import itertools
import random
import struct
import time

import pytest

from collectors.scrape import scrape
from conf.settings import ScrapedEndpoint
from tests.collectors.real_prometheus import (
    BASE_S,
    RealPrometheus,
    bits,
    name_and_labels,
    read_back,
    types_of,
)
from tests.http_pages import PageHandler, serving

SPECIAL = ("NaN", "+Inf", "-Inf", "-0.0", "5e-324", "1.7976931348623157e+308", "1e+22", "1.5e-05", "0.1")


def doubles(number):
    dice = random.Random(7)
    words = (dice.getrandbits(64).to_bytes(8, "big") for _ in range(number))
    return [*SPECIAL, *(repr(struct.unpack(">d", word)[0]).replace("nan", "NaN") for word in words)]


@pytest.fixture(scope="module")
def an_hour(tmp_path_factory):
    """Three brokers, an hour at about ten seconds, of any doubles; a label with all that is escaped."""
    server = RealPrometheus(tmp_path_factory.mktemp("prometheus") / "server")
    values = iter(doubles(3 * 4 * 360))
    lines, server.written = [], []
    for name in ("kafka_log_size", "kafka_server_rate", "kafka_x", "jvm_threads"):
        lines.append(f"# TYPE {name} gauge")
        for broker, nth in itertools.product((1, 2, 3), range(360)):
            labels = rf'instance="b{broker}.site:9404",job="kafka",topic="a\\b\"c\nd-ü"'
            value = next(values)
            at_ms = (BASE_S + 10 * nth) * 1_000 + nth
            lines.append(f"{name}{{{labels}}} {value} {at_ms // 1_000}.{at_ms % 1_000:03}")
            series = name_and_labels({"__name__": name, "topic": 'a\\b"c\nd-ü'})
            server.written.append((f"b{broker}.site", series, at_ms, bits(float(value))))
    server.fill(*lines)
    yield server.start()
    server.stop()


def test_what_is_published_is_what_the_server_holds_bit_for_bit(an_hour, published, backfill):
    """Twelve series of an hour: any doubles, the smallest and largest, both zeros, infinities and NaN."""
    result = backfill(an_hour.url)
    held = an_hour.held('{job="kafka"}[1h]', BASE_S + 3_599.999)

    assert result.exit_code == 0, result.output
    assert len(an_hour.written) == len(held) == 3 * 4 * 360
    assert sorted(published.samples) == sorted(an_hour.written)
    assert {bits(float(value)) for value in SPECIAL} <= {sample[-1] for sample in published.samples}


def test_a_repeated_backfill_publishes_equal_pages(an_hour, published, backfill):
    backfill(an_hour.url)
    first, published.lines = published.lines, []
    result = backfill(an_hour.url, "--again")

    assert result.exit_code == 0
    assert published.lines == first
    assert len(set(published.positions)) == len(first) == 6 * 3


def test_another_span_publishes_equal_pages_of_the_windows_it_shares(an_hour, published, backfill):
    backfill(an_hour.url)
    first, published.lines = set(published.positions), []
    backfill(an_hour.url, "--again", since="2023-11-14T22:33:00Z", until="2023-11-14T22:58:00Z")

    assert len(published.positions) == 3 * 3
    assert {position.split("/")[2] for position in first & set(published.positions)} == {
        f"{(BASE_S + 1_200) * 1_000}-{(BASE_S + 1_800) * 1_000}"
    }


def test_pages_of_another_selection_are_other_pages(an_hour, published, backfill):
    """They would pass for those sent before if they had their positions."""
    backfill(an_hour.url, "--match", "kafka_x")
    first, published.lines = set(published.positions), []
    backfill(an_hour.url, "--match", '{__name__="jvm_threads",job="kafka"}')

    assert not first & set(published.positions)
    assert len(published.samples) == 3 * 360


def test_what_two_selectors_find_is_published_once(an_hour, published, backfill):
    backfill(an_hour.url, "--match", "kafka_x", "--match", '{__name__=~"kafka_x|jvm_threads"}')

    assert len(published.samples) == len(set(published.samples)) == 2 * 3 * 360


def test_a_second_run_goes_on_where_the_first_one_ended(an_hour, published, backfill):
    backfill(an_hour.url, until="2023-11-14T22:45:00Z")
    first = len(published.lines)
    backfill(an_hour.url)
    nothing = backfill(an_hour.url)

    assert 0 < first < len(published.lines)
    assert len(published.samples) == len(set(published.samples)) == 3 * 4 * 360
    assert "everything before 2023-11-14T23:20:00Z is already published" in nothing.output


def test_an_earlier_beginning_is_read_from_there(an_hour, published, backfill):
    backfill(an_hour.url, since="2023-11-14T23:00:00Z")
    published.lines = []
    backfill(an_hour.url)

    assert len(published.samples) == 3 * 4 * 360


def test_nodes_are_named_by_patterns(an_hour, published, backfill):
    backfill(an_hour.url, "--node", r"b([12])\.site:\d+=broker-\1")

    assert {line.node for line in published.lines} == {"broker-1", "broker-2", "b3.site"}


def test_a_server_that_dies_in_between_is_told_and_the_next_run_goes_on(tmp_path, published, backfill):
    server = RealPrometheus(tmp_path / "server")
    server.fill(*(f'kafka_x{{instance="b1",job="k"}} {nth} {BASE_S + 10 * nth}' for nth in range(360)))
    server.start()
    published.on_flush = lambda nth: server.stop() if nth == 3 else None
    broken = backfill(server.url)
    server.start()
    published.on_flush = lambda _: None
    whole = backfill(server.url)
    server.stop()

    assert (broken.exit_code, whole.exit_code) == (1, 0)
    assert f"{server.url}/api/v1/query: no response after 1 retries" in broken.output
    assert 'query: {__name__=~"(aws_msk_)?(kafka' in broken.output
    assert "start again" in broken.output
    assert "an earlier run published up to 2023-11-14T22:50:00Z" in whole.output
    assert [sample[-1] for sample in published.samples] == [bits(float(nth)) for nth in range(360)]


def test_a_server_that_takes_few_samples_at_once_is_asked_for_fewer(tmp_path, published, backfill):
    """Twelve series of ten minutes are 720 samples; 100 a query are metrics one by one, in halves of time."""
    server = RealPrometheus(tmp_path / "server", "--query.max-samples=100")
    server.fill(
        *(
            f'kafka_{name}{{instance="b{b}",job="k"}} {b} {BASE_S + 10 * nth}'
            for name in "abc"
            for b in range(3)
            for nth in range(180)
        )
    )
    server.start()
    result = backfill(server.url)
    server.stop()

    assert result.exit_code == 0, result.output
    assert len(published.samples) == len(set(published.samples)) == 3 * 3 * 180


class _Labelled(PageHandler):
    """Exposes labels that the server has its own for, and drops a series when told to."""

    page = (
        '# TYPE kafka_requests_total counter\nkafka_requests_total{request="Fetch"} 17.0\n'
        '# TYPE kafka_gauge gauge\nkafka_gauge{job="of-the-exporter",instance="x"} NaN\n'
        '# TYPE kafka_time summary\nkafka_time{quantile="0.5"} 1.5\nkafka_time_count 3.0\n'
        "kafka_time_sum 4.5\n"
        "kafka_untyped 1.0E-5\n"
    )
    short_lived = 'kafka_short_lived{a="b"} 1.0\n'

    def answer(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.end_headers()
        self.wfile.write((self.page + self.server.extra).encode())


@pytest.fixture
def exporter():
    with serving(_Labelled) as server:
        server.extra = _Labelled.short_lived
        yield server


def test_a_scraped_series_has_the_name_and_labels_that_a_scrape_of_ours_has(
    exporter, tmp_path, published, backfill
):
    """
    A series that has ended just ends: the marker that the server writes behind it is not to be had.

    The server's own `up`, and what it tells of its scrapes, are series of the node as well.
    """
    at = f"127.0.0.1:{exporter.server_port}"
    job = f"scrape_configs: [{{job_name: kafka, static_configs: [{{targets: ['{at}']}}]}}]\n"
    server = RealPrometheus(tmp_path / "server", scrape=job).start()
    wait_for(lambda: len(server.held("kafka_short_lived[1m]", now())) >= 2)
    ours = scrape(ScrapedEndpoint(url=f"http://{at}/metrics", node="broker-1")).value
    exporter.extra = ""
    wait_for(lambda: not server.ask("kafka_short_lived", now()))
    result = backfill(
        server.url, "--node", f"{at}=broker-1", "--match", '{job="kafka"}', since="1m", until="0s"
    )
    server.stop()
    by_series = {}
    for node, series, _, value in published.samples:
        by_series.setdefault((node, series), []).append(value)

    assert result.exit_code == 0, result.output
    own = {key for key in by_series if dict(key[1])["__name__"].startswith(("up", "scrape_"))}
    assert by_series.keys() - own == {("broker-1", series) for series, *_ in read_back(ours)}
    assert ("broker-1", name_and_labels({"__name__": "up"})) in own
    assert {value for line in published.lines for value in types_of(line.value)} == types_of(ours)
    ended = by_series["broker-1", name_and_labels({"__name__": "kafka_short_lived", "a": "b"})]
    assert set(ended) == {bits(1.0)}
    assert len(ended) < len(by_series["broker-1", name_and_labels({"__name__": "up"})])


def now():
    return time.time()


def wait_for(is_so):
    give_up_at = time.monotonic() + 20
    while not is_so():
        assert time.monotonic() < give_up_at
        time.sleep(0.1)
