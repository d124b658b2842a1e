"""Tables as they lie on disk: missing, older than today's columns, made anew, mapped."""

import shutil
from datetime import timedelta

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from dashboards.asked import DashboardRequest
from dashboards.columns import TABLES
from dashboards.filters import Filters
from dashboards.pages.all_pages import PAGES
from dashboards.warehouse import DashboardWarehouse, NoGoldError
from schemas.gold.broker_rtt import BROKER_RTT
from tests.dashboards import made_gold

DAY = timedelta(days=1)
COUNT = "SELECT count(*) AS n FROM gold.broker_rtt"


def test_every_column_that_is_declared_is_read(warehouse):
    for name, table in TABLES.items():
        rows = warehouse.rows(f"SELECT * FROM {name} LIMIT 1")  # noqa: S608 (our own names)
        if rows:
            assert set(rows[0]) == set(table.schema.names) - {
                "leader_local_delayed_hist",
                "true_delayed_hist",
            }


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.path)
def test_every_page_of_an_empty_warehouse_says_what_is_missing(page, tmp_path):
    made_gold.write(tmp_path, BROKER_RTT, [])
    asked = DashboardRequest(DashboardWarehouse(tmp_path, DAY), Filters(follower=1, leader=2))

    text = made_gold.text_of(page.make(asked))

    assert "verdict" in text
    assert "no data: " in text or page.path == "/pair"


def test_without_gold_it_is_told_how_to_fill_it(tmp_path):
    with pytest.raises(NoGoldError, match="plumbline build-gold"):
        DashboardWarehouse(tmp_path, DAY)


def test_a_new_version_is_read_and_an_old_one_is_not_read_again(tmp_path, monkeypatch):
    made_gold.write(tmp_path, BROKER_RTT, [made_gold.rtt(0, 1, 2)])
    warehouse = DashboardWarehouse(tmp_path, DAY)
    loads = []
    load = DashboardWarehouse._load
    monkeypatch.setattr(DashboardWarehouse, "_load", lambda self, *of: (loads.append(of[0]), load(self, *of)))
    first, version = [warehouse.rows(COUNT)[0]["n"] for _ in range(3)], warehouse.version()

    made_gold.write(tmp_path, BROKER_RTT, [made_gold.rtt(1, 1, 2)], mode="append")

    assert (first, warehouse.rows(COUNT)[0]["n"]) == ([1, 1, 1], 2)
    assert loads == ["gold.broker_rtt"] * 2
    assert warehouse.version() != version


def test_a_warehouse_that_was_made_anew_is_read_anew(tmp_path):
    """Its versions begin at 0 again."""
    made_gold.write(tmp_path, BROKER_RTT, [made_gold.rtt(nth, 1, 2) for nth in range(3)])
    warehouse = DashboardWarehouse(tmp_path, DAY)
    before = warehouse.rows(COUNT)[0]["n"]

    shutil.rmtree(tmp_path / "gold")
    gone = warehouse.rows(COUNT)[0]["n"]
    made_gold.write(tmp_path, BROKER_RTT, [made_gold.rtt(0, 1, 2)])

    assert (before, gone, warehouse.rows(COUNT)[0]["n"]) == (3, 0, 1)


def test_windows_behind_the_reach_are_not_read(tmp_path):
    made_gold.write(tmp_path, BROKER_RTT, [made_gold.rtt(nth, 1, 2) for nth in (0, 100, 400)])

    near = DashboardWarehouse(tmp_path, timedelta(hours=1)).rows(COUNT)[0]["n"]

    assert near == 2  # 400 windows are over an hour


def test_a_table_of_before_a_column_was_added_has_it_as_null(tmp_path):
    old = pa.table({"cluster": ["east"], "window_start": [made_gold.START], "n": pa.array([7], pa.int64())})
    write_deltalake(str(tmp_path / "gold" / "broker_rtt"), old)

    rows = DashboardWarehouse(tmp_path, DAY).rows("SELECT n, rtt_ms FROM gold.broker_rtt")

    assert rows == [{"n": 7, "rtt_ms": None}]


@pytest.mark.usefixtures("spark")
def test_a_table_whose_columns_are_mapped_is_read_and_not_as_null(spark, tmp_path):
    where = tmp_path / "gold" / "broker_rtt"
    made_gold.write(tmp_path, BROKER_RTT, [made_gold.rtt(0, 1, 2)])
    spark.sql(
        f"ALTER TABLE delta.`{where}` SET TBLPROPERTIES ('delta.minReaderVersion' = '2', "
        "'delta.minWriterVersion' = '5', 'delta.columnMapping.mode' = 'name')"
    )
    spark.sql(f"ALTER TABLE delta.`{where}` RENAME COLUMN rtt_ms TO was_ms")
    spark.sql(f"ALTER TABLE delta.`{where}` RENAME COLUMN was_ms TO rtt_ms")
    spark.read.format("delta").load(str(where)).write.format("delta").mode("append").save(str(where))

    rows = DashboardWarehouse(tmp_path, DAY).rows("SELECT rtt_ms, leader_id FROM gold.broker_rtt")

    assert rows == [{"rtt_ms": made_gold.rtt(0, 1, 2)["rtt_ms"], "leader_id": 2}] * 2
