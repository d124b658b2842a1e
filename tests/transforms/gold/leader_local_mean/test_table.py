"""The mean of leader_local from metrics: exact by sums, refused with a reason, beside the request log."""

import math

import pytest

from engine.gold.inputs import WholeInputs, frames_of
from schemas.gold.leader_local_mean import LEADER_LOCAL_MEAN, LEADER_LOCAL_MEAN_SUMMARY
from schemas.silver.metrics import METRIC_SAMPLES, METRIC_SERIES
from schemas.silver.requests import REQUESTS
from tests.transforms.gold.metric_rows import AT, TimedBroker, at, samples_frame
from tests.transforms.gold.silver_rows import START as REQUESTS_AT
from tests.transforms.gold.silver_rows import request
from transforms.frames import frame_of, frame_of_arrow, united
from transforms.gold.leader_local_mean.summary import leader_local_mean_summary
from transforms.gold.leader_local_mean.table import BUILD

LONG_AGO = -100_000.0
assert REQUESTS_AT == AT


def produce(second, *, total_ms, remote_ms=0.0, broker=1, **more):
    told = {"api": "PRODUCE", "kind": "other", "remote_ms": remote_ms, "correlation_id": round(second * 1000)}
    return request(second, leader=broker, total_ms=total_ms, **told, **more)


def built(spark, *brokers, requests=(), resent=1):
    rows = [row for broker in brokers for row in broker.rows] * resent
    samples = samples_frame(spark, rows)
    series = united([frame_of(spark, [], METRIC_SERIES.schema), *(one.series(spark) for one in brokers)])
    log = frame_of(spark, list(requests) * resent, REQUESTS.schema)
    return frames_of(BUILD, WholeInputs({METRIC_SAMPLES: samples, METRIC_SERIES: series, REQUESTS: log}))[
        LEADER_LOCAL_MEAN
    ]


def told(frame, *names):
    order = ("window_start", "node", "request")
    return [tuple(row[name] for name in names) for row in frame.orderBy(*order).collect()]


def summed(frame):
    return [row.asDict() for row in leader_local_mean_summary(frame).orderBy("node", "request").collect()]


@pytest.fixture
def broker():
    # A life of short requests before, so that the lifetime's Mean says nothing of now.
    return aged()


def test_schema_is_the_declared_one(spark, broker):
    frame = built(spark, broker)

    assert frame.columns == LEADER_LOCAL_MEAN.schema.names
    assert [f.dataType for f in frame.schema] == [f.dataType for f in LEADER_LOCAL_MEAN.schema]
    summary = leader_local_mean_summary(frame)
    assert [(f.name, f.dataType) for f in summary.schema] == [
        (f.name, f.dataType) for f in LEADER_LOCAL_MEAN_SUMMARY.schema
    ]


def test_nothing_in_gives_nothing_out(spark):
    tables = (METRIC_SAMPLES, METRIC_SERIES, REQUESTS)
    rows = BUILD.rows(WholeInputs({table: frame_of(spark, [], table.schema) for table in tables}))

    found = frame_of_arrow(spark, rows[LEADER_LOCAL_MEAN])

    assert found.collect() == []
    assert summed(found) == []


def test_mean_is_that_of_the_requests_between_two_scrapes(spark, broker):
    broker.serve(30, total_ms=507, remote_ms=500)
    broker.serve(10, total_ms=27)
    broker.scrape(13)

    names = ("from_at", "to_at", "n", "total_sum_ms", "remote_sum_ms", "leader_local_mean_ms", "reason")
    (row,) = told(built(spark, broker), *names)

    naive = tuple(instant.astimezone() for instant in row[:2])
    assert naive == (at(3), at(13))
    assert row[2:] == (40, 15_480.0, 15_000.0, 12.0, None)


def test_idle_request_types_have_no_row(spark, broker):
    broker.scrape(13)

    assert built(spark, broker).collect() == []


def test_sums_are_exact_after_a_long_life(spark):
    broker = TimedBroker(started=LONG_AGO)
    broker.serve(10**11 + 7, total_ms=499, remote_ms=498)  # 13 years of 250 fetches a second
    broker.scrape(3)
    broker.serve(20, total_ms=9, remote_ms=2)
    broker.scrape(13)

    assert told(built(spark, broker), "total_sum_ms", "leader_local_mean_ms") == [(180.0, 7.0)]


def refused(spark, broker):
    return told(built(spark, broker), "leader_local_mean_ms", "reason")


def test_below_two_milliseconds_is_refused_as_rounding(spark, broker):
    broker.serve(999, total_ms=2)
    broker.serve(1, total_ms=1)
    broker.scrape(13)

    assert refused(spark, broker) == [(None, "below_resolution")]


def test_two_milliseconds_are_told(spark, broker):
    broker.serve(10, total_ms=2)
    broker.scrape(13)

    assert refused(spark, broker) == [(2.0, None)]


def test_few_requests_have_no_mean_of_their_own_but_count_in_the_span(spark, broker):
    for second in (13, 23):
        broker.serve(9, total_ms=5)
        broker.scrape(second)
    frame = built(spark, broker)

    assert told(frame, "leader_local_mean_ms", "reason") == [(None, "too_few")] * 2
    assert [(row["n"], row["leader_local_mean_ms"]) for row in summed(frame)] == [(18, 5.0)]


