"""Scrapes: pages and their lines, with the samples, series and books that come of them."""

from datetime import datetime

import pytest

from conf.settings import Ingest, Settings
from jobs import scrapes
from schemas.metrics import METRIC_SAMPLES, METRIC_SCRAPES, METRIC_SERIES
from schemas.silver import QUARANTINE
from tests.transforms.parse.raw_rows import raw
from transforms.parse import metrics

AT = datetime(2026, 11, 21, 9, 19, 28, 987716)
POSITION = "broker-1/scrape/1795252768987716710"


@pytest.fixture
def read(spark):
    """Give what reads pages, each a value or a dict of fields, and keeps what is read for the test."""

    def of(*pages, **limits):
        rows = [page if isinstance(page, dict) else {"value": page} for page in pages]
        told = {"position": POSITION, "kind": "metrics"}
        settings = Settings(ingest=Ingest(**limits))
        pages = raw(spark, [told | row for row in rows]).coalesce(1)
        return scrapes.read(scrapes.look_at(pages, settings).localCheckpoint(), settings).localCheckpoint()

    return of


def test_rows_are_the_silver_tables(read):
    page = read(b"up 1\n")

    assert metrics.scrapes(page).schema.simpleString() == METRIC_SCRAPES.schema.simpleString()
    assert metrics.samples(page).schema.simpleString() == METRIC_SAMPLES.schema.simpleString()
    assert metrics.series(page).schema.simpleString() == METRIC_SERIES.schema.simpleString()
    assert metrics.quarantined(page).schema.simpleString() == QUARANTINE.schema.simpleString()


def test_a_bad_line_is_quarantined_by_itself_and_the_rest_of_the_page_kept(read):
    page = read(b"# TYPE up gauge\nup 1\nup{ 2\n\ndown -Inf\n")

    assert [(row.value, row.at) for row in metrics.samples(page).collect()] == [
        (1.0, AT),
        (float("-inf"), AT),
    ]
    bad = metrics.quarantined(page).collect()
    assert [(row.position, row.reason, bytes(row.value)) for row in bad] == [
        (f"{POSITION}#3", "bad_labels", b"up{ 2")
    ]
    scrape = metrics.scrapes(page).collect()[0]
    assert (scrape.lines, scrape.samples, scrape.comments, scrape.rejected) == (5, 2, 2, 1)
