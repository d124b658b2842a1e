"""What is served of known gold, and what is not."""

import math
import shutil
from dataclasses import asdict
from datetime import UTC, datetime

import pytest
from deltalake import DeltaTable

from answers.exported.gold import ExportedGold, SecondsSpan
from answers.exported.metrics import METRICS
from answers.gold.reader import GoldReader
from answers.gold.relations import StoredTable
from conf.export import Export
from schemas.gold import GOLD
from tests.serving.exporter import gold_tables
from tests.serving.exporter.gold_tables import SLOW_WINDOWS

END = 1_700_000_000


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory):
    root = tmp_path_factory.mktemp("warehouse")
    gold_tables.fill(root, END)
    return root


def gold_of(root, **limits):
    return ExportedGold(GoldReader.of_warehouse(root), asdict(Export(**limits)))


def values(gold, moment=END):
    """Return the values by name and labels."""
    return {(one.name.removeprefix("plumbline_"), *(v for k, v in one.labels if k != "cluster")): one.value
            for one in gold.samples([moment])}  # fmt: skip


def served(root, moment=END, **limits):
    """Return the values that a scrape of these tables has."""
    gold = gold_of(root, **limits)
    gold.refresh()
    return values(gold, moment)


@pytest.mark.parametrize(
    ("series", "value"),
    [
        (("gold_settled_timestamp_seconds",), END),
        (("pair_round_trip_seconds", "1", "3", "paired", "0.5"), 0.021),
        (("pair_round_trip_seconds", "2", "1", "paired", "0.99"), 0.001),
        (("pair_baseline_seconds", "1", "3", "paired", "0.5"), 0.001),
        (("link_slow", "1", "3"), 1),
        (("link_slow", "3", "1"), 0),
        (("broker_slow", "1"), 0),
        (("culprit", "link"), 1),
        (("culprit_effect_seconds",), 0.020),
        (("culprit_since_timestamp_seconds",), END - 10 * SLOW_WINDOWS),
        (("fetch_true_seconds", "3", "follower", "0.99"), 0.021),
        (("fetch_true_seconds", "3", "follower", "0.5"), 0.001),  # of two followers one is slow
        (("fetches", "3", "follower"), 240),
        (("fetch_total_seconds", "1", "share", "0.5"), 0.4),
        (("fetch_leader_local_seconds", "1", "share", "0.5"), 0.004),
        (("leader_redirect_seconds", "redirect", "1.0"), 3.0),
        (("topic_skew_ratio", "orders"), 2.25),
        (("metadata_bytes_per_second",), 2_000),
        (("throttle_state", "1", "leader", "left_over"), 1),
        (("throttle_state", "2", "follower", "over_limit"), 1),
        (("throttle_state", "2", "leader", "over_limit"), 0),
        (("reassignment_remaining_bytes",), 5_000),
        (("reassignment_bytes_per_second",), 100),
    ],
)
def test_a_value_is_that_of_gold(warehouse, series, value):
    assert served(warehouse)[series] == pytest.approx(value, rel=0.0101)


def test_every_declared_metric_is_served_with_its_labels(warehouse):
    gold = gold_of(warehouse)
    gold.refresh()

    found = {one.name: {name for name, _ in one.labels} for one in gold.samples([END])}

    assert found == {metric.name: set(metric.labels) for metric in METRICS}


def test_every_metric_comes_from_a_column_that_gold_has():
    columns = {f"{table.name}.{name}" for table in GOLD for name in table.schema.names}

    assert {metric.source for metric in METRICS} <= columns


def test_old_gold_is_not_served_but_its_age(warehouse):
    found = {name for name, *_ in served(warehouse, END + 301)}

    assert found == {
        *("gold_settled_timestamp_seconds", "brokers_expected", "brokers_reporting"),
        *("broker_last_seen_timestamp_seconds", "lines_read", "lines_quarantined", "quarantined_ratio"),
    }


def test_series_are_bounded_the_culprit_is_kept_and_the_rest_is_counted(warehouse):
    found = served(warehouse, pairs=1, clients=2)

    assert [key[1:] for key in found if key[0] == "link_slow"] == [("1", "3")]
    assert sorted({key[1:3] for key in found if key[0] == "consumer_leader_local_seconds"}) == [
        ('app-1 "x"', "consumer"), ('app-2 "x"', "consumer")]  # fmt: skip
    assert (found["left_out", "pairs"], found["left_out", "consumers"]) == (5, 2)


def test_a_share_consumer_and_a_consumer_with_one_client_id_are_two_series(warehouse):
    found = served(warehouse)
    names = [("consumer_leader_local_seconds", 'app-0 "x"', kind, "0.5") for kind in ("consumer", "share")]

    assert [found[name] for name in names] == pytest.approx([0.005, 0.004], rel=0.0101)


def test_an_unsettled_window_is_not_served(tmp_path):
    gold_tables.fill(tmp_path, END)
    late = {"window_start": gold_tables.at(END), "culprit": "broker", "broker_id": 2, "is_settled": False}
    gold_tables.write(tmp_path, "broker_rtt_culprit", [late], mode="append")
    pair = {"follower_id": 1, "leader_id": 2, "method": "paired", "is_settled": False}
    gold_tables.write(tmp_path, "broker_rtt", [{"window_start": gold_tables.at(END)} | pair], mode="append")

    found = served(tmp_path, END + 10)

    assert (found["culprit", "broker"], found["gold_settled_timestamp_seconds",]) == (0, END)


def test_a_new_version_alone_is_read_again(tmp_path):
    gold_tables.fill(tmp_path, END)
    gold = gold_of(tmp_path)
    gold.refresh()
    gold_tables.write(tmp_path, "data_quality", [{"kind": "x", "node": "y", "lines_read": 1}])

    assert gold.refresh() == ["data_quality"]
    assert gold.refresh() == []