def test_rules_that_drop_mean_leave_a_count_and_the_reason(spark):
    broker = TimedBroker(started=LONG_AGO)
    for second in (3, 13):
        broker.serve(40, total_ms=5)
        broker.scrape(second, total_mean=None, remote_mean=None)
    frame = built(spark, broker)

    assert told(frame, "n", "total_mean_ms", "reason") == [(40, None, "no_mean")]
    assert [(row["n"], row["reason"]) for row in summed(frame)] == [(40, "no_mean")]


NO_STDDEV = {"remote_stddev": None}


def aged(**changes):
    """Give a broker with a life of requests that did not wait."""
    made = TimedBroker(started=LONG_AGO)
    made.serve(1_000_000, total_ms=1)
    made.scrape(3, **changes)
    return made


@pytest.mark.parametrize("stddev", [{}, NO_STDDEV])
def test_beans_that_counted_different_requests_are_refused_where_waits_are_unlike(spark, stddev):
    broker = aged(**stddev)
    broker.serve(50, total_ms=505, remote_ms=500)
    broker.serve(50, total_ms=5)
    broker.scrape(13, behind=2, behind_ms=500, **stddev)

    assert refused(spark, broker) == [(None, "counts_differ")]


@pytest.mark.parametrize(
    ("remote_ms", "stddev"),
    [
        # All waited alike, as StdDev tells; nobody waited, which needs no StdDev.
        (500, {}),
        (0, NO_STDDEV),
    ],
)
def test_beans_read_a_moment_apart_are_forgiven_where_waits_are_alike(spark, remote_ms, stddev):
    broker = aged(**stddev)
    broker.serve(100, total_ms=remote_ms + 5, remote_ms=remote_ms)
    broker.scrape(13, behind=2, behind_ms=remote_ms, **stddev)

    assert [reason for _, reason in refused(spark, broker)] == [None]


def test_beans_that_were_apart_before_and_agree_again_are_refused_too(spark):
    broker = TimedBroker(started=LONG_AGO)
    broker.serve(100, total_ms=5)
    broker.scrape(3, behind=5, **NO_STDDEV)
    broker.serve(50, total_ms=505, remote_ms=500)
    broker.serve(50, total_ms=5)
    broker.scrape(13, behind=5, **NO_STDDEV)

    ((n, n_remote, reason, doubt),) = told(built(spark, broker), "n", "n_remote", "reason", "doubt_ms")
    assert (n, n_remote, reason) == (100, 100, "counts_differ")
    assert doubt > 20


def test_doubt_of_a_span_is_that_of_its_two_ends(spark, broker):
    for second, behind in ((13, 2), (23, 0)):
        broker.serve(50, total_ms=505, remote_ms=500)
        broker.serve(50, total_ms=5)
        broker.scrape(second, behind=behind, behind_ms=500)
    frame = built(spark, broker)

    assert told(frame, "reason") == [("counts_differ",)] * 2
    (row,) = summed(frame)
    assert (row["doubt_ms"], row["reason"], row["leader_local_mean_ms"]) == (0.0, None, 5.0)


@pytest.mark.parametrize("value", [math.nan, math.inf, None])
def test_scrape_without_a_whole_figure_is_bridged(spark, broker, value):
    broker.serve(20, total_ms=5)
    broker.scrape(13, total_mean=value)
    broker.serve(20, total_ms=7)
    broker.scrape(23)

    assert told(built(spark, broker), "n", "leader_local_mean_ms") == [(40, 6.0)]


def test_restart_loses_no_interval_but_the_down_time(spark, broker):
    broker.restart(9.0)
    broker.serve(20, total_ms=5)
    broker.scrape(13)
    names = ("from_at", "n", "leader_local_mean_ms", "is_reset", "reason")

    ((since, *rest),) = told(built(spark, broker), *names)

    assert since.astimezone() == at(9)
    assert rest == [20, 5.0, True, None]


def test_restart_behind_a_busier_life_is_known_by_the_start(spark):
    broker = TimedBroker(started=LONG_AGO)
    broker.serve(10, total_ms=900)
    broker.scrape(3)
    broker.restart(4.0)
    broker.serve(50, total_ms=5)  # more requests and yet a smaller sum
    broker.scrape(13)

    assert told(built(spark, broker), "n", "leader_local_mean_ms") == [(50, 5.0)]


def test_another_process_under_the_same_name_is_refused(spark, broker):
    broker.restart(LONG_AGO - 5_000)
    broker.serve(2_000_000, total_ms=5)
    broker.scrape(13)

    assert told(built(spark, broker), "n", "reason") == [(None, "reset")]


def test_two_scrapes_in_one_window_are_one_row(spark, broker):
    for second in (11, 19):
        broker.serve(20, total_ms=5)
        broker.scrape(second)

    assert told(built(spark, broker), "n", "leader_local_mean_ms") == [(40, 5.0)]


