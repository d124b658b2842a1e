"""The mean of leader_local over a span: by sums, and compared with the request log."""

import pyarrow as pa
import pytest

from answers.fetches.leader_local_means import means
from schemas.gold.leader_local_mean import LEADER_LOCAL_MEAN, LEADER_LOCAL_MEAN_SUMMARY
from schemas.silver.metrics import METRIC_SAMPLES, METRIC_SERIES
from schemas.silver.requests import REQUESTS
from tests.answers.cases import Cases
from tests.answers.declared import assert_declared
from tests.answers.selected import selected
from tests.transforms.gold.mean_rows import (
    LONG_AGO,
    aged,
    apart_in_between,
    few_requests,
    gold_of,
    logged_between_scrapes,
    no_mean,
    produce,
    silver,
)
from tests.transforms.gold.metric_rows import TimedBroker


def built(silver):
    return {LEADER_LOCAL_MEAN: gold_of(silver)}


CASES = Cases(built, means)


def summed(rows):
    return means(selected({LEADER_LOCAL_MEAN: rows}))


def test_rows_are_the_declared_ones():
    assert_declared(summed(gold_of(logged_between_scrapes())), LEADER_LOCAL_MEAN_SUMMARY)


def test_nothing_in_gives_nothing_out():
    nothing = {table: [] for table in (METRIC_SAMPLES, METRIC_SERIES, REQUESTS)}

    assert summed(gold_of(nothing)) == []


@CASES.test
def test_few_requests_count_in_the_span():
    rows = yield few_requests()

    assert [(row["n"], row["leader_local_mean_ms"]) for row in rows] == [(18, 5.0)]


@CASES.test
def test_rules_that_drop_mean_leave_a_count_and_the_reason():
    rows = yield no_mean()

    assert [(row["n"], row["reason"]) for row in rows] == [(40, "no_mean")]


@CASES.test
def test_doubt_of_a_span_is_that_of_its_two_ends():
    (row,) = yield apart_in_between()

    assert (row["doubt_ms"], row["reason"], row["leader_local_mean_ms"]) == (0.0, None, 5.0)


@CASES.test
def test_request_log_is_compared_between_the_very_scrapes():
    (row,) = yield logged_between_scrapes()

    assert row["difference_ms"] == pytest.approx(-0.05)
    assert row["is_within"] is True


def differing(total_ms):
    broker = aged()
    broker.serve(10, total_ms=50)
    broker.scrape(13)
    return silver(broker, requests=[produce(4 + nth / 2, total_ms=total_ms) for nth in range(10)])


CASES.silver |= {"near": differing(50.9), "far": differing(51.1)}


def test_difference_beyond_the_tolerance_is_shown():
    (near,), (far,) = CASES.answer("near"), CASES.answer("far")

    assert (near["is_within"], far["is_within"]) == (True, False)


@CASES.test
def test_log_that_is_not_whole_is_not_compared():
    broker = aged()
    broker.serve(20, total_ms=5)
    broker.scrape(13)
    log = [produce(4 + nth / 4, total_ms=5.0) for nth in range(18)]

    (row,) = yield silver(broker, requests=log)

    assert (row["log_n"], row["difference_ms"], row["is_within"]) == (18, None, None)


def logged(requests):
    """Return 20 requests in metrics, of which the log has some."""
    broker = aged()
    broker.serve(20, total_ms=5)
    broker.scrape(13)
    return silver(broker, requests=[produce(4 + nth / 4, total_ms=5.0) for nth in range(requests)])


CASES.silver |= {f"{n} of 20": logged(n) for n in (15, 16, 18, 19)}


@pytest.mark.parametrize(
    ("n", "log_n", "difference_ms"), [(15, None, None), (16, 16, None), (18, 18, None), (19, 19, 0.0)]
)
def test_log_covers_a_window_from_80_percent_on_and_is_compared_from_95_percent_on(n, log_n, difference_ms):
    [row] = CASES.answer(f"{n} of 20")

    assert (row["log_n"], row["difference_ms"]) == (log_n, difference_ms)


@CASES.test
def test_log_that_begins_later_is_compared_over_what_it_holds():
    broker = aged()
    broker.serve(20, total_ms=500)
    broker.scrape(13)
    broker.serve(20, total_ms=5)
    broker.scrape(23)
    log = [produce(12.9, total_ms=500.0), *(produce(13.2 + nth / 4, total_ms=5.1) for nth in range(20))]

    (row,) = yield silver(broker, requests=log)

    assert (row["n"], row["leader_local_mean_ms"], row["log_n"]) == (40, 252.5, 20)
    assert (row["covered_n"], row["covered_leader_local_mean_ms"]) == (20, 5.0)
    assert (round(row["difference_ms"], 6), row["is_within"]) == (-0.1, True)


@CASES.test
def test_span_is_summed_not_averaged():
    broker = aged()
    broker.serve(10, total_ms=100)
    broker.scrape(13)
    broker.serve(90, total_ms=5)
    broker.scrape(23)

    (row,) = yield silver(broker)

    assert (row["n"], row["leader_local_mean_ms"], row["intervals"]) == (100, 14.5, 2)


def test_window_without_means_does_not_thin_the_spans_mean():
    broker = aged()
    broker.serve(10, total_ms=5)
    broker.scrape(13)
    counts_alone = TimedBroker(started=LONG_AGO)
    counts_alone.serve(7, total_ms=5)
    counts_alone.scrape(400, total_mean=None, remote_mean=None)
    counts_alone.serve(30, total_ms=5)
    counts_alone.scrape(410, total_mean=None, remote_mean=None)
    rows = pa.concat_tables([gold_of(silver(one)) for one in (broker, counts_alone)])

    assert [(row["n"], row["leader_local_mean_ms"]) for row in summed(rows)] == [(10, 5.0)]
