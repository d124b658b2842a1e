"""Rows of scrapes: samples as columns, each series once, balanced counts; the cache changes no result."""

import gzip
import math
import struct
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.transforms.parse import scrape_pages
from tests.transforms.parse.scrapes.pages import POSITION, SCRAPED_US, record, samples
from transforms.parse.record import PARSER_VERSION, Kept, Quarantined, node_number
from transforms.parse.scrapes.memory import SeenSeries, SeriesMemory
from transforms.parse.scrapes.page import Limits
from transforms.parse.scrapes.parser import ScrapeParser

DAY = SCRAPED_US // 86_400_000_000
BACK_FILLED = "broker-1/backfill/1-2/0-ab"
MEAN = 'kafka_network_RequestMetrics_Mean{name="TotalTimeMs",request="FetchFollower"}'
HASHES = [
    # Columns: cluster, node, series, and Spark's xxhash64(cluster, node, series).
    ("prod", "broker-1", "up", -3633202160460535196),
    ("prod", None, "up", -3180681634795239309),
    ("prod", "broker-1", MEAN, 7367622862008617427),
    ("prod", "broker-2", MEAN, -5230050303903161618),
    ("é", "brøker-1", '{"my.näme",a="☃"}', -6707537015921561146),
    ("c", "n", "a" * 31, 482023677005425971),
    ("c", "n", "a" * 32, 5110797495848866111),
    ("c", "n", "a" * 33, 3280317484350686992),
    ("c", "n", 'a{b="' + "x" * 200 + '"}', -6674034346415950253),
    ("a" * 70, "b" * 40, "up", 6771003200902130904),
    ("prod", "broker-1", 'a{b="\\\\\\"\\n"}', 5045038809953175026),
]


def parse(value, parser=None, **fields):
    return (parser or ScrapeParser()).parse(record(value, **fields))


def table(outcome, name):
    return outcome.rows[f"metric_{name}"]


def values(outcome):
    return [value for _, _, value in samples(outcome)]


def bits(outcome):
    return [(series_id, at, struct.pack(">d", value)) for series_id, at, value in samples(outcome)]


@pytest.mark.parametrize(("cluster", "node", "series", "series_id"), HASHES)
def test_a_series_id_is_the_hash_that_spark_computes(cluster, node, series, series_id):
    outcome = parse(f"{series} 1\n".encode(), cluster=cluster, node=node)

    assert samples(outcome) == [(series_id, SCRAPED_US, 1.0)]
    assert table(outcome, "series")[0].series_id == series_id


def test_only_the_bad_line_of_a_page_is_quarantined():
    outcome = parse(b"# TYPE up gauge\nup 1\nup{ 2\n\ndown -Inf\n")

    assert [row[1:] for row in samples(outcome)] == [(SCRAPED_US, 1.0), (SCRAPED_US, -math.inf)]
    (bad,) = outcome.rejected
    assert bad == (f"{POSITION}#3", b"up{ 2", "bad_labels", "starts with: up{ 2")
    (scrape,) = table(outcome, "scrapes")
    assert (scrape.lines, scrape.samples, scrape.comments, scrape.rejected) == (5, 2, 2, 1)


def test_a_scrape_is_a_row_with_its_origin():
    place = {"source": "http://x/metrics", "topic": "t", "partition": 3, "offset": 4}

    (scrape,) = table(parse(b"up 1\n# EOF\n", **place), "scrapes")

    assert scrape == (
        *("prod", 1, SCRAPED_US, DAY, "openmetrics", 11, 2, 1, 1, 0),
        *("broker-1", "http://x/metrics", POSITION, "t", 3, 4, PARSER_VERSION),
    )


def test_a_series_is_a_row_with_its_labels_and_type():
    types = b'# TYPE a gauge\n# TYPE r counter\n# TYPE "m.n" info\n'
    page = types + b'a{x="\\n"} 1\nr_total 2\n{"m.n"} 3\nb_sum 4\na{x="\\n"} 5\n'

    rows = table(parse(page), "series")

    assert [row[2:] for row in rows] == [
        (name, labels, "broker-1", 1, type_, SCRAPED_US, PARSER_VERSION)
        for name, labels, type_ in [
            ("a", [("x", "\n")], "gauge"),
            ("r_total", [], "counter"),
            ("m.n", [], "info"),
            ("b_sum", [], None),
        ]
    ]
    assert all(row.cluster == "prod" for row in rows)


