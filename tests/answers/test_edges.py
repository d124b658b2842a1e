"""The clusters of gold and their windows: each data file is read once."""

from datetime import timedelta

import duckdb
import pytest

from answers.gold import edges
from answers.gold.edges import clusters_of, edges_of_clusters
from answers.gold.reader import GoldReader
from answers.gold.relations import FIRST, LAST
from schemas.gold.broker_rtt import BROKER_RTT
from tests.answers import made_gold
from tests.answers.made_gold import at


def rows(*windows, cluster="east"):
    return [made_gold.rtt(nth, 1, 2) | {"cluster": cluster} for nth in windows]


@pytest.fixture
def read(monkeypatch):
    """Note the number of files in each query that is run."""
    found = []
    fetched = GoldReader.fetched

    def counted(self, query, parameters):
        found.append(query.count(".parquet"))
        return fetched(self, query, parameters)

    monkeypatch.setattr(GoldReader, "fetched", counted)
    return found


def test_a_file_is_read_once_and_one_that_left_the_table_is_forgotten(tmp_path, read):
    made_gold.write(tmp_path, BROKER_RTT, rows(0, 1))
    gold = GoldReader.of_warehouse(tmp_path)
    assert clusters_of(gold) == clusters_of(gold) == ["east"]
    assert read == [1]

    made_gold.write(tmp_path, BROKER_RTT, rows(2, cluster="west"), mode="append")
    assert [(row["cluster"], row["oldest"], row["newest"]) for row in edges_of_clusters(gold)] == [
        ("east", at(0), at(1)),
        ("west", at(2), at(2)),
    ]
    assert read == [1, 1]

    made_gold.write(tmp_path, BROKER_RTT, rows(3, cluster="west"))
    assert [(row["cluster"], row["oldest"]) for row in edges_of_clusters(gold)] == [("west", at(3))]


def test_a_file_with_a_window_of_the_future_is_read_again(tmp_path, read, monkeypatch):
    made_gold.write(tmp_path, BROKER_RTT, rows(0, 5))
    gold = GoldReader.of_warehouse(tmp_path)
    monkeypatch.setattr(edges, "now_of_answers", lambda: at(0) + timedelta(seconds=1))
    assert [(row["newest"], row["has_future"]) for row in edges_of_clusters(gold)] == [(at(0), True)]

    monkeypatch.setattr(edges, "now_of_answers", lambda: at(6))
    assert [(row["newest"], row["has_future"]) for row in edges_of_clusters(gold)] == [(at(5), False)]
    assert read == [1, 1]


def test_a_file_that_vacuum_deleted_meanwhile_is_looked_for_in_the_newest_version(tmp_path, monkeypatch):
    made_gold.write(tmp_path, BROKER_RTT, rows(0))
    gold = GoldReader.of_warehouse(tmp_path)
    stored, files = gold.relations["gold.broker_rtt"], []

    def listed(self, *span):
        found = original(self, *span)
        files.extend([found] * (self is stored))
        return [str(tmp_path / "gone.parquet")] if self is stored and len(files) == 1 else found

    original = type(stored).files
    monkeypatch.setattr(type(stored), "files", listed)
    assert clusters_of(gold) == ["east"]
    assert len(files) == 2


def test_a_file_that_stays_away_is_an_error(tmp_path, monkeypatch):
    made_gold.write(tmp_path, BROKER_RTT, rows(0))
    gold = GoldReader.of_warehouse(tmp_path)
    stored = gold.relations["gold.broker_rtt"]
    original, gone = type(stored).files, [str(tmp_path / "gone.parquet")]
    stored.files(FIRST, LAST)
    monkeypatch.setattr(
        type(stored), "files", lambda self, *span: gone if self is stored else original(self, *span)
    )

    with pytest.raises(duckdb.IOException):
        clusters_of(gold)
