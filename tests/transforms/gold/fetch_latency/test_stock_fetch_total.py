"""Kafka's own metric of follower fetches, from series and samples of metrics."""

import pytest
from pyspark.testing import assertSchemaEqual

from engine.gold.inputs import WholeInputs, frames_of
from schemas.gold.stock_fetch_total import STOCK_FETCH_TOTAL
from schemas.silver.metrics import METRIC_SAMPLES, METRIC_SERIES
from tests.transforms.gold.metric_rows import at, bean, sample_row, samples_frame, series_frame
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


def built(spark, values, *, second=1, node="broker-3", times=1):
    samples = [sample_row(line, second, value, node) for line, value in values.items()] * times
    series = series_frame(spark, sorted(values), node)
    inputs = WholeInputs({METRIC_SAMPLES: samples_frame(spark, samples), METRIC_SERIES: series})
    return frames_of(BUILD, inputs)[STOCK_FETCH_TOTAL]


@pytest.mark.parametrize("times", [1, 2], ids=["once", "sent again"])
def test_a_scrape_is_one_row(spark, times):
    rows = built(spark, SCRAPE, times=times)

    assertSchemaEqual(rows.schema, STOCK_FETCH_TOTAL.schema, ignoreNullable=True)
    instant = at(1).replace(tzinfo=None)
    assert [tuple(row) for row in rows.collect()] == [("lab", instant, 3, 501.5, 501.0, 504.0, 1234)]


def test_a_scrape_without_the_metric_gives_no_row(spark):
    assert built(spark, {bean("TotalTimeMs", "Mean", "Produce"): 3.0}).collect() == []


def test_a_statistic_that_is_nan_or_missing_is_null(spark):
    """A timer without requests has no percentile."""
    row = built(spark, {follower("Mean"): float("nan"), follower("Count"): 0.0}).first()

    assert (row.mean_ms, row.p50_ms, row.p99_ms, row["count"]) == (None, None, None, 0)
