"""Scrapes in a batch of the ingest: the written tables, and that a retried batch writes nothing."""

from datetime import UTC, datetime

import pytest

from conf.settings import Settings, WarehouseSettings
from engine.delta import tables
from engine.ingest import batches as ingest_batch
from engine.ingest.batches import write_batch
from engine.ingest.sources import SCRAPES
from schemas.bronze import METRICS, RAW
from schemas.silver.metrics import METRIC_SAMPLES, METRIC_SCRAPES, METRIC_SERIES
from transforms.frames import frame_of

AT = datetime(2026, 11, 21, 12, tzinfo=UTC)


class MetricWarehouse:
    """A warehouse that batches are written into."""

    def __init__(self, spark, root):
        """Create the tables."""
        self.spark, self.root = spark, root
        self.settings = Settings(warehouse=WarehouseSettings(root=str(root)))
        for table in SCRAPES.tables:
            tables.ensure(spark, root, table)

    def write(self, batch_id, *pages, is_new=True):
        """Write a batch of pages at different instants; return the written tables."""
        rows = [
            {"value": page, "topic": "t", "partition": 0, "offset": 10 * batch_id + nth, "kind": "metrics"}
            | {"cluster": "lab", "node": "broker-1", "timestamp": AT, "ingest_date": AT.date()}
            | {"position": f"broker-1/scrape/{1795252768000000000 + (10 * batch_id + nth) * 10**9}"}
            for nth, page in enumerate(pages)
        ]
        frame = frame_of(self.spark, rows, RAW)
        batch = write_batch(frame, batch_id, SCRAPES, settings=self.settings, app_id="a", is_new=is_new)
        return batch.tables

    def count(self, table):
        """Return the number of rows of a table."""
        return tables.read(self.spark, self.root, table).count()


def test_a_series_is_stored_once_and_each_of_its_samples(spark, tmp_path):
    site = MetricWarehouse(spark, tmp_path)
    first = site.write(0, b'up 1\na{x="1",y="2"} 2\n', b'up 2\na{y="2",x="1"} 3\n')
    second = site.write(1, b"up 3\n")
    third = site.write(2, b"up 4\nnew 5\nbad{ 6\n")
    again = site.write(2, b"up 4\nnew 5\nbad{ 6\n", is_new=False)

    assert first == [
        "bronze.metrics",
        "silver.metric_series",
        "silver.metric_samples",
        "silver.metric_scrapes",
    ]
    assert second == ["bronze.metrics", "silver.metric_samples", "silver.metric_scrapes"]
    assert third == [*first, "silver.quarantine"]
    assert again == [*second, "silver.quarantine"]
    counted = {table: site.count(table) for table in (METRICS, METRIC_SERIES, METRIC_SAMPLES, METRIC_SCRAPES)}
    assert list(counted.values()) == [4, 3, 7, 4]


def test_series_of_an_uncommitted_batch_are_in_its_retry(spark, tmp_path, monkeypatch):
    """The parsers of the tasks outlive the batch and remember its series."""
    site = MetricWarehouse(spark, tmp_path)

    with monkeypatch.context() as broken:
        broken.setattr(ingest_batch, "commit_files", lambda *_args: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            site.write(0, b"up 1\nlater 2\n")
    site.write(0, b"up 1\nlater 2\n", is_new=False)

    assert [site.count(table) for table in (METRIC_SERIES, METRIC_SAMPLES, METRIC_SCRAPES)] == [2, 2, 1]
