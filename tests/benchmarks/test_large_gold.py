"""Generated gold of a large cluster: its rows are those of the real tables, and the slow link is named."""

from dataclasses import replace

import pyarrow.compute as pc
import pytest
from deltalake import DeltaTable

from answers.gold.reader import GoldReader
from answers.slow_links.culprits import headline
from benchmarks.large_gold.cluster import LargeCluster
from benchmarks.large_gold.warehouse import LargeGold
from schemas.arrow import arrow_schema
from schemas.gold import GOLD
from schemas.gold.broker_rtt import BROKER_RTT
from schemas.gold.fetch_latency import FETCH_LATENCY
from schemas.gold.partition_skew import PARTITION_SKEW
from transforms.quantiles import Histograms
from transforms.spans import Span
from transforms.windows import HOUR_S

END = 1_700_003_600


@pytest.fixture(scope="module")
def cluster():
    """Return three brokers; a link is slow for 20 minutes before END."""
    return LargeCluster(brokers=3, moved_from=END - 7_200, slow_from=END - 1_200)


@pytest.fixture(scope="module")
def gold(cluster, tmp_path_factory):
    made = LargeGold(tmp_path_factory.mktemp("large"), cluster, END - HOUR_S)
    made.add_hour()
    return made


@pytest.fixture(scope="module")
def rows(gold):
    return {table: DeltaTable(gold.root / "gold" / table.name).to_pyarrow_table() for table in GOLD}


def test_every_table_has_rows_of_its_schema(rows):
    """A table that is in no page, or that no build makes, may be left out."""
    without = {table for table, found in rows.items() if not found.num_rows}

    assert {table.name for table in without if not table.lacks.keys() & {"build", "question"}} == set()
    for table, found in rows.items():
        assert found.schema.names == arrow_schema(table).names


def test_keys_are_unique(rows):
    for table, found in rows.items():
        key = list(table.key)
        assert found.select(key).group_by(key).aggregate([]).num_rows == found.num_rows, table.name


def test_each_pair_has_both_methods_in_each_window(rows):
    assert rows[BROKER_RTT].num_rows == 360 * 6 * 2


@pytest.mark.parametrize(
    ("table", "hist", "count"),
    [
        (BROKER_RTT, "rtt_hist", "n"),
        (FETCH_LATENCY, "total_hist", "n"),
        (FETCH_LATENCY, "leader_local_delayed_hist", "n_delayed"),
        (FETCH_LATENCY, "true_hist", "n_true"),
        (PARTITION_SKEW, "produce_hist", "produce_n"),
    ],
)
def test_histograms_add_up_to_their_counts(rows, table, hist, count):
    known = rows[table].filter(pc.is_valid(rows[table][hist]))

    assert known.num_rows > 1_000
    assert Histograms(known[hist]).n.tolist() == known[count].to_pylist()


def test_each_hour_is_a_file_with_the_ends_of_its_windows(gold):
    files = DeltaTable(gold.root / "gold" / "broker_rtt").get_add_actions(flatten=True)

    (first,), (last,) = (files[f"{end}.window_start"].to_pylist() for end in ("min", "max"))
    assert (first.timestamp(), last.timestamp()) == (END - HOUR_S, END - 10)


def test_the_slow_link_is_named_with_its_onset(gold):
    culprits = GoldReader.of_warehouse(gold.root).rows("SELECT * FROM gold.broker_rtt_culprit")

    # Times of the pair are multiplied: the median is 20 ms higher, p10 by less.
    assert headline(culprits).sentence == "Broker 3's link to broker 1 is slow by 16.7 ms since 22:53:20 UTC."


def test_the_same_seed_gives_the_same_rows(cluster):
    others = (replace(cluster, seed=seed) for seed in (1, 2))
    first, same, other = (each.rows(Span(END, END + 20))[BROKER_RTT] for each in (cluster, *others))

    assert first == same
    assert first != other


def test_new_windows_replace_the_unsettled_ones(cluster, tmp_path):
    gold = LargeGold(tmp_path, cluster, END)
    gold.extend(END + 70)
    gold.extend(END + 90)

    found = DeltaTable(tmp_path / "gold" / "broker_rtt").to_pyarrow_table()
    assert pc.count_distinct(found["window_start"]).as_py() == 15
    assert found.num_rows == 15 * 6 * 2