def test_request_log_is_counted_between_the_very_scrapes(spark, broker):
    broker.serve(10, total_ms=5)
    broker.scrape(13)
    log = [produce(3 + nth, total_ms=4.5 + nth / 10) for nth in range(12)]  # the first and last lie outside

    frame = built(spark, broker, requests=log)

    assert told(frame, "log_n", "log_sum_ms") == [(10, 50.5)]
    (row,) = summed(frame)
    assert row["difference_ms"] == pytest.approx(-0.05)
    assert row["is_within"] is True


def test_log_of_other_brokers_and_types_is_not_mixed_in(spark, broker):
    broker.serve(10, total_ms=5)
    broker.scrape(13)
    log = [produce(5, total_ms=5.0, broker=2), request(6, leader=1, total_ms=5.0)]

    assert told(built(spark, broker, requests=log), "log_n", "log_sum_ms") == [(None, None)]


def test_raft_and_follower_fetches_are_one_type_of_the_beans(spark):
    broker = TimedBroker(started=LONG_AGO, request="FetchFollower")
    broker.scrape(3)
    broker.serve(20, total_ms=505, remote_ms=500)
    broker.scrape(13)
    log = [
        request(4 + nth / 10, total_ms=505.0, remote_ms=500.0, kind=kind, correlation_id=nth)
        for nth, kind in enumerate(["follower", "raft"] * 10)
    ]
    log.append(request(5.55, total_ms=90.0, remote_ms=0.0, kind="consumer", follower=None))

    assert told(built(spark, broker, requests=log), "log_n", "log_sum_ms") == [(20, 100.0)]


def test_difference_beyond_the_tolerance_is_told(spark, broker):
    broker.serve(10, total_ms=50)
    broker.scrape(13)
    near, far = (
        summed(built(spark, broker, requests=[produce(4 + nth / 2, total_ms=ms) for nth in range(10)]))[0]
        for ms in (50.9, 51.1)
    )

    assert (near["is_within"], far["is_within"]) == (True, False)


def test_log_that_is_not_whole_is_not_compared(spark, broker):
    broker.serve(20, total_ms=5)
    broker.scrape(13)
    log = [produce(4 + nth / 4, total_ms=5.0) for nth in range(18)]

    (row,) = summed(built(spark, broker, requests=log))

    assert (row["log_n"], row["difference_ms"], row["is_within"]) == (18, None, None)


def test_log_that_begins_later_is_compared_over_what_it_holds(spark, broker):
    broker.serve(20, total_ms=500)
    broker.scrape(13)
    broker.serve(20, total_ms=5)
    broker.scrape(23)
    log = [produce(12.9, total_ms=500.0), *(produce(13.2 + nth / 4, total_ms=5.1) for nth in range(20))]

    (row,) = summed(built(spark, broker, requests=log))

    assert (row["n"], row["leader_local_mean_ms"], row["log_n"]) == (40, 252.5, 20)
    assert (round(row["difference_ms"], 6), row["is_within"]) == (-0.1, True)


def test_span_is_summed_not_averaged(spark, broker):
    broker.serve(10, total_ms=100)
    broker.scrape(13)
    broker.serve(90, total_ms=5)
    broker.scrape(23)

    (row,) = summed(built(spark, broker))

    assert (row["n"], row["leader_local_mean_ms"], row["intervals"]) == (100, 14.5, 2)


def test_window_without_means_does_not_thin_the_spans_mean(spark, broker):
    broker.serve(10, total_ms=5)
    broker.scrape(13)
    counts_alone = TimedBroker(started=LONG_AGO)
    counts_alone.serve(7, total_ms=5)
    counts_alone.scrape(400, total_mean=None, remote_mean=None)
    counts_alone.serve(30, total_ms=5)
    counts_alone.scrape(410, total_mean=None, remote_mean=None)
    frame = united([built(spark, broker), built(spark, counts_alone)])

    assert [(row["n"], row["leader_local_mean_ms"]) for row in summed(frame)] == [(10, 5.0)]


def test_resent_scrapes_and_lines_change_nothing(spark, broker):
    broker.serve(10, total_ms=5)
    broker.scrape(13)
    log = [produce(4 + nth / 2, total_ms=5.0) for nth in range(10)]

    once, twice = (built(spark, broker, requests=log, resent=times).collect() for times in (1, 2))

    assert once == twice


def test_late_scrape_restates_its_neighbours(spark, broker):
    for second in (13, 23):
        broker.serve(20, total_ms=5)
        broker.scrape(second)
    early = TimedBroker()
    early.lines, early.rows = broker.lines, [row for row in broker.rows if row[2] != at(13)]

    assert told(built(spark, early), "n") == [(40,)]
    assert told(built(spark, broker), "n") == [(20,), (20,)]


def test_nodes_are_kept_apart_and_one_that_is_no_broker_has_no_number(spark, broker):
    other = TimedBroker(node="kafka", started=LONG_AGO)
    for one in (broker, other):
        one.scrape(5)
        one.serve(20, total_ms=5)
        one.scrape(13)

    found = told(built(spark, broker, other), "node", "broker_id", "n")

    assert found == [("broker-1", 1, 20), ("kafka", None, 20)]
