"""What a page may take from the server, and what its address may say."""

import gc
import threading
import weakref
from contextlib import suppress

import pytest
from werkzeug.security import generate_password_hash

from answers.answer import Answer, Headline, Section, Sentences
from answers.data_quality import counts
from answers.gold.reader import SETTINGS, GoldReader, QueryBoundError, QueryBounds
from answers.gold.result_cache import ResultCache
from answers.listing import MOST_LISTED
from answers.matching import answered
from answers.questions import QUESTIONS
from serving.dashboard.app import MOST_EARLY, _stay, make
from serving.dashboard.app import made as page_made
from serving.dashboard.filters import filters_of
from serving.dashboard.render import EXPORT, Links, page
from serving.dashboard.request import DashboardRequest
from serving.dashboard.users import Users
from tests.answers import made_gold

QUESTION_OF = {question.name: question for question in QUESTIONS}
KINDS = ("csv", "parquet", "html", "md")
ALL_ROWS = "SELECT * FROM gold.broker_rtt ORDER BY window_start"


def called(app, output, values):
    """Call the callback of an output as the browser does; return the response."""
    client = app.server.test_client()
    known = client.get("/_dash-dependencies", headers={"Host": "localhost"}).get_json()
    (one,) = (of for of in known if output in of["output"].strip(".").split("..."))

    def sent(parts):
        return [part | {"value": values.get(f"{part['id']}.{part['property']}")} for part in parts]

    names = one["output"].strip(".").split("...")
    outputs = [dict(zip(("id", "property"), name.split("."), strict=True)) for name in names]
    body = {
        "output": one["output"],
        "outputs": outputs if one["output"].startswith("..") else outputs[0],
        "inputs": sent(one["inputs"]),
        "state": sent(one["state"]),
        "changedPropIds": ["url.search"],
    }
    return client.post("/_dash-update-component", json=body, headers={"Host": "localhost"})


def shown(app, query):
    """Return the responses with the verdict, and with the rest of the first page."""
    values = {"url.pathname": "/", "url.search": query}
    return [called(app, output, values) for output in ("answer.children", "fresh.children")]


def test_a_search_for_a_text_that_no_name_can_have_finds_nothing(gold):
    app = make(gold, frozenset({"localhost"}))

    found = called(app, "find.options", {"find.search_value": "\ud800", "url.search": "?client=\ud800"})

    assert (found.status_code, found.get_json()["response"]) == (200, {"find": {"options": []}})


BAD_QUERIES = [
    "?until=0001-01-01",
    "?until=9999-12-31T23:59:59&against=7d",
    "?until=1970-01-01&span=1d",
    "?until=3000w&against=7d",
    "?cluster=%00&client=%ED%A0%80&topic=%00&run=%00&incident=%00",
    "?follower=999999999&leader=999999999&broker=999999999",
]


@pytest.mark.parametrize("query", [*BAD_QUERIES, "?cluster=\ud800&client=\ud800&topic=\ud800&run=\ud800"])
def test_bad_parameters_get_a_page(gold, query):
    request = DashboardRequest(gold, filters_of(query))

    for question in QUESTIONS:
        assert page_made(question, request)
    for response in shown(make(gold, frozenset({"localhost"})), query):
        assert response.status_code == 200


@pytest.mark.parametrize("query", [*BAD_QUERIES, "?cluster=\xff"])
def test_bad_parameters_of_a_download_get_a_page(gold, query):
    client = make(gold, frozenset({"localhost"})).server.test_client()

    request = DashboardRequest(gold, filters_of(query.encode("latin-1").decode(errors="replace")))
    raw = {"QUERY_STRING": query[1:], "HTTP_HOST": "localhost"}  # bytes as Latin-1, as WSGI has them
    for question in QUESTIONS:
        names = [table.listing.name for table in answered(question, request.selection).tables]
        for name, status in [*((name, 200) for name in names[:1]), ("page", 404)]:
            page_ = client.get(f"{EXPORT}/{question.name}/{name}.html", environ_overrides=raw)
            assert page_.status_code == status, (question.name, name)


def test_a_result_with_too_many_rows_is_refused_and_one_with_as_many_is_whole_and_in_order(made):
    whole = GoldReader.of_warehouse(made).rows(ALL_ROWS)
    exact = GoldReader.of_warehouse(made, QueryBounds(rows=len(whole)))
    small = GoldReader.of_warehouse(made, QueryBounds(rows=len(whole) - 1))

    instants = [row["window_start"] for row in exact.rows(ALL_ROWS)]

    assert instants == sorted(row["window_start"] for row in whole)
    with pytest.raises(QueryBoundError, match="shorter span"):
        small.rows(ALL_ROWS)


