"""Pages as a whole: unpacked up to a limit, with an instant, or refused with a reason."""

import gzip
import time

import pytest

from tests.transforms.parse.scrapes.pages import SCRAPED_US, record
from transforms.parse.record import Quarantined
from transforms.parse.scrapes import page
from transforms.parse.scrapes.page import Limits, ScrapePage, gunzip, instant_us, read_page

MIB = 1024 * 1024
NO_INSTANT = {"position": "broker-1/page/ab"}


@pytest.mark.parametrize(
    ("position", "at"),
    [
        ("broker-1/scrape/1795252768987716710", SCRAPED_US),
        ("broker-1/ab/12", None),
        ("broker-1/scrape/12", None),
        ("broker-1/scrape/1795252768987716710/x", None),
        ("broker-1/scrape/١٧٩٥٢٥٢٧٦٨٩٨٧٧١٦٧١٠", None),
        (None, None),
    ],
)
def test_a_position_contains_the_instant_of_the_scrape(position, at):
    assert page.scraped_at(position) == at


@pytest.mark.parametrize(
    ("text", "at"),
    [
        (b"up 1\n# scraped_at 2026-11-21T09:19:28.5+01:00\n", 1_795_249_168_500_000),
        (b"# scraped_at 2026-11-21T09:19:28Z\r\nup 1", 1_795_252_768_000_000),
        (b"# scraped_at \t2026-11-21T09:19:28 \n", 1_795_252_768_000_000),
        (b"# scraped_at 1795252768.25", 1_795_252_768_250_000),
        (b"# scraped_at yesterday", None),
        (b"# scraped_at 0001-01-01T00:00+23:59", None),
        (b"# scraped_at \xff", None),
        (b" # scraped_at 1795252768", None),
        (b"up 1", None),
    ],
)
def test_a_page_may_state_its_instant(text, at):
    assert page.stated_at(text) == at


@pytest.mark.parametrize(
    ("text", "unit_us", "at"),
    [
        ("1395066363000", 1000, 1_395_066_363_000_000),
        ("1520879607.789", 1_000_000, 1_520_879_607_789_000),
        ("1.520879607789e+09", 1_000_000, 1_520_879_607_789_000),
        ("-1.5", 1000, -1500),
        ("+7", 1000, 7000),
        (".5", 1000, 500),
        ("0e300", 1000, 0),
        ("1e-999", 1000, 0),
        ("-0.0001", 1000, -1),
        ("253402300799.9999999999", 1_000_000, None),
        ("253402300799.999999", 1_000_000, page.LAST_US),
        ("9999999999999", 1_000_000, None),
        ("-62135596800001", 1000, None),
        ("1e300", 1000, None),
        ("9" * 30, 1000, None),
        ("9" * 100_000, 1000, None),
        ("1_0", 1000, None),
        ("NaN", 1000, None),
        ("²", 1000, None),
        ("soon", 1000, None),
        ("", 1000, None),
    ],
)
def test_instants_are_exact_decimals_of_the_years_1_to_9999(text, unit_us, at):
    assert instant_us(text, unit_us) == at


def test_gzip_of_one_member_or_several_is_unpacked():
    assert gunzip(gzip.compress(b"up 1")) == b"up 1"
    assert (
        gunzip(gzip.compress(b"up 1\n") + gzip.compress(b"") + gzip.compress(b"down 2\n"))
        == b"up 1\ndown 2\n"
    )
    assert gunzip(gzip.compress(bytes(3 * MIB), 0)) == bytes(3 * MIB)


@pytest.mark.parametrize(
    "value",
    [
        b"up 1",
        gzip.compress(b"up 1")[:-1],
        gzip.compress(b"up 1") + b"x",
        gzip.compress(b"up 1")[:12],
        b"\x1f",
    ],
    ids=["plain", "cut_at_its_end", "with_more", "cut_in_its_head", "one_byte"],
)
def test_bytes_that_are_not_a_whole_gzip_are_bad(value):
    assert gunzip(value) is None
    assert read_page(record(value, content_encoding="gzip"), Limits()).reason == "bad_gzip"


