"""Kafka's own metric of follower fetches, from series and samples of metrics."""

import pytest

from schemas.arrow import arrow_schema
from schemas.gold.stock_fetch_total import STOCK_FETCH_TOTAL
from schemas.silver.metrics import METRIC_SAMPLES, METRIC_SERIES
from tests.transforms.gold.metric_rows import at, bean, sample_row, series_rows
from tests.transforms.gold.silver_rows import built, whole
from transforms.gold.fetch_latency.stock_fetch_total import BUILD


def follower(statistic, name="TotalTimeMs"):
    return bean(name, statistic, "FetchFollower")


# As jmx_exporter 1.0.1 without rules writes it, with other requests and names around it.
SCRAPE = {
    follower("Mean", "RemoteTimeMs"): 400.25,
    bean("TotalTimeMs", "Mean", "FetchConsumer"): 12.5,
    follower("Mean"): 501.5,
    follower("50thPercentile"): 501.0,
    follower("99thPercentile"): 504.0,
    follower("999thPercentile"): 999.0,
    follower("Count"): 1234.0,
}


def scraped(values, *, second=1, node="broker-3", times=1):
    """Return silver of a scrape."""
    samples = [sample_row(line, second, value, node) for line, value in values.items()] * times
    return {METRIC_SAMPLES: samples, METRIC_SERIES: series_rows(sorted(values), node)}


def totals(values, **more):
    return built(BUILD, scraped(values, **more))[STOCK_FETCH_TOTAL]


@pytest.mark.parametrize("times", [1, 2], ids=["once", "sent again"])
def test_a_scrape_is_one_row(times):
    rows = BUILD.rows(whole(scraped(SCRAPE, times=times)))[STOCK_FETCH_TOTAL]

    assert rows.schema == arrow_schema(STOCK_FETCH_TOTAL)
    assert [tuple(row.values()) for row in rows.to_pylist()] == [("lab", at(1), 3, 501.5, 501.0, 504.0, 1234)]


def test_a_scrape_without_the_metric_gives_no_row():
    assert totals({bean("TotalTimeMs", "Mean", "Produce"): 3.0}) == []


def test_a_statistic_that_is_nan_or_missing_is_null():
    """A timer without requests has no percentile."""
    (row,) = totals({follower("Mean"): float("nan"), follower("Count"): 0.0})

    assert (row.mean_ms, row.p50_ms, row.p99_ms, row["count"]) == (None, None, None, 0)
