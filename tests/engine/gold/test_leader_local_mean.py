"""Gold from metrics: what arrives late, in parts and in another order gives the same gold."""

import pytest

from engine.delta import tables
from schemas.gold.leader_local_mean import LEADER_LOCAL_MEAN
from schemas.silver.metrics import METRIC_SAMPLES, METRIC_SERIES
from schemas.silver.requests import REQUESTS
from tests.engine.gold.gold_lab import GoldLab
from tests.transforms.gold.leader_local_mean.test_table import LONG_AGO, produce
from tests.transforms.gold.metric_rows import AT, TimedBroker, at, series_row
from transforms.gold.leader_local_mean.table import BUILD
from transforms.gold.metrics.counters import BRIDGED_S
from transforms.spans import Span, window_of
from transforms.windows import WINDOW_S

NOON = window_of(AT.timestamp())


@pytest.fixture(scope="module")
def empty_lab(spark, tmp_path_factory):
    return GoldLab.empty(spark, tmp_path_factory.mktemp("empty"), BUILD)


@pytest.fixture
def lab(empty_lab, tmp_path):
    return empty_lab.copied(tmp_path)


def scraped():
    """Scrape a broker at 3, 13, 23 and 33 s, with a restart at 15 s; its log has a line a second."""
    broker = TimedBroker(started=LONG_AGO)
    for second in (3, 13, 23, 33):
        if second == 23:
            broker.restart(15.0)
        broker.serve(10, total_ms=5)
        broker.scrape(second)
    log = [
        dict(zip(REQUESTS.schema.names, produce(second + 0.5, total_ms=5.0), strict=True))
        for second in range(40)
    ]
    return broker, log


def test_parts_in_any_order_give_what_is_built_at_once(lab):
    """First the log, then the last scrapes, then the first ones, and last what their series mean."""
    broker, log = scraped()
    late, early = ([row for row in broker.rows if (row[2] > at(20)) is is_late] for is_late in (True, False))
    for table, rows in (
        (REQUESTS, log),
        (METRIC_SAMPLES, late),
        (METRIC_SAMPLES, early),
        (METRIC_SERIES, [series_row(line) for line in sorted(broker.lines)]),
    ):
        lab.arrive(table, rows)
        lab.run()

    assert lab.gold() == lab.at_once()
    rows = [
        (row["n"], row["log_n"], row["is_reset"], row["leader_local_mean_ms"])
        for row in lab.rows(LEADER_LOCAL_MEAN)
    ]
    assert sorted(rows) == [(10, 8, True, 5.0), (10, 10, False, 5.0), (10, 10, False, 5.0)]


def test_late_line_of_the_log_restates_its_interval_and_a_span_built_again_is_the_same(lab):
    broker, log = scraped()
    lab.arrive(METRIC_SERIES, [series_row(line) for line in sorted(broker.lines)])
    lab.arrive(METRIC_SAMPLES, broker.rows)
    lab.arrive(REQUESTS, log[1:])
    lab.run()
    lab.arrive(REQUESTS, [log[0], log[5]])
    lab.run()
    before = lab.gold()

    lab.builder().rebuild_span(Span(NOON, NOON + 60))

    assert lab.gold() == before == lab.at_once()
    assert len(lab.rows(LEADER_LOCAL_MEAN)) == 3


def test_cluster_without_metrics_is_not_written_for(lab):
    _, log = scraped()
    lab.arrive(REQUESTS, log)

    lab.run()

    assert lab.rows(LEADER_LOCAL_MEAN) == []
    assert tables.snapshot(lab.warehouse, LEADER_LOCAL_MEAN).version == 0


def test_window_reaches_no_further_than_samples_are_bridged(lab):
    broker = TimedBroker(started=LONG_AGO)
    broker.scrape(3)
    broker.serve(20, total_ms=5)
    broker.scrape(3 + BRIDGED_S)
    lab.arrive(METRIC_SERIES, [series_row(line) for line in sorted(broker.lines)])
    lab.arrive(METRIC_SAMPLES, broker.rows)
    ends = NOON + BRIDGED_S

    lab.builder().rebuild_span(Span(ends, ends + WINDOW_S))

    assert [row["n"] for row in lab.rows(LEADER_LOCAL_MEAN)] == [20]
