"""The mean of leader_local from metrics: exact by sums, refused with a reason, next to the request log."""

import math
from operator import itemgetter

import pytest

from schemas.arrow import arrow_schema
from schemas.gold.leader_local_mean import LEADER_LOCAL_MEAN
from schemas.silver.metrics import METRIC_SAMPLES, METRIC_SERIES
from schemas.silver.requests import REQUESTS
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
from tests.transforms.gold.metric_rows import TimedBroker, at
from tests.transforms.gold.silver_rows import objects, request


def built(*brokers, **more):
    return gold_of(silver(*brokers, **more))


def cells(rows, *names):
    order = ("window_start", "node", "request")
    return [tuple(row[name] for name in names) for row in sorted(objects(rows), key=itemgetter(*order))]


@pytest.fixture
def broker():
    return aged()


def test_nothing_in_gives_nothing_out():
    found = gold_of({table: [] for table in (METRIC_SAMPLES, METRIC_SERIES, REQUESTS)})

    assert found.schema == arrow_schema(LEADER_LOCAL_MEAN)
    assert found.num_rows == 0


def test_mean_is_that_of_the_requests_between_two_scrapes(broker):
    broker.serve(30, total_ms=507, remote_ms=500)
    broker.serve(10, total_ms=27)
    broker.scrape(13)

    names = ("from_at", "to_at", "n", "total_sum_ms", "remote_sum_ms", "leader_local_mean_ms", "reason")
    (row,) = cells(built(broker), *names)

    assert row[:2] == (at(3), at(13))
    assert row[2:] == (40, 15_480.0, 15_000.0, 12.0, None)


def test_idle_request_types_have_no_row(broker):
    broker.scrape(13)

    assert built(broker).num_rows == 0


def test_sums_are_exact_after_a_long_life():
    broker = TimedBroker(started=LONG_AGO)
    broker.serve(10**11 + 7, total_ms=499, remote_ms=498)  # 13 years of 250 fetches a second
    broker.scrape(3)
    broker.serve(20, total_ms=9, remote_ms=2)
    broker.scrape(13)

    assert cells(built(broker), "total_sum_ms", "leader_local_mean_ms") == [(180.0, 7.0)]


def refused(broker):
    return cells(built(broker), "leader_local_mean_ms", "reason")


def test_below_two_milliseconds_is_refused_as_rounding(broker):
    broker.serve(999, total_ms=2)
    broker.serve(1, total_ms=1)
    broker.scrape(13)

    assert refused(broker) == [(None, "below_resolution")]


def test_two_milliseconds_are_told(broker):
    broker.serve(10, total_ms=2)
    broker.scrape(13)

    assert refused(broker) == [(2.0, None)]


def test_few_requests_have_no_mean():
    assert cells(gold_of(few_requests()), "leader_local_mean_ms", "reason") == [(None, "too_few")] * 2


def test_rules_that_drop_mean_leave_a_count_and_the_reason():
    assert cells(gold_of(no_mean()), "n", "total_mean_ms", "reason") == [(40, None, "no_mean")]


NO_STDDEV = {"remote_stddev": None}


@pytest.mark.parametrize("stddev", [{}, NO_STDDEV])
def test_beans_that_counted_different_requests_are_refused_where_waits_are_unlike(stddev):
    broker = aged(**stddev)
    broker.serve(50, total_ms=505, remote_ms=500)
    broker.serve(50, total_ms=5)
    broker.scrape(13, behind=2, behind_ms=500, **stddev)

    assert refused(broker) == [(None, "counts_differ")]


@pytest.mark.parametrize(
    ("remote_ms", "stddev"),
    [
        # All waited alike, as StdDev tells; nobody waited, which needs no StdDev.
        (500, {}),
        (0, NO_STDDEV),
    ],
)
def test_beans_read_a_moment_apart_are_forgiven_where_waits_are_alike(remote_ms, stddev):
    broker = aged(**stddev)
    broker.serve(100, total_ms=remote_ms + 5, remote_ms=remote_ms)
    broker.scrape(13, behind=2, behind_ms=remote_ms, **stddev)

    assert [reason for _, reason in refused(broker)] == [None]


def test_beans_that_were_apart_before_and_agree_again_are_refused_too():
    broker = TimedBroker(started=LONG_AGO)
    broker.serve(100, total_ms=5)
    broker.scrape(3, behind=5, **NO_STDDEV)
    broker.serve(50, total_ms=505, remote_ms=500)
    broker.serve(50, total_ms=5)
    broker.scrape(13, behind=5, **NO_STDDEV)

    ((n, n_remote, reason, doubt),) = cells(built(broker), "n", "n_remote", "reason", "doubt_ms")
    assert (n, n_remote, reason) == (100, 100, "counts_differ")
    assert doubt > 20


