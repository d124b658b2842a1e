"""What is served of known gold, and what is not."""

import math

import pytest

from conf.export import Export
from schemas.gold import GOLD
from serving.exporter.catalog import METRICS
from serving.exporter.samples import samples
from serving.exporter.tables import GoldError, GoldTables
from tests.serving.exporter import gold_tables
from tests.serving.exporter.gold_tables import SLOW_WINDOWS

END = 1_700_000_000


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory):
    root = tmp_path_factory.mktemp("warehouse")
    gold_tables.fill(root, END)
    return root


def served(root, moment=END, **limits):
    """Give the values by name and labels."""
    gold = GoldTables(root)
    gold.refresh(3_600)
    told = samples(gold, [moment], Export(**limits))
    return {(one.name.removeprefix("plumbline_"), *(v for k, v in one.labels if k != "cluster")): one.value
            for one in told}  # fmt: skip


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


def test_every_metric_is_in_the_catalogue_with_its_labels(warehouse):
    gold = GoldTables(warehouse)
    gold.refresh(3_600)

    told = {one.name: {name for name, _ in one.labels} for one in samples(gold, [END], Export())}

    assert told == {metric.name: set(metric.labels) for metric in METRICS}


def test_every_metric_comes_from_a_column_that_gold_has():
    columns = {f"{table.name}.{name}" for table in GOLD for name in table.schema.names}

    assert {metric.source for metric in METRICS} <= columns


def test_old_gold_is_not_served_but_its_age(warehouse):
    told = {name for name, *_ in served(warehouse, END + 301)}

    assert told == {
        *("gold_settled_timestamp_seconds", "brokers_expected", "brokers_reporting"),
        *("broker_last_seen_timestamp_seconds", "lines_read", "lines_quarantined", "quarantined_ratio"),
    }


def test_series_are_bounded_the_culprit_is_kept_and_the_rest_is_counted(warehouse):
    told = served(warehouse, pairs=1, clients=2)

    assert [key[1:] for key in told if key[0] == "link_slow"] == [("1", "3")]
    assert sorted({key[1] for key in told if key[0] == "consumer_leader_local_seconds"}) == [
        'app-1 "x"', 'app-2 "x"']  # fmt: skip
    assert (told["left_out", "pairs"], told["left_out", "consumers"]) == (5, 1)


def test_an_unsettled_window_is_not_served(tmp_path):
    gold_tables.fill(tmp_path, END)
    late = {"window_start": gold_tables.at(END), "culprit": "broker", "broker_id": 2, "is_settled": False}
    gold_tables.write(tmp_path, "broker_rtt_culprit", [late], mode="append")
    pair = {"follower_id": 1, "leader_id": 2, "method": "paired", "is_settled": False}
    gold_tables.write(tmp_path, "broker_rtt", [{"window_start": gold_tables.at(END)} | pair], mode="append")

    told = served(tmp_path, END + 10)

    assert (told["culprit", "broker"], told["gold_settled_timestamp_seconds",]) == (0, END)


def test_a_new_version_alone_is_read_again(tmp_path):
    gold_tables.fill(tmp_path, END)
    gold = GoldTables(tmp_path)
    gold.refresh(3_600)
    gold_tables.write(tmp_path, "data_quality", [{"kind": "x", "node": "y", "lines_read": 1}])

    assert gold.refresh(3_600) == ["data_quality"]
    assert gold.refresh(3_600) == []


def test_nothing_to_measure_is_nan_and_a_count_of_it_is_none(tmp_path):
    gold_tables.fill(tmp_path, END)
    gold_tables.write(tmp_path, "leader_redirect", [])

    told = served(tmp_path)

    assert math.isnan(told["leader_redirect_seconds", "redirect", "1.0"])
    assert told["leader_redirects", "redirect"] == 0


def test_without_gold_the_way_out_is_named(tmp_path):
    with pytest.raises(GoldError, match="plumbline build-gold"):
        GoldTables(tmp_path)
