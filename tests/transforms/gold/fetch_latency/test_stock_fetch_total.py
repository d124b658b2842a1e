"""What stock Kafka's own metric says."""

import gzip

import pytest
from pyspark.testing import assertSchemaEqual

from schemas.bronze import METRICS
from schemas.gold.stock_fetch_total import STOCK_FETCH_TOTAL
from tests.transforms.gold.silver_rows import START
from transforms.frames import frame_of
from transforms.gold.fetch_latency.stock_fetch_total import samples, stock_fetch_total

# As the exporter 1.0.1 writes it: labels in alphabetical order, other requests and names around.
SCRAPE = b"""# HELP kafka_network_RequestMetrics_Mean Attribute exposed for management
# TYPE kafka_network_RequestMetrics_Mean untyped
kafka_network_RequestMetrics_Mean{name="RemoteTimeMs",request="FetchFollower"} 400.25
kafka_network_RequestMetrics_Mean{name="TotalTimeMs",request="FetchConsumer"} 12.5
kafka_network_RequestMetrics_Mean{name="TotalTimeMs",request="FetchFollower"} 501.5
kafka_network_RequestMetrics_50thPercentile{name="TotalTimeMs",request="FetchFollower"} 501.0
kafka_network_RequestMetrics_99thPercentile{name="TotalTimeMs",request="FetchFollower"} 504.0
kafka_network_RequestMetrics_999thPercentile{name="TotalTimeMs",request="FetchFollower"} 999.0
kafka_network_RequestMetrics_Count{name="TotalTimeMs",request="FetchFollower"} 1.234E3
kafka_network_RequestMetrics_Count{name="RequestsPerSec",request="FetchFollower",version="17"} 77.0
"""
AT_NS = round(START.timestamp()) * 10**9 + 123_456_789


def scrape(value=SCRAPE, node="broker-3", **more):
    known = {
        "value": None if value is None else bytearray(value),
        "cluster": "lab",
        "node": node,
        "kind": "metrics",
        "position": f"{node}/scrape/{AT_NS}",
    }
    return known | more


def metrics(spark, *scrapes):
    rows = [tuple(row.get(name) for name in METRICS.schema.names) for row in scrapes]
    return frame_of(spark, rows, METRICS.schema)


def test_metric_is_read_from_a_whole_scrape(spark):
    rows = stock_fetch_total(metrics(spark, scrape()))

    assertSchemaEqual(rows.schema, STOCK_FETCH_TOTAL.schema, ignoreNullable=True)
    at = START.replace(tzinfo=None, microsecond=123_456)
    assert [tuple(row) for row in rows.collect()] == [("lab", at, 3, 501.5, 501.0, 504.0, 1234)]


def test_packed_scrape_says_the_same_as_a_plain_one(spark):
    packed = scrape(gzip.compress(SCRAPE), content_encoding="gzip")

    rows = stock_fetch_total(metrics(spark, scrape(), packed)).distinct().collect()

    assert len(rows) == 1


@pytest.mark.parametrize(
    "unreadable",
    [
        scrape(gzip.compress(SCRAPE)[:-20], content_encoding="gzip"),
        scrape(SCRAPE, content_encoding="gzip"),
        scrape(SCRAPE, chunk="1/2"),
        scrape(None),
    ],
    ids=["cut off", "not gzip", "a part", "no value"],
)
def test_scrape_that_cannot_be_read_is_said_to_be_so(spark, unreadable):
    frame = metrics(spark, unreadable)

    assert stock_fetch_total(frame).collect() == []
    assert [(row.is_readable, row.has_metric) for row in samples(frame).collect()] == [(False, False)]


def test_scrape_of_something_else_gives_no_row_and_is_readable(spark):
    frame = metrics(spark, scrape(b"jvm_threads_current 12.0\n"))

    assert stock_fetch_total(frame).collect() == []
    assert samples(frame).first().is_readable


def test_statistic_that_is_nan_or_missing_is_null(spark):
    """A timer that saw no request yet has no percentile."""
    text = b'kafka_network_RequestMetrics_Mean{name="TotalTimeMs",request="FetchFollower"} NaN\n'
    count = b'kafka_network_RequestMetrics_Count{name="TotalTimeMs",request="FetchFollower"} 0.0\n'

    row = stock_fetch_total(metrics(spark, scrape(text + count))).first()

    assert (row.mean_ms, row.p50_ms, row.p99_ms, row["count"]) == (None, None, None, 0)


def test_no_scrapes_give_no_rows(spark):
    assert stock_fetch_total(metrics(spark)).collect() == []