def test_the_type_of_a_name_precedes_that_of_its_family_and_the_last_of_two_counts():
    page = b"# TYPE a counter\n# TYPE a_total gauge\n# TYPE b counter\n# TYPE b gauge\na_total 1\nb 2\n"

    assert [row.type for row in table(parse(page), "series")] == ["gauge", "gauge"]


def test_labels_in_any_order_are_the_same_series():
    outcome = parse(b'a{x="1",y="2"} 1\na{y="2",x="1",} 2\na { "y"="2", x="1" } 3 5\na{y="2",x="1"}4\n')

    assert len({series_id for series_id, _, _ in samples(outcome)}) == len(table(outcome, "series")) == 1
    assert values(outcome) == [1, 2, 3, 4]


def test_values_are_kept_bit_for_bit():
    texts = [
        "NaN",
        "-NaN",
        "+Inf",
        "-Inf",
        "-0",
        "-0.0",
        "5e-324",
        "1.7976931348623157e308",
        "0.1",
        "1e400",
        "1.",
    ]

    outcome = parse("".join(f"a {text}\n" for text in texts).encode())

    expected = [
        math.nan,
        math.nan,
        math.inf,
        -math.inf,
        -0.0,
        -0.0,
        5e-324,
        1.7976931348623157e308,
        0.1,
        math.inf,
        1,
    ]
    assert struct.pack(">11d", *values(outcome)) == struct.pack(">11d", *expected)
    alone = [struct.pack(">d", values(parse(f"a {text}\n".encode()))[0]) for text in texts]
    assert b"".join(alone) == struct.pack(">11d", *expected)


def test_samples_with_their_own_instants_stay_in_order():
    outcome = parse(b'a 1\na{x="1"} 2 1395066363000\na 3 -1\na 4\n')

    assert [row[1:] for row in samples(outcome)] == [
        (SCRAPED_US, 1),
        (1_395_066_363_000_000, 2),
        (-1_000, 3),
        (SCRAPED_US, 4),
    ]
    assert {row.first_at for row in table(outcome, "series")} == {-1_000, 1_395_066_363_000_000}


def test_a_back_filled_page_has_the_instant_of_its_newest_sample():
    outcome = parse(b"a 1 5000\na 2 7000\na 3 6000\nb 4\n", position=BACK_FILLED)

    (scrape,) = table(outcome, "scrapes")
    assert (scrape.logged_at, scrape.logged_date, scrape.samples, scrape.rejected) == (7_000_000, 0, 3, 1)
    assert [row.first_at for row in table(outcome, "series")] == [5_000_000]
    assert [line.reason for line in outcome.rejected] == ["no_instant"]


def test_a_back_filled_page_without_samples_has_the_instant_of_its_record():
    outcome = parse(b"# nothing\n", position=BACK_FILLED, timestamp=12)

    assert table(outcome, "scrapes")[0].logged_at == 12
    assert table(outcome, "samples") == []


def test_only_the_bad_lines_of_a_page_that_is_not_utf_8_are_rejected():
    page = b'a 1\n# c\xff 1\nb\xff 2\nc{d="\xc3\xa9"} 3\n\xff\n# TYPE a c\xff\n  #\xff\n# \xc3\xa9\n'

    outcome = parse(page)

    assert values(outcome) == [1, 3]
    assert {line.reason for line in outcome.rejected} == {"not_utf8"}
    assert [line.position.rpartition("#")[2] for line in outcome.rejected] == ["2", "3", "5", "6", "7"]
    assert [line.value for line in outcome.rejected] == [page.split(b"\n")[n] for n in (1, 2, 4, 5, 6)]


def test_a_series_has_no_row_before_its_first_readable_sample():
    parser = ScrapeParser()

    assert table(parse(b"a soon\nb 1\n", parser), "series")[0].name == "b"
    assert [row.name for row in table(parse(b"a 1\nb 1\n", parser), "series")] == ["a"]


