"""How a server is asked: with secrets from files, again where it may help, for less when it is too much."""

import json
from urllib.parse import parse_qs

import pytest

from collectors.backfill.export import SampleReader, Selection
from collectors.backfill.pages import Pages, SameSeriesError
from collectors.backfill.prometheus import PrometheusClient, PrometheusError, PrometheusSeries, TooLargeError
from collectors.errors import CollectorError
from conf.settings import Prometheus
from tests.http_pages import PageHandler, serving
from tests.tls import server_context

QUICK = Prometheus(retries=2, timeout_s=5)
LABELS = {"__name__": "kafka_x", "instance": "b1:1", "job": "k"}


def matrix(*series):
    result = [{"metric": labels, "values": values} for labels, values in series]
    return 200, {"status": "success", "data": {"resultType": "matrix", "result": result}}


ONE = matrix((LABELS, [[1_700_000_000.5, "1"]]))
BUSY = (503, {"status": "error", "errorType": "internal", "error": "too busy"})
TOO_MANY = (422, {"status": "error", "errorType": "execution", "error": "too many samples"})


class _Api(PageHandler):
    def answer(self):
        length = int(self.headers.get("Content-Length", 0))
        self.server.asked.append((self.path, self.rfile.read(length).decode(), self.headers))
        status, answer = self.server.answers.pop(0) if self.server.answers else ONE
        body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body) + (status == 206)))  # 206 is ours: it breaks off
        if status == 302:
            self.send_header("Location", "https://login.site/")
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr("urllib3.util.Retry.sleep", lambda *_: None)
    with serving(_Api) as server:
        server.answers, server.asked = [], []
        yield server


def samples(server, told=QUICK, **span):
    span = {"start_ms": 1_700_000_000_000, "end_ms": 1_700_000_060_000} | span
    return PrometheusClient(server.url, told).samples(["kafka_x"], **span)


def test_an_instant_query_of_a_range_gives_samples_to_the_millisecond(server):
    assert samples(server) == [PrometheusSeries(LABELS, [(1_700_000_000_500, "1")])]
    assert server.asked[0][:2] == ("/api/v1/query", "query=kafka_x%5B60000ms%5D&time=1700000059.999")


def test_a_sample_at_the_start_of_a_range_is_taken_and_one_before_it_not(server):
    """Prometheus 2 gives both, Prometheus 3 only the first one: a range there is open at its start."""
    server.answers = [
        matrix((LABELS, [[1_699_999_999.999, "1"], [1_700_000_000, "2"], [1_700_000_001, "3"]]))
    ]

    assert samples(server) == [PrometheusSeries(LABELS, [(1_700_000_000_000, "2"), (1_700_000_001_000, "3")])]


@pytest.mark.parametrize("first", [BUSY, (206, b'{"status"'), (429, b""), (502, b"bad gateway")])
def test_what_may_pass_is_asked_for_again(server, first):
    server.answers = [first]

    assert samples(server)
    assert len(server.asked) == 2


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (BUSY, "status 503: too busy; query: kafka_x[60000ms]; see the log"),
        ((206, b"{"), "no response after 2 retries"),
        ((302, b""), "redirects to https://login.site/; give the URL of the API itself"),
        ((200, b"<html>"), "status 200: <html>; query: kafka_x[60000ms]; see"),
        ((200, b"[]"), "status 200: []; query"),
        ((404, b"nothing here"), "status 404: nothing here; query: kafka_x[60000ms]; check the base URL"),
        ((401, b"who?"), "set username and password_file, or bearer_token_file, in [prometheus]"),
        ((400, {"status": "error", "error": "parse error"}), "status 400: parse error"),
        (
            (200, {"status": "success", "data": {"resultType": "vector", "result": []}}),
            "resultType is vector",
        ),
        ((200, ONE[1] | {"warnings": ["a store is away"]}), "a store is away"),
    ],
)
def test_an_error_names_url_query_and_the_way_out(server, answer, told):
    server.answers = [answer] * 3
    with pytest.raises(PrometheusError) as error:
        samples(server)

    assert told in str(error.value)
    assert f"{server.url}/api/v1/query: " in str(error.value)


def test_nobody_there_is_an_error_with_the_address(server):
    server.url = "http://127.0.0.1:1/prometheus"
    with pytest.raises(PrometheusError, match=r"http://127\.0\.0\.1:1/prometheus/api/v1/query: no response"):
        samples(server)


@pytest.mark.parametrize(
    "answer", [TOO_MANY, (503, {"status": "error", "errorType": "timeout", "error": "slow"})]
)
def test_too_much_at_once_is_told_from_what_is_broken(server, answer):
    server.answers = [answer] * 3
    with pytest.raises(TooLargeError, match=r"too many samples|slow"):
        samples(server)


def test_an_answer_beyond_the_limit_is_not_held(server):
    server.answers = [(200, b'"' + b"x" * (1 << 20) + b'"')]
    with pytest.raises(TooLargeError, match="the response is larger than 1 MiB"):
        samples(server, Prometheus(retries=0, max_answer_mib=1))


def read(server, names=("a", "b", "c"), **changes):
    reader = SampleReader(
        PrometheusClient(server.url, QUICK), Selection(selectors=("{}",), since_ms=0, until_ms=4_000)
    )
    for name, value in changes.items():
        setattr(reader, name, value)
    got = list(reader.read(list(names), 0, 4_000))
    asked = [parse_qs(body) for _, body, _ in server.asked]
    return [(each["query"][0].split('"')[1], each["time"][0]) for each in asked], got


def test_too_much_is_asked_for_in_halves_of_the_metrics_and_then_of_time(server):
    server.answers = [TOO_MANY, TOO_MANY]
    asked, got = read(server, ("a", "b"))

    assert asked == [("a|b", "3.999"), ("a", "3.999"), ("a", "1.999"), ("a", "3.999"), ("b", "3.999")]
    assert len(got) == 3


