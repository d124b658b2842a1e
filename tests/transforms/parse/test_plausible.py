"""Instants that cannot be true: the line goes to quarantine, and its neighbours stay."""

from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest

from collectors.perf_test.run import document
from conf.settings import Ingest, Settings
from engine.ingest.batches import parser_options
from engine.ingest.task.parsers import ParserOptions, parsers_of
from tests.transforms.parse.change_lines import LEADER
from tests.transforms.parse.perf_lines import AT, PRINTED
from tests.transforms.parse.records import CLIENT_LINES, COMPLETED, record
from transforms.parse.record import Kept, Quarantined
from transforms.parse.scrapes.parser import ScrapeParser

LINE_AT = datetime(2026, 11, 21, 9, 19, 28, 987716, tzinfo=UTC)
"""The instant of `COMPLETED`."""

STARTED = "2026-11-21T09:00:00Z"


def sent(value, at, **fields):
    """Return the record of a line with the timestamp of its Kafka record."""
    return record(value, timestamp=None if at is None else int(at.timestamp()) * 1_000_000, **fields)


def parsed(record, kind="request-log", **options):
    return parsers_of(ParserOptions(**options), "test")[kind](record)


@pytest.mark.parametrize(
    ("ahead", "reason"),
    [
        (timedelta(minutes=59), None),
        (timedelta(minutes=61), "from_the_future"),
        (timedelta(days=365 * 10), "from_the_future"),
        (timedelta(days=365 * 73), None),  # the timestamp of the record itself cannot be true
        (-timedelta(days=365 * 10), None),  # a back-fill: the timestamp is the time of the back-fill
    ],
)
def test_a_line_more_than_an_hour_ahead_of_its_record_is_from_the_future(ahead, reason):
    outcome = parsed(sent(COMPLETED, LINE_AT - ahead))

    assert getattr(outcome, "reason", None) == reason
    assert isinstance(outcome, Quarantined if reason else Kept)


def test_the_detail_has_both_instants():
    outcome = parsed(sent(COMPLETED, LINE_AT - timedelta(days=2)))

    assert outcome.detail == "2026-11-21T09:19:28Z, but sent at 2026-11-19T09:19:28Z"


def test_a_line_of_a_raw_file_has_no_record_to_be_ahead_of():
    assert isinstance(parsed(record(COMPLETED.replace(b"2026-", b"2099-", 1))), Kept)


@pytest.mark.parametrize(("year", "reason"), [(b"1970", "too_old"), (b"2009", "too_old"), (b"2010", None)])
def test_a_line_from_before_kafka_is_too_old_also_in_a_raw_file(year, reason):
    outcome = parsed(record(COMPLETED.replace(b"2026-", year + b"-", 1)))

    assert getattr(outcome, "reason", None) == reason


KINDS = {
    "request-log": COMPLETED,
    "client-log": next(line for line in CLIENT_LINES if b" with header RequestHeader(" in line),
    "state-change": LEADER,
    "perf-test": AT + next(line for line in PRINTED if b" records sent, " in line),
    "cluster": b'{"polled_at_ns": 1795252768987716710, "brokers": {}}',
    "metrics": b"# scraped_at 2026-11-21T09:19:28.987Z\nup 1\n",
}


@pytest.mark.parametrize(("kind", "value"), KINDS.items(), ids=KINDS)
def test_every_kind_of_telemetry_is_checked(kind, value):
    of_run = {"headers": [("run", b"r")]} if kind == "perf-test" else {}
    row = next(iter(parsed(record(value, **of_run), kind).rows.values()))[0]
    at = datetime.fromtimestamp(row.logged_at // 1_000_000, UTC)

    assert isinstance(parsed(sent(value, at, **of_run), kind), Kept)
    assert parsed(sent(value, at - timedelta(hours=2), **of_run), kind).reason == "from_the_future"


@pytest.mark.parametrize("stamp", [b"", AT])
@pytest.mark.parametrize("name", ["started_at", "ended_at"])
@pytest.mark.parametrize(
    ("year", "reason"), [("2099", "from_the_future"), ("1999", "too_old"), ("2025", None)]
)
def test_a_run_is_judged_by_its_start_and_end_too(stamp, name, year, reason):
    """Gold gives a client's requests to the run from its start to its end."""
    value = stamp + document({"run": "r", "started_at": STARTED, name: f"{year}-11-21T00:00:00Z"})
    outcome = parsed(sent(value, LINE_AT), "perf-test")

    assert getattr(outcome, "reason", None) == reason


def test_a_page_is_judged_by_its_newest_sample_too():
    page = b"# scraped_at 2026-11-21T09:19:28Z\nup 1\ndown 1 %d\n"
    hours_later = [int((LINE_AT + timedelta(hours=hours)).timestamp() * 1_000) for hours in (0, 2)]
    reasons = [getattr(parsed(sent(page % at, LINE_AT), "metrics"), "reason", None) for at in hours_later]

    assert reasons == [None, "from_the_future"]


def test_the_series_of_a_page_from_the_future_are_new_in_the_next_page():
    """Otherwise the samples of the next page would have no series in the tables."""
    parser = ScrapeParser(ahead_us=3_600_000_000)
    page = b"# scraped_at 2026-11-21T09:19:28Z\nup 1\n"

    assert isinstance(parser.parse(sent(page, LINE_AT - timedelta(days=1))), Quarantined)
    assert len(parser.parse(sent(page, LINE_AT)).rows["metric_series"]) == 1


@pytest.mark.parametrize(("max_ahead_s", "outcome"), [(7_201, Kept), (7_199, Quarantined)])
def test_the_limit_is_a_setting(max_ahead_s, outcome):
    options = parser_options(Settings(ingest=Ingest(max_ahead_s=max_ahead_s)))
    late = sent(COMPLETED, (LINE_AT - timedelta(hours=2)).replace(microsecond=0))

    assert isinstance(parsers_of(options, "test")["request-log"](late), outcome)


CLOCKS = {
    "summer time ends: a local clock an hour behind": timedelta(hours=-1),
    "summer time begins: a local clock 59 minutes ahead": timedelta(minutes=59),
    "a step back of ten minutes": timedelta(minutes=-10),
    "a broker that boots with a clock of yesterday": timedelta(days=-1),
    "NTP sets a clock that was two hours ahead": timedelta(hours=2),
    "a collector host two hours behind": timedelta(hours=2),
}


@pytest.mark.parametrize("step", CLOCKS.values(), ids=CLOCKS)
def test_no_step_of_a_clock_loses_or_doubles_a_line(step):
    """Each line is kept or quarantined once, and a duration is that of the broker's monotonic clock."""
    outcomes = []
    for number in range(20):
        at = LINE_AT + timedelta(seconds=number)
        logged = at + (step if number >= 10 else timedelta())
        stamp = logged.strftime("%Y-%m-%dT%H:%M:%S.%f000Z").encode()
        line = COMPLETED.replace(COMPLETED.split(b" ")[0], stamp, 1)
        outcomes.append(parsed(sent(line, at, position=f"p/{number}")))

    kept = [outcome.rows["requests"][0] for outcome in outcomes if isinstance(outcome, Kept)]
    words = Counter(getattr(outcome, "reason", "kept") for outcome in outcomes)
    assert len({row.position for row in kept}) == len(kept)
    expected = {"kept": 10, "from_the_future": 10} if step > timedelta(hours=1) else {"kept": 20}
    assert words == expected
    assert len({row.total_ms for row in kept}) == 1