@pytest.mark.parametrize(
    "text", [b"", b"\n", b"\n\n", b" ", b"a", b"a 1", b"# EOF", b"\r\n", b"a 1\r\n \r\n"]
)
def test_every_line_of_a_page_is_counted_once(text):
    outcome = parse(text)
    (scrape,) = table(outcome, "scrapes")

    assert scrape.lines == scrape.samples + scrape.comments + scrape.rejected
    assert scrape.rejected == len(outcome.rejected)


def test_a_gzip_page_gives_the_same_rows():
    assert bits(parse(gzip.compress(b"a 1\n"), content_encoding="gzip")) == bits(parse(b"a 1\n"))


def test_the_next_page_repeats_no_series_in_any_order():
    parser, first = ScrapeParser(), b'a 1\nb{x="1"} 2\nc 3\n'

    assert len(table(parse(first, parser), "series")) == 3
    for page, new in [
        (first, []),
        (b'c 3\na 1\nb{x="1"} 2\n', []),
        (b'c 3\nd 4\na 1\nb{x="1"} 2\n', ["d"]),
        (b"d 4\na 1\n", []),
        (b'b{x="1"} 5\nc 6 7\na 1 8\n', []),
        (first, []),
    ]:
        outcome = parse(page, parser)
        assert [row.name for row in table(outcome, "series")] == new
        assert bits(outcome) == bits(parse(page))


def test_nodes_clusters_and_formats_have_separate_cache_entries():
    parser = ScrapeParser()
    places = [{}, {"node": "broker-2"}, {"cluster": "other"}, {"node": None}]
    ids = [samples(parse(b"a 1\n", parser, **place))[0][0] for place in places]

    assert len(set(ids)) == 4
    assert [samples(parse(b"a 1\n", parser, **place))[0][0] for place in places] == ids
    assert parse(b'a{x="1",} 1\n', parser).rejected == []
    assert [line.reason for line in parse(b'a{x="1",} 1\n# EOF\n', parser).rejected] == ["bad_sample"]


def test_the_cache_stays_within_its_limit_and_evicts_the_oldest_first():
    memory = SeriesMemory(300)
    keys = [("c", node, False) for node in "xyz"]
    for key in keys:
        memory.put(key, SeenSeries(heads=b"a" * 120))

    assert [len(memory.get(key).heads) for key in keys] == [0, 120, 120]
    assert memory.nbytes == 240
    memory.put(keys[1], SeenSeries(heads=b"b" * 150))
    memory.put(keys[0], SeenSeries(heads=b"a" * 120))
    assert [len(memory.get(key).heads) for key in keys] == [120, 150, 0]
    memory.put(keys[0], SeenSeries(heads=b"a" * 301))
    assert memory.nbytes == 0


def test_the_value_of_an_exemplar_is_not_that_of_the_sample():
    assert values(parse(b'a 0 # {x="y"} 1\na{b="c"} 0 # {x="y"} 1 5\n# EOF\n')) == [0, 0]


def test_a_parser_without_a_cache_gives_the_same_rows():
    forgetful, page = ScrapeParser(memory_bytes=0), b'a{x="1"} 1\nb 2\n'

    assert [len(table(parse(page, forgetful), "series")) for _ in range(3)] == [2, 2, 2]


def test_changing_heads_do_not_fill_the_cache():
    parser = ScrapeParser()
    for nth in range(60):
        parse("".join(f'a{{x="{nth}-{n}-{"x" * 1000}"}} 1\n' for n in range(100)).encode(), parser)

    assert parser._memory.nbytes < 3 * 1024 * 1024


@pytest.mark.parametrize(
    ("node", "number"),
    [
        *[("broker-1", 1), ("12", 12), ("broker-0012", 12), ("a1b", None), ("", None), (None, None)],
        *[("b-2147483647", 2147483647), ("b-2147483648", None), ("b-" + "9" * 5_000, None), ("b-²", None)],
    ],
)
def test_a_broker_is_the_number_at_the_end_of_its_node(node, number):
    assert node_number(node) == number