def test_a_file_with_too_many_rows_is_refused(made, tmp_path):
    rows = len(GoldReader.of_warehouse(made).rows(ALL_ROWS))

    with pytest.raises(QueryBoundError):
        GoldReader.of_warehouse(made, QueryBounds(rows=rows - 1)).export(ALL_ROWS, tmp_path / "a.csv")
    GoldReader.of_warehouse(made, QueryBounds(rows=rows)).export(ALL_ROWS, tmp_path / "b.csv")

    assert len((tmp_path / "b.csv").read_text().splitlines()) == rows + 1


def test_a_query_that_needs_too_much_memory_is_refused(made, monkeypatch):
    monkeypatch.setitem(SETTINGS, "memory_limit", "20MB")
    gold = GoldReader.of_warehouse(made, QueryBounds())
    query = "SELECT len(list(range)) AS n FROM range(30000000)"

    with pytest.raises(QueryBoundError, match="20MB"):
        gold.rows(query)


def test_a_page_says_which_bound_it_exceeds_and_keeps_its_links(made):
    bounded = GoldReader.of_warehouse(made, QueryBounds())
    app = make(bounded, frozenset({"localhost"}))
    bounded._bounds = QueryBounds(rows=1)
    bounded._results = ResultCache(0)

    verdict, rest = shown(app, "?cluster=east")

    for response in (verdict, rest):
        assert response.status_code == 200
        assert "more than 1 rows: choose a shorter span" in response.text
    links = verdict.get_json()["response"]["nav"]["children"]
    assert "/throttles?cluster=east" in [link["props"]["href"] for link in links]


def test_a_download_that_exceeds_a_bound_is_no_file(made):
    bounded = GoldReader.of_warehouse(made, QueryBounds())
    client = make(bounded, frozenset({"localhost"})).server.test_client()
    address = f"{EXPORT}/slow-links/pair-table.csv?cluster=east"
    whole = client.get(address, headers={"Host": "localhost"})
    unknown = client.get(f"{EXPORT}/slow-links/no-table.csv", headers={"Host": "localhost"})
    bounded._bounds = QueryBounds(rows=1)
    bounded._results = ResultCache(0)

    refused = client.get(address, headers={"Host": "localhost"})

    assert [one.status_code for one in (whole, unknown, refused)] == [200, 404, 503]
    assert "choose a shorter span" in refused.text
    assert "Content-Disposition" not in refused.headers


@pytest.mark.parametrize(
    "path",
    [
        *("slow-links/pair-table.exe", "incidents/incidents.csv", "no-page/pair-table.csv"),
        "slow-links/pair-table.md",
        *(f"slow-links/{name}.{kind}" for name in ("x%0Ay", "%E2%82%AC", "x") for kind in KINDS),
    ],
)
def test_what_cannot_be_a_file_is_not_there(gold, path):
    client = make(gold, frozenset({"localhost"})).server.test_client()

    found = client.get(f"{EXPORT}/{path}?cluster=east", headers={"Host": "localhost"})

    assert (found.status_code, found.text) == (404, "There is no such table.")


def test_an_unknown_page_has_no_filters_and_a_filter_without_names_no_search(gold):
    app = make(gold, frozenset({"localhost"}))
    chosen = called(app, "filters.children", {"url.pathname": "/nowhere"})
    assert (chosen.status_code, chosen.get_json()["response"]["filters"]) == (200, {"children": []})

    span = {"type": "filter", "name": "span"}
    body = {
        "output": '{"name":["MATCH"],"type":"filter"}.options',
        "outputs": {"id": span, "property": "options"},
        "inputs": [{"id": span, "property": "search_value", "value": "x"}],
        "state": [{"id": span, "property": "id", "value": span}, {"id": "url", "property": "search"}],
        "changedPropIds": ['{"name":"span","type":"filter"}.search_value'],
    }
    typed = app.server.test_client().post("/_dash-update-component", json=body, headers={"Host": "localhost"})
    assert (typed.status_code, typed.get_json()["response"]) == (200, {})


def test_a_filter_stays_as_it_is_if_its_query_exceeds_a_bound_and_another_error_is_one():
    assert _stay(QueryBoundError("busy")) is None
    with pytest.raises(KeyError):
        _stay(KeyError("value"))