def test_a_gzip_bomb_is_unpacked_only_to_the_limit():
    bomb = gzip.compress(bytes(64 * MIB))

    assert len(gunzip(bomb, MIB)) == MIB + 1
    assert (
        read_page(record(bomb, content_encoding="gzip"), Limits(scrape_bytes=MIB)).reason == "scrape_too_big"
    )


def test_a_gzip_of_countless_empty_members_is_refused_quickly():
    value = gzip.compress(b"", mtime=0) * 500_000
    began = time.process_time()

    assert gunzip(value) is None
    assert time.process_time() - began < 1


@pytest.mark.parametrize(
    ("text", "content_type", "expected"),
    [
        (b"up 1\n# EOF\n", None, True),
        (b"# EOF", None, True),
        (b"up 1 # EOF", None, False),
        (b"up 1\n", None, False),
        (b"up 1\n", b"application/openmetrics-text; version=1.0.0", True),
        (b"", None, False),
    ],
)
def test_a_page_is_openmetrics_by_its_type_or_its_end(text, content_type, expected):
    assert page.is_openmetrics(text, content_type) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"a 1\n# EOF\n", False),
        (b"# EOF", False),
        (b"# EOF\n# EOF", True),
        (b"a 1\n# EOF\nb 1\n# EOF\n", True),
        (b"a 1 # EOF\n# EOF\n", False),
    ],
)
def test_an_eof_line_within_a_page_is_found(text, expected):
    assert page.has_end_within(text) == expected


@pytest.mark.parametrize(("text", "n"), [(b"a 1\n\nb 2\n", 3), (b"a 1\nb 2", 2), (b"\n", 1), (b"", 0)])
def test_a_line_break_at_the_end_starts_no_line(text, n):
    assert page.line_count(text) == n


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"value": None}, "no_value"),
        ({"chunk": "3/?"}, "oversized"),
        ({"content_encoding": "br"}, "unknown_encoding"),
        ({"content_encoding": "gzip"}, "bad_gzip"),
        ({"cluster": None}, "no_cluster"),
        ({"value": b"a 1\n" * 26}, "scrape_too_big"),
        ({"value": b"a 1\n" * 6}, "too_many_samples"),
        ({"value": b"\n" * 21}, "too_many_samples"),
        ({"value": b"a 1\n# EOF\nb 2\n# EOF\n"}, "torn_scrape"),
        ({"headers": [("content-type", b"application/openmetrics-text")]}, "torn_scrape"),
        (NO_INSTANT, "no_instant"),
        ({"position": None}, "no_instant"),
    ],
)
def test_an_unreadable_page_has_a_reason(fields, reason):
    limits = Limits(scrape_bytes=100, scrape_samples=5)
    outcome = read_page(record(**({"value": b"up 1\n"} | fields)), limits)

    assert isinstance(outcome, Quarantined)
    assert outcome.reason == reason


def test_the_first_check_that_fails_gives_the_reason():
    """All later checks would fail too."""
    bad = {"value": b"a 1\n" * 26, "position": None}

    assert read_page(record(None, chunk="1/2"), Limits()).reason == "no_value"
    assert read_page(record(b"", chunk="1/2", content_encoding="br"), Limits()).reason == "oversized"
    assert read_page(record(**bad, cluster=None), Limits(scrape_bytes=1)).reason == "no_cluster"
    assert read_page(record(**bad), Limits(scrape_bytes=1, scrape_samples=1)).reason == "scrape_too_big"
    assert read_page(record(**bad), Limits(scrape_samples=1)).reason == "too_many_samples"


def test_comments_are_no_samples_and_five_samples_are_not_too_many():
    text = b"# a\na 1\n" * 5

    assert read_page(record(text), Limits(scrape_samples=5)) == ScrapePage(
        text, is_openmetrics=False, scraped_at=SCRAPED_US
    )


def test_a_page_of_a_back_fill_needs_no_instant():
    text = read_page(record(b"up 1 5\n", position="broker-1/backfill/1-2/0-ab"), Limits())

    assert text == ScrapePage(b"up 1 5\n", is_openmetrics=False, scraped_at=None)
    assert read_page(record(b"# scraped_at 5\n", **NO_INSTANT), Limits()).scraped_at == 5_000_000