def test_small_answers_let_it_ask_for_more_metrics_at_once(server):
    asked, _ = read(server, "abcdefg", names_per_query=1)

    assert [names.count("|") + 1 for names, _ in asked] == [1, 2, 4]


def test_one_metric_that_is_too_much_in_a_second_is_an_error(server):
    server.answers = [TOO_MANY] * 3
    with pytest.raises(CollectorError, match=r"too many samples.*one metric in 1000 ms: select fewer nodes"):
        read(server, ("a",))


def test_secrets_come_from_files_and_are_sent(server, tmp_path):
    (tmp_path / "secret").write_text("open-sesame\n")
    file = str(tmp_path / "secret")
    samples(server, Prometheus(bearer_token_file=file, headers={"X-Scope-OrgID": "kafka"}))
    samples(server, Prometheus(username="me", password_file=file))

    told = [headers["Authorization"] for *_, headers in server.asked]
    assert told == ["Bearer open-sesame", "Basic bWU6b3Blbi1zZXNhbWU="]
    assert server.asked[0][2]["X-Scope-OrgID"] == "kafka"


@pytest.mark.parametrize("url", ["ftp://x", "prometheus:9090", "http://", "http://me:open-sesame@host:1/x"])
def test_a_url_is_without_a_password_and_one_is_not_repeated(url):
    with pytest.raises(ValueError, match="give an http or https URL without a password") as error:
        PrometheusClient(url, QUICK)

    assert "sesame" not in str(error.value)


def test_tls_is_checked_against_the_authority_that_is_named(server, tmp_path):
    context, cert = server_context(tmp_path), tmp_path / "cert.pem"
    server.socket = context.wrap_socket(server.socket, server_side=True)
    server.url = server.url.replace("http", "https")

    assert samples(server, Prometheus(ca_file=str(cert), retries=0))
    with pytest.raises(PrometheusError, match="certificate verify failed"):
        samples(server, Prometheus(retries=0))


@pytest.mark.parametrize("token", ["", "open sesame\nX: y", "open-s\u00e9same"])
def test_a_file_without_one_token_is_refused_and_not_quoted(server, tmp_path, token):
    (tmp_path / "token").write_text(token)
    with pytest.raises(ValueError, match="must contain one token") as error:
        PrometheusClient(server.url, Prometheus(bearer_token_file=str(tmp_path / "token")))

    assert "sesame" not in str(error.value)


def test_a_server_that_tells_no_types_is_read_without(server):
    server.answers = [(404, b"")]

    assert PrometheusClient(server.url, QUICK).types() == {}


def test_a_type_on_which_targets_differ_is_none(server):
    told = {"a": [{"type": "gauge"}, {"type": "counter"}], "b": [{"type": "gauge"}, {"type": "gauge"}]}
    server.answers = [(200, {"status": "success", "data": told})]

    assert PrometheusClient(server.url, QUICK).types() == {"b": "gauge"}


def pages(*series, **told):
    made = Pages(Prometheus(**told), "url")
    made.begin(0, 600_000)
    return made, [*made.add(series), *made.rest()]


def test_the_source_of_a_page_has_no_address():
    made = Pages(Prometheus(), "https://203.0.113.7:9090/prometheus")
    made.begin(0, 600_000)

    (line,) = [*made.add([PrometheusSeries(LABELS, [(1, "1")])]), *made.rest()]

    assert line.source == "https://prometheus:9090/prometheus"


def test_series_that_would_become_one_are_an_error_that_names_the_label():
    twice = [PrometheusSeries(LABELS | {"job": job}, [(1, "1")]) for job in ("kafka", "kafka-too")]
    with pytest.raises(SameSeriesError, match=r"b1: .* kafka_x, which differ in job \(kafka, kafka-too\)"):
        pages(*twice)

    assert len(pages(*twice, drop_labels=("instance",))[1]) == 1


@pytest.mark.parametrize(
    ("series", "told"),
    [
        (PrometheusSeries({"__name__": "kafka_x", "job": "k"}, [(1, "1")]), "without the label instance"),
        (
            PrometheusSeries(LABELS | {"__name__": "kafka.x"}, [(1, "1")]),
            "names that the text format does not allow",
        ),
        (PrometheusSeries(LABELS | {"a.b": "c"}, [(1, "1")]), "names that the text format does not allow"),
        (PrometheusSeries(LABELS, [], has_histograms=True), "native histograms"),
    ],
)
def test_what_cannot_be_published_is_told_with_the_first_such_series(series, told):
    made, lines = pages(series)

    assert lines == []
    [(why, first)] = made.skipped.items()
    assert told in why
    assert first.startswith(series.labels["__name__"])


def test_a_full_page_is_closed_and_the_next_one_has_the_next_number():
    many = [
        PrometheusSeries(LABELS | {"topic": f"{nth:06}" + "x" * 1_000}, [(1, "1")]) for nth in range(2_500)
    ]
    made, lines = pages(*many)

    assert [line.position.split("/")[:3] for line in lines] == [["b1", "backfill", "0-600000"]] * 3
    assert [line.position.split("/")[3].split("-")[0] for line in lines] == ["0", "1", "2"]
    assert all(len(line.value) < 1_100_000 for line in lines)
    assert b"".join(line.value for line in lines).count(b"\n") == made.samples == 2_500


def test_both_zeros_are_read_as_what_they_are():
    _, [page] = pages(PrometheusSeries(LABELS, [(1, "-0"), (2, "0")]))

    assert page.value == b"kafka_x -0.0 1\nkafka_x 0 2\n"