@pytest.mark.parametrize("text", [b"\xff\xff", b"!!!", b"YWRh", b"/////w==", b""])
def test_a_login_that_cannot_be_read_is_refused(gold, text):
    users = Users({"ada": generate_password_hash("secret")})
    client = make(gold, frozenset({"localhost"}), users=users).server.test_client()

    headers = {"Host": "localhost", "Authorization": f"Basic {text.decode('latin1')}"}
    assert client.get("/", headers=headers).status_code == 401


@pytest.mark.parametrize(("scheme", "status"), [("Digest", 401), ("Basic", 200)])
def test_only_basic_authentication_logs_in(gold, scheme, status):
    users = Users({"ada": generate_password_hash("secret")})
    client = make(gold, frozenset({"localhost"}), users=users).server.test_client()
    login = {"Digest": 'username="ada", password="secret"', "Basic": "YWRhOnNlY3JldA=="}[scheme]

    headers = {"Host": "localhost", "Authorization": f"{scheme} {login}"}
    assert client.get("/", headers=headers).status_code == status


def test_a_page_shows_as_many_rows_and_sentences_as_it_says():
    rows = [{"logger": f"l{nth}", "reason": "r", "lines": 1} for nth in range(MOST_LISTED + 1)]
    blocks = [counts.SKIPPED.listed(rows), Sentences([f"sentence {nth}." for nth in range(MOST_LISTED + 1)])]
    section = Section(name="s", title="t", blocks=blocks)
    answer = Answer(headline=Headline(sentence="s.", mood="calm"), make_sections=lambda: [section])

    text = made_gold.text_of(page(answer, Links("quality", lambda path, _changes: path)))

    assert (text.count('"l49"'), text.count('"l50"')) == (1, 0)
    assert (text.count("sentence 49."), text.count("sentence 50.")) == (1, 0)
    assert f"The first {MOST_LISTED} of {MOST_LISTED + 1} are listed" in text


def test_no_other_page_may_frame_a_page_or_guess_its_type(gold):
    client = make(gold, frozenset({"localhost"})).server.test_client()
    headers = client.get("/", headers={"Host": "localhost"}).headers

    policy = headers["Content-Security-Policy"].split("; ")
    assert {"default-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'"} <= {
        *policy
    }
    assert (headers["X-Content-Type-Options"], headers["Referrer-Policy"]) == ("nosniff", "no-referrer")


def test_a_span_never_begins_after_its_end(gold):
    """The address looks back from before the oldest window."""
    since, until = DashboardRequest(gold, filters_of("?cluster=east&until=2026-11-20")).span

    assert since <= until


def test_queries_wait_for_each_other_and_give_up(made):
    gold = GoldReader.of_warehouse(made, QueryBounds(at_once=1, wait_s=0.2))
    runs, may_end = threading.Event(), threading.Event()

    def run(_text):
        runs.set()
        may_end.wait(10)

    long = threading.Thread(target=gold._run, args=(gold.connection(), "SELECT 1", {}, run))
    long.start()
    runs.wait(10)
    with pytest.raises(QueryBoundError, match="busy"):
        gold.rows("SELECT 1 AS one")
    may_end.set()
    long.join()

    assert gold.rows("SELECT 1 AS one") == [{"one": 1}]


def test_threads_that_ask_for_the_same_rows_at_once_read_them_once(made, monkeypatch):
    gold, fetched = GoldReader.of_warehouse(made), GoldReader.fetched
    reads, may_end, found = [], threading.Event(), []

    def slow(self, query, used):
        reads.append(query)
        may_end.wait(10)
        return fetched(self, query, used)

    monkeypatch.setattr(GoldReader, "fetched", slow)
    asking = [threading.Thread(target=lambda: found.append(gold.rows(ALL_ROWS))) for _ in range(3)]
    for thread in asking:
        thread.start()
    may_end.set()
    for thread in asking:
        thread.join(10)

    assert len(reads) == 1
    assert found[0]
    assert found[1:] == found[:1] * 2


def test_rows_that_could_not_be_read_are_read_again(made, monkeypatch):
    gold = GoldReader.of_warehouse(made, QueryBounds(rows=0))
    with pytest.raises(QueryBoundError):
        gold.rows(ALL_ROWS)

    monkeypatch.setattr(gold, "_bounds", None)

    assert gold.rows(ALL_ROWS)