def test_a_table_that_cannot_be_read_keeps_its_rows_and_is_counted(tmp_path):
    gold_tables.fill(tmp_path, END)
    gold = gold_of(tmp_path)
    gold.refresh()
    before = values(gold)
    gold_tables.fill(tmp_path, END, quiet=1)
    for file in (tmp_path / "gold" / "broker_rtt").glob("*.parquet"):
        file.unlink()

    assert "broker_rtt" not in gold.refresh()
    assert gold.failures == 1
    after = values(gold)
    assert {key for key in before if key[0] == "pair_round_trip_seconds"} <= set(after)
    gold_tables.fill(tmp_path, END, quiet=2)
    assert "broker_rtt" in gold.refresh()


def test_only_the_newest_rows_are_in_memory(tmp_path):
    """Histograms of the newest minutes; of the rest only what tells which windows there are."""
    gold_tables.fill(tmp_path, END, quiet=200)
    gold = gold_of(tmp_path, fresh_s=60, events_span_s=30, span_s=20, remember_s=600)
    gold.refresh()

    count = "SELECT count(DISTINCT window_start) FROM {}.broker_rtt"
    windows = [gold._db.execute(count.format(reach)).fetchall()[0][0] for reach in ("latest", "remembered")]

    assert windows == [(60 + 20) / 10 + 1, (600 + 30) / 10 + 1]
    assert len(gold._db.sql("SELECT * FROM remembered.broker_rtt").fetchall()) == windows[1]
    assert "rtt_hist" not in gold._db.sql("SELECT * FROM remembered.broker_rtt").columns


def windows_of(starts):
    return [
        {"window_start": gold_tables.at(start), "culprit": "none", "is_settled": True} for start in starts
    ]


def kept_windows(gold):
    """Return the windows in memory, which have one row each, from the newest back."""
    rows = gold._db.execute("SELECT window_start FROM latest.broker_rtt_culprit ORDER BY ALL DESC").fetchall()
    return [(END - start) / 10 for (start,) in rows]


@pytest.fixture
def written(tmp_path):
    """Return gold with the six windows before END in four files; all but the oldest window are in reach."""
    for starts in ([END - 60, END - 50], [END - 40, END - 30], [END - 20], [END - 10]):
        gold_tables.write(tmp_path, "broker_rtt_culprit", windows_of(starts), mode="append")
    gold = gold_of(tmp_path, fresh_s=20, span_s=20)
    gold.refresh()
    assert kept_windows(gold) == [1, 2, 3, 4, 5]
    return tmp_path, gold


def test_after_a_commit_only_new_files_are_read(written, monkeypatch):
    root, gold = written
    read, sql_of = [], StoredTable.sql_of
    monkeypatch.setattr(StoredTable, "sql_of", lambda *args: (read.extend(args[1]), sql_of(*args))[1])
    gold_tables.write(root, "broker_rtt_culprit", windows_of([END, END + 10]), mode="append")

    assert gold.refresh() == ["broker_rtt_culprit"]
    assert len(read) == 1
    assert kept_windows(gold) == [-1, 0, 1, 2, 3]


def test_rows_of_a_file_that_was_replaced_are_gone(written):
    root, gold = written
    DeltaTable(root / "gold" / "broker_rtt_culprit").delete(f"window_start = {instant(END - 30)}")
    gold.refresh()

    assert kept_windows(gold) == [1, 2, 4, 5]


def test_without_the_newest_file_older_rows_are_in_reach_again(written):
    root, gold = written
    DeltaTable(root / "gold" / "broker_rtt_culprit").delete(f"window_start = {instant(END - 10)}")
    gold.refresh()

    assert kept_windows(gold) == [2, 3, 4, 5, 6]


def test_a_longer_history_is_read_whole(written):
    _, gold = written
    for until in (END - 30, END):
        gold.load(SecondsSpan(END - 20, until))

    assert kept_windows(gold) == [1, 2, 3, 4, 5, 6]


def instant(second):
    return f"arrow_cast('{gold_tables.at(second).isoformat()}', 'Timestamp(Microsecond, Some(\"UTC\"))')"


def test_a_table_that_is_missing_has_no_rows_until_it_is_there(tmp_path):
    gold_tables.fill(tmp_path, END)
    shutil.move(tmp_path / "gold" / "metadata_lookup", tmp_path / "moved")
    gold = gold_of(tmp_path)
    gold.refresh()
    assert (gold.versions["metadata_lookup"], values(gold)["metadata_bytes_per_second",]) == ("", 0)

    shutil.move(tmp_path / "moved", tmp_path / "gold" / "metadata_lookup")
    gold.refresh()

    assert values(gold)["metadata_bytes_per_second",] == 2_000


def test_nothing_to_measure_is_nan_and_a_count_of_it_is_none(tmp_path):
    gold_tables.fill(tmp_path, END)
    gold_tables.write(tmp_path, "leader_redirect", [])

    found = served(tmp_path)

    assert math.isnan(found["leader_redirect_seconds", "redirect", "1.0"])
    assert found["leader_redirects", "redirect"] == 0


def test_a_window_from_2099_changes_no_value(warehouse, tmp_path):
    shutil.copytree(warehouse, tmp_path, dirs_exist_ok=True)
    for name in ("fetch_latency", "broker_rtt"):
        [row] = DeltaTable(tmp_path / "gold" / name).to_pyarrow_table().slice(0, 1).to_pylist()
        row["window_start"] = datetime(2099, 1, 1, tzinfo=UTC)
        gold_tables.write(tmp_path, name, [row], mode="append")

    assert served(tmp_path) == served(warehouse)