def made(seed):
    return scrape_pages.page(Random(seed))[0]


@given(st.lists(st.integers(0, 400), min_size=2, max_size=6))
@settings(deadline=None, max_examples=200)
def test_earlier_pages_do_not_change_the_result_of_a_page(seeds):
    """Samples, counts and rejected lines of each page are equal; the series of all pages are equal."""
    filled, found, alone = ScrapeParser(), {}, {}
    for seed in seeds:
        with_memory, without = parse(made(seed), filled), parse(made(seed))
        assert type(with_memory) is type(without)
        if isinstance(without, Quarantined):
            assert with_memory == without
            continue
        assert bits(with_memory) == bits(without)
        assert with_memory.rejected == without.rejected
        assert table(with_memory, "scrapes") == table(without, "scrapes")
        page_format = table(without, "scrapes")[0].format
        new = {(page_format, row.series_id): row[:4] for row in table(with_memory, "series")}
        assert len(new) == len(table(with_memory, "series"))
        assert not new.keys() & found.keys()
        found |= new
        alone |= {(page_format, row.series_id): row[:4] for row in table(without, "series")}
        assert found == alone


PAGE = rb"""a 1
a{x="1"} 2
a{x="1",} 2
b NaN
b +Inf
a 1 5
c{y="2",x="1"} 3
a{ 1
a soon
# TYPE a gauge
a{x="1"} 2 # {t="1"} 5
 # x
a  1
a{} 1
a 1_0
"""
LINES = st.sampled_from([*PAGE.split(b"\n"), b"\r", b"a\xff 1"])


@given(st.lists(st.lists(LINES, max_size=8), max_size=6), st.booleans(), st.booleans())
@settings(deadline=None, max_examples=300)
def test_added_removed_and_moved_lines_are_parsed_as_with_an_empty_cache(pages, is_openmetrics, is_back_fill):
    filled = ScrapeParser()
    place = {"position": BACK_FILLED, "timestamp": 3} if is_back_fill else {}
    for lines in pages:
        page = b"\n".join([*lines, b"# EOF" if is_openmetrics else b""])
        with_memory, without = parse(page, filled, **place), parse(page, **place)
        assert bits(with_memory) == bits(without)
        assert with_memory.rejected == without.rejected
        assert table(with_memory, "scrapes") == table(without, "scrapes")
        sampled = {series_id for series_id, _, _ in samples(without)}
        assert {row.series_id for row in table(without, "series")} == sampled


@given(
    st.one_of(
        st.binary(max_size=200),
        st.lists(st.sampled_from(scrape_pages.JUNK), max_size=30).map(lambda parts: "".join(parts).encode()),
        st.tuples(st.integers(0, 10_000).map(made), st.binary(max_size=6), st.integers(0, 300)).map(
            lambda found: found[0][: found[2]] + found[1] + found[0][found[2] :]
        ),
    ),
    st.sampled_from([None, None, "gzip", "br"]),
    st.sampled_from([POSITION, BACK_FILLED, None, "x"]),
)
@settings(deadline=None, max_examples=500)
def test_no_bytes_make_the_parser_raise(value, encoding, position):
    outcome = parse(value, content_encoding=encoding, position=position, node="broker-\ud800")

    assert isinstance(outcome, Kept | Quarantined)
    if isinstance(outcome, Kept):
        (scrape,) = table(outcome, "scrapes")
        assert scrape.lines == scrape.samples + scrape.comments + scrape.rejected
        assert scrape.samples == len(samples(outcome))
        assert all(block.series_id.dtype == np.int64 for block in table(outcome, "samples"))


def test_limits_apply_to_cached_heads():
    parser = ScrapeParser(Limits(sample_labels=1, label_chars=5))

    outcome = parse(b'a{b="1",c="2"} 1\nabcdef 2\nabcde 3\na{b="123456"} 4\n', parser)

    assert values(outcome) == [3]
    assert [line.reason for line in outcome.rejected] == [
        "too_many_labels",
        "label_too_long",
        "label_too_long",
    ]