def test_rows_of_a_refused_query_do_not_stay_in_memory(made, monkeypatch):
    """They would wait for the collector of cycles, and many refused queries fill the memory until then."""
    gold, fetched, kept = GoldReader.of_warehouse(made), GoldReader.fetched, []

    class WatchedRows(list):
        """Rows that a weak reference can watch."""

    def refusing(self, query, used):
        rows = WatchedRows(fetched(self, query, used))
        kept.append(weakref.ref(rows))
        raise QueryBoundError

    monkeypatch.setattr(GoldReader, "fetched", refusing)
    gc.disable()
    try:
        with suppress(QueryBoundError):
            gold.rows(ALL_ROWS)
        assert kept[0]() is None
    finally:
        gc.enable()


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM gold.fetch_latency WHERE kind = $kind",
        "SELECT * FROM silver.requests WHERE kind = $kind",
    ],
)
def test_results_of_many_parameters_do_not_fill_the_memory(made, monkeypatch, query):
    """Each value of a parameter of an address is another query."""
    gold, results = GoldReader.of_warehouse(made, QueryBounds()), []

    class WatchedResult(list):
        """A result that a weak reference can watch."""

    def fetched(*_):
        rows = WatchedResult([{}] * 100_000)
        results.append(weakref.ref(rows))
        return rows

    monkeypatch.setattr(GoldReader, "fetched", fetched)
    for number in range(8):
        gold.rows(query, {"kind": str(number)})

    assert [result() is not None for result in results] == [False] * 6 + [True] * 2


def answering(begun):
    """Return a function that answers with a sentence alone, and notes that it has been asked."""

    def answered(*_):
        begun.set()
        return Answer(headline=Headline(sentence="Calm.", mood="calm"), make_sections=list)

    return answered


BROWSER = {"Host": "localhost", "Accept": "text/html,*/*;q=0.8"}
PROBE = {"Host": "localhost", "Accept": "*/*"}


@pytest.mark.parametrize(
    ("asked", "headers", "is_begun"),
    [
        ("/", BROWSER, True),
        ("/fetches?span=1h", BROWSER, True),
        ("/_dash-layout", BROWSER, False),
        ("/no-page", BROWSER, False),
        ("/", PROBE, False),
    ],
)
def test_a_page_begins_with_its_verdict_while_the_browser_loads_scripts(
    made, monkeypatch, asked, headers, is_begun
):
    app, begun = make(GoldReader.of_warehouse(made), frozenset({"localhost"})), threading.Event()
    monkeypatch.setattr("serving.dashboard.app.answered", answering(begun))

    app.server.test_client().get(asked, headers=headers)

    assert begun.wait(5 if is_begun else 0.5) == is_begun


def begun_threads():
    return [thread for thread in threading.enumerate() if thread.name.endswith("(begin)")]


def test_a_verdict_finds_what_was_read_while_the_browser_loaded_scripts(made, monkeypatch):
    app, read, fetched = make(GoldReader.of_warehouse(made), frozenset({"localhost"})), [], GoldReader.fetched
    monkeypatch.setattr(
        GoldReader, "fetched", lambda self, query, used: (read.append(query), fetched(self, query, used))[1]
    )

    app.server.test_client().get("/fetches", headers=BROWSER)
    for thread in begun_threads():
        thread.join(10)
    before = len(read)
    called(app, "answer.children", {"url.pathname": "/fetches", "url.search": ""})

    assert (before > 0, len(read)) == (True, before)


def test_few_verdicts_are_begun_at_once(made, monkeypatch):
    app, may_end = make(GoldReader.of_warehouse(made), frozenset({"localhost"})), threading.Event()

    def answered(*_):
        may_end.wait(10)
        return Answer(headline=Headline(sentence="Calm.", mood="calm"), make_sections=list)

    monkeypatch.setattr("serving.dashboard.app.answered", answered)
    client = app.server.test_client()
    for _ in range(5):
        client.get("/", headers=BROWSER)
    at_once = len(begun_threads())
    may_end.set()
    for thread in begun_threads():
        thread.join(10)
    may_end.clear()
    client.get("/", headers=BROWSER)
    again = len(begun_threads())
    may_end.set()

    assert (at_once, again) == (MOST_EARLY, 1)


def test_nothing_is_read_for_a_user_who_has_not_logged_in(made, monkeypatch):
    users = Users({"ada": generate_password_hash("secret")})
    app = make(GoldReader.of_warehouse(made), frozenset({"localhost"}), users=users)
    begun = threading.Event()
    monkeypatch.setattr("serving.dashboard.app.answered", answering(begun))

    refused = app.server.test_client().get("/", headers=BROWSER)

    assert refused.status_code == 401
    assert not begun.wait(0.5)