def test_beans_that_were_apart_at_one_scrape_are_refused_on_both_sides_of_it():
    assert cells(gold_of(apart_in_between()), "reason") == [("counts_differ",)] * 2


@pytest.mark.parametrize("value", [math.nan, math.inf, None])
def test_scrape_without_a_whole_figure_is_bridged(broker, value):
    broker.serve(20, total_ms=5)
    broker.scrape(13, total_mean=value)
    broker.serve(20, total_ms=7)
    broker.scrape(23)

    assert cells(built(broker), "n", "leader_local_mean_ms") == [(40, 6.0)]


def test_restart_loses_no_interval_but_the_down_time(broker):
    broker.restart(9.0)
    broker.serve(20, total_ms=5)
    broker.scrape(13)
    names = ("from_at", "n", "leader_local_mean_ms", "is_reset", "reason")

    ((since, *rest),) = cells(built(broker), *names)

    assert since == at(9)
    assert rest == [20, 5.0, True, None]


def test_restart_behind_a_busier_life_is_known_by_the_start():
    broker = TimedBroker(started=LONG_AGO)
    broker.serve(10, total_ms=900)
    broker.scrape(3)
    broker.restart(4.0)
    broker.serve(50, total_ms=5)  # more requests and yet a smaller sum
    broker.scrape(13)

    assert cells(built(broker), "n", "leader_local_mean_ms") == [(50, 5.0)]


def test_another_process_under_the_same_name_is_refused(broker):
    broker.restart(LONG_AGO - 5_000)
    broker.serve(2_000_000, total_ms=5)
    broker.scrape(13)

    assert cells(built(broker), "n", "reason") == [(None, "reset")]


def test_two_scrapes_in_one_window_are_one_row(broker):
    for second in (11, 19):
        broker.serve(20, total_ms=5)
        broker.scrape(second)

    assert cells(built(broker), "n", "leader_local_mean_ms") == [(40, 5.0)]


def test_request_log_is_counted_between_the_very_scrapes():
    assert cells(gold_of(logged_between_scrapes()), "log_n", "log_sum_ms") == [(10, 50.5)]


def test_log_of_other_brokers_and_types_is_not_mixed_in(broker):
    broker.serve(10, total_ms=5)
    broker.scrape(13)
    log = [produce(5, total_ms=5.0, broker=2), request(6, leader=1, total_ms=5.0)]

    assert cells(built(broker, requests=log), "log_n", "log_sum_ms") == [(None, None)]


def test_raft_and_follower_fetches_are_one_type_of_the_beans():
    broker = TimedBroker(started=LONG_AGO, request="FetchFollower")
    broker.scrape(3)
    broker.serve(20, total_ms=505, remote_ms=500)
    broker.scrape(13)
    log = [
        request(4 + nth / 10, total_ms=505.0, remote_ms=500.0, kind=kind, correlation_id=nth)
        for nth, kind in enumerate(["follower", "raft"] * 10)
    ]
    log.append(request(5.55, total_ms=90.0, remote_ms=0.0, kind="consumer", follower=None))

    assert cells(built(broker, requests=log), "log_n", "log_sum_ms") == [(20, 100.0)]


def test_resent_scrapes_and_lines_change_nothing(broker):
    broker.serve(10, total_ms=5)
    broker.scrape(13)
    log = [produce(4 + nth / 2, total_ms=5.0) for nth in range(10)]

    once = silver(broker, requests=log)
    twice = {table: rows * 2 for table, rows in once.items()}

    assert objects(gold_of(once)) == objects(gold_of(twice))


def test_late_scrape_restates_its_neighbours(broker):
    for second in (13, 23):
        broker.serve(20, total_ms=5)
        broker.scrape(second)
    early = TimedBroker()
    early.lines, early.rows = broker.lines, [row for row in broker.rows if row[2] != at(13)]

    assert cells(built(early), "n") == [(40,)]
    assert cells(built(broker), "n") == [(20,), (20,)]


def test_nodes_are_kept_apart_and_one_that_is_no_broker_has_no_number(broker):
    other = TimedBroker(node="kafka", started=LONG_AGO)
    for one in (broker, other):
        one.scrape(5)
        one.serve(20, total_ms=5)
        one.scrape(13)

    found = cells(built(broker, other), "node", "broker_id", "n")

    assert found == [("broker-1", 1, 20), ("kafka", None, 20)]
