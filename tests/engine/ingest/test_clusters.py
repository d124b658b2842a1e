"""Two Kafka clusters with one name never become one matrix: silver has the lines of the first."""

import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest

from conf.settings import Settings, WarehouseSettings
from engine.delta import tables
from engine.ingest import batches
from engine.ingest.batches import cluster_ids, known_rows, write_batch
from engine.ingest.sources import LINES, QUERIES, SCRAPES, SOURCES
from jobs.replay import restore
from schemas.bronze import RAW, REQUEST_LOG
from schemas.silver.clusters import CLUSTERS
from schemas.silver.metrics import METRIC_SCRAPES
from schemas.silver.not_kept import QUARANTINE
from schemas.silver.requests import REQUESTS
from tests.transforms.parse.records import COMPLETED
from transforms.frames import frame_of

AT = datetime(2026, 11, 21, 12, tzinfo=UTC)
FIRST, OTHER = "A3UMX2uJTSWHqIFWNOVTbQ", "AOXDbY-OTYyOZrkGlTHmpw"
PAGE = b"# TYPE up gauge\nup 1\n"


class TwoClusters:
    """A warehouse into which collectors of two Kafka clusters publish as `prod`."""

    def __init__(self, spark, root):
        """Create the tables of the ingest."""
        self.spark, self.root = spark, root
        self.settings = Settings(warehouse=WarehouseSettings(root=str(root)))
        for query in QUERIES:
            for table in query.tables:
                tables.ensure(spark, root, table)
        self._batches = dict.fromkeys(QUERIES, -1)
        self._offset = -1

    def ingest(self, *ids, query=LINES, value=COMPLETED, kind="request-log"):
        """Write a batch of one record for each id."""
        columns = {"value": value, "cluster": "prod", "node": "broker-1", "kind": kind}
        columns |= {"topic": "t", "partition": 0, "timestamp": AT, "ingest_date": AT.date()}
        rows = []
        for cluster_id in ids:
            self._offset += 1
            position = f"broker-1/scrape/{AT.timestamp() * 1e9 + self._offset:.0f}"
            rows.append(columns | {"cluster_id": cluster_id, "offset": self._offset, "position": position})
        self._batches[query] += 1
        raw = frame_of(self.spark, rows, RAW)
        write_batch(raw, self._batches[query], query, settings=self.settings, app_id=query.name)

    def rows(self, table, *columns):
        """Return the values of columns, sorted."""
        return sorted(map(tuple, tables.read(self.spark, self.root, table).select(*columns).collect()))

    @staticmethod
    def restart():
        """Forget what the process of the ingest remembers."""
        batches._cluster_ids.cache_clear()
        batches._known_rows.cache_clear()


@pytest.fixture
def site(spark, tmp_path):
    return TwoClusters(spark, tmp_path / "warehouse")


def test_the_lines_of_a_second_cluster_with_the_name_are_quarantined(site):
    site.ingest(FIRST, FIRST)
    site.restart()
    site.ingest(OTHER, FIRST, None)

    assert site.rows(REQUESTS, "offset") == [(0,), (1,), (3,), (4,)]
    detail = f"from the Kafka cluster {OTHER}; the name prod is {FIRST}"
    assert site.rows(QUARANTINE, "offset", "reason", "detail") == [(2, "other_cluster", detail)]
    assert len(site.rows(REQUEST_LOG, "offset")) == 5
    assert site.rows(CLUSTERS, "cluster", "cluster_id") == [("prod", FIRST)]


def test_two_new_clusters_with_one_name_in_one_batch_are_kept_apart(site):
    site.ingest(OTHER, FIRST, OTHER)

    assert site.rows(REQUESTS, "offset") == [(0,), (2,)]
    assert site.rows(QUARANTINE, "offset") == [(1,)]
    assert site.rows(CLUSTERS, "cluster", "cluster_id") == [("prod", OTHER)]


def test_scrapes_and_lines_share_the_ids(site):
    site.ingest(FIRST)
    site.ingest(OTHER, FIRST, query=SCRAPES, value=PAGE, kind="metrics")

    assert site.rows(METRIC_SCRAPES, "offset") == [(2,)]
    assert site.rows(QUARANTINE, "offset", "reason") == [(1, "other_cluster")]
    assert site.rows(CLUSTERS, "cluster_id") == [(FIRST,)]


def test_a_replay_restores_no_line_of_the_other_cluster(site):
    site.ingest(FIRST, OTHER)
    site.restart()

    restore(site.spark, site.settings, SOURCES[0])

    assert site.rows(REQUESTS, "offset") == [(0,)]
    assert site.rows(QUARANTINE, "offset") == [(1,)]


def test_collectors_that_do_not_know_the_id_write_no_row(site):
    site.ingest(None, None)

    assert len(site.rows(REQUESTS, "offset")) == 2
    assert site.rows(CLUSTERS, "cluster") == []


@pytest.mark.parametrize("shared", [cluster_ids, known_rows])
def test_queries_that_start_together_share_what_is_known(shared, tmp_path, monkeypatch):
    made = getattr(batches, {cluster_ids: "ClusterIds", known_rows: "KnownRows"}[shared])

    def slow(*arguments):
        time.sleep(0.1)
        return made(*arguments)

    monkeypatch.setattr(batches, made.__name__, slow)
    with ThreadPoolExecutor(2) as threads:
        one, other = threads.map(shared, [tmp_path, tmp_path])

    assert one is other
