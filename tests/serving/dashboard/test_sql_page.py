"""The statements of docs/sql.md, run as they are on the page."""

import re

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from answers.fetches.latency import fetches
from answers.gold.selection import GoldSelection
from conf.settings import PROJECT

PAGE = (PROJECT / "docs" / "sql.md").read_text(encoding="utf-8")
PYTHON = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
SQL = re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def named(made):
    names = {"WAREHOUSE": made}
    for block in PYTHON:
        exec(compile(block, "docs/sql.md", "exec"), names)  # noqa: S102 (our own page)
    yield names
    names["duck"].close()


def test_page_has_the_statements_that_are_tried():
    assert (len(PYTHON), len(SQL)) == (2, 3)


def test_duckdb_finds_who_was_slow(named):
    rows = named["duck"].sql(SQL[0]).to_arrow_table().to_pylist()

    assert [(row["culprit"], row["follower_id"], row["leader_id"]) for row in rows] == [("link", 3, 1)]


def test_duckdb_adds_histograms_up_as_the_dashboard_does(named, gold):
    ours = [row for row in fetches(GoldSelection(gold=gold, cluster="east")) if row["kind"] == "follower"]
    rows = named["duck"].sql(SQL[1]).to_arrow_table().to_pylist()

    found = {(row["follower_id"], row["leader_id"]): (row["n"], row["true_p99_ms"]) for row in rows}
    wanted = {(row["follower_id"], row["leader_id"]): (row["n"], row["true_p99_ms"]) for row in ours}
    assert found.keys() == wanted.keys()
    for pair, (n, p99_ms) in found.items():
        assert n == wanted[pair][0]
        assert p99_ms == pytest.approx(wanted[pair][1], rel=0.011)  # not held within the exact extremes


def test_delta_rs_answers_alone(named):
    rows = pa.table(named["rows"]).to_pylist()

    assert len(rows) == 12
    assert {row["quickest_ms"] for row in rows} == {1.0}


def test_spark_answers(spark, made):
    rows = spark.sql(SQL[2].replace("{WAREHOUSE}", str(made))).collect()

    assert len(rows) == 6
    assert max(row["slowest_ms"] for row in rows) == pytest.approx(21.89)


def test_gold_asks_no_more_of_a_reader_than_version_1(made):
    assert DeltaTable(made / "gold" / "broker_rtt").protocol().min_reader_version == 1
