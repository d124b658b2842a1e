"""Tables as they are on disk: missing, of an older version, recreated, with mapped columns, vacuumed."""

import shutil
import signal
import time
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyspark.sql import functions as F

from answers.fetches.slowest import slowest
from answers.gold.contents import edges
from answers.gold.edges import clusters_of
from answers.gold.reader import GoldReader, NoGoldError
from answers.gold.relations import FIRST, LAST, StoredTable
from answers.gold.selection import GoldSelection
from schemas.gold import GOLD
from schemas.gold.broker_rtt import BROKER_RTT
from schemas.gold.fetch_latency import FETCH_LATENCY
from schemas.silver.client_events import CLIENT_EVENTS
from schemas.silver.leadership_changes import LEADERSHIP_CHANGES
from schemas.silver.listeners import LISTENERS
from schemas.silver.requests import REQUESTS
from tests.answers import made_gold
from tests.answers.made_gold import SLOW, SLOW_FROM, at
from tests.answers.selected import selected

COUNT = "SELECT count(*) AS n FROM gold.broker_rtt"


def test_ctrl_c_ends_a_query(made):
    """If the main thread works for DuckDB, which is a draw, the query first runs to its end: 30 to 500 s."""
    old, begun_at = signal.signal(signal.SIGALRM, signal.default_int_handler), time.monotonic()
    try:
        for _ in range(5):
            signal.setitimer(signal.ITIMER_REAL, 0.5)
            with pytest.raises(KeyboardInterrupt):
                made.rows("SELECT sum(hash(range)) AS n FROM range(10000000000)")
    finally:
        signal.signal(signal.SIGALRM, old)
    assert time.monotonic() - begun_at < 20.0


def counted(gold):
    return gold.rows(COUNT)[0]["n"]


def test_every_declared_column_is_read(made):
    for table in GOLD:
        found = made.arrow(f"SELECT * FROM gold.{table.name}", {})  # noqa: S608 (our own names)
        assert found.column_names == table.schema.names


def test_without_gold_the_error_names_the_command_that_fills_it(tmp_path):
    with pytest.raises(NoGoldError, match="plumbline build-gold"):
        GoldReader.of_warehouse(tmp_path)


def test_a_missing_table_has_no_rows_and_all_columns(tmp_path):
    made_gold.write(tmp_path, BROKER_RTT, [made_gold.rtt(0, 1, 2)])
    gold = GoldReader.of_warehouse(tmp_path)

    missing = gold.arrow("SELECT * FROM gold.fetch_latency", {})

    assert (missing.num_rows, missing.column_names) == (0, FETCH_LATENCY.schema.names)
    assert (gold.has(FETCH_LATENCY), gold.has(BROKER_RTT)) == (False, True)


def test_a_new_version_is_read_and_rows_of_the_same_version_are_kept(tmp_path, monkeypatch):
    made_gold.write(tmp_path, BROKER_RTT, [made_gold.rtt(0, 1, 2)])
    gold, queries, fetched = GoldReader.of_warehouse(tmp_path), [], GoldReader.fetched
    monkeypatch.setattr(
        GoldReader, "fetched", lambda self, *query: (queries.append(query), fetched(self, *query))[1]
    )
    first, version = [counted(gold) for _ in range(3)], gold.version()

    made_gold.write(tmp_path, BROKER_RTT, [made_gold.rtt(1, 1, 2)], mode="append")

    assert (first, counted(gold)) == ([1, 1, 1], 2)
    assert len(queries) == 2
    assert gold.version() != version


def test_a_recreated_warehouse_is_read_again(tmp_path):
    """Its versions begin at 0 again."""
    made_gold.write(tmp_path, BROKER_RTT, [made_gold.rtt(nth, 1, 2) for nth in range(3)])
    gold = GoldReader.of_warehouse(tmp_path)
    before = counted(gold)

    shutil.rmtree(tmp_path / "gold")
    deleted = counted(gold)
    made_gold.write(tmp_path, BROKER_RTT, [made_gold.rtt(0, 1, 2)])

    assert (before, deleted, counted(gold)) == (3, 0, 1)


def test_a_recreated_warehouse_with_more_commits_is_read_again(tmp_path):
    made_gold.write(tmp_path, BROKER_RTT, [made_gold.rtt(nth, 1, 2) for nth in range(3)])
    gold = GoldReader.of_warehouse(tmp_path)
    before = counted(gold)

    shutil.rmtree(tmp_path / "gold")
    for nth in range(2):
        made_gold.write(tmp_path, BROKER_RTT, [made_gold.rtt(nth, 1, 2)], mode="append")

    assert (before, counted(gold)) == (3, 2)


def test_the_log_is_listed_once(tmp_path, monkeypatch):
    """After two days it has tens of thousands of entries."""
    made_gold.write(tmp_path, BROKER_RTT, [made_gold.rtt(0, 1, 2)])
    gold, listed, glob = GoldReader({"gold.broker_rtt": StoredTable(tmp_path, BROKER_RTT)}), [], Path.glob
    monkeypatch.setattr(Path, "glob", lambda *args: (listed.append(args), glob(*args))[1])

    counts = [counted(gold)]
    for nth in range(3):
        made_gold.write(tmp_path, BROKER_RTT, [made_gold.rtt(nth + 1, 1, 2)], mode="append")
        counts.append(counted(gold))

    assert counts == [1, 2, 3, 4]
    assert len(listed) == 1


def test_a_column_that_an_older_table_lacks_is_null(tmp_path):
    old = pa.table({"cluster": ["east"], "window_start": [made_gold.START], "n": pa.array([7], pa.int64())})
    write_deltalake(str(tmp_path / "gold" / "broker_rtt"), old)

    rows = GoldReader.of_warehouse(tmp_path).rows("SELECT n, rtt_ms FROM gold.broker_rtt")

    assert rows == [{"n": 7, "rtt_ms": None}]


def test_a_column_that_all_files_of_the_span_lack_is_null(tmp_path):
    where = str(tmp_path / "gold" / "broker_rtt")
    old = pa.table({"cluster": ["east"], "window_start": [at(0)], "n": pa.array([7], pa.int64())})
    write_deltalake(where, old)
    new = old.set_column(1, "window_start", pa.array([at(1)])).append_column("rtt_ms", pa.array([1.5]))
    write_deltalake(where, new, mode="append", schema_mode="merge")
    gold = GoldReader.of_warehouse(tmp_path)

    query = "SELECT n, rtt_ms FROM gold.broker_rtt WHERE window_start < $until ORDER BY window_start"

    assert gold.rows(query, {"until": at(1)}) == [{"n": 7, "rtt_ms": None}]
    assert [row["rtt_ms"] for row in gold.rows(query, {"until": at(2)})] == [None, 1.5]


def test_a_table_with_mapped_columns_is_read(spark, tmp_path):
    where = tmp_path / "gold" / "broker_rtt"
    made_gold.write(tmp_path, BROKER_RTT, [made_gold.rtt(0, 1, 2)])
    spark.sql(
        f"ALTER TABLE delta.`{where}` SET TBLPROPERTIES ('delta.minReaderVersion' = '2', "
        "'delta.minWriterVersion' = '5', 'delta.columnMapping.mode' = 'name')"
    )
    spark.sql(f"ALTER TABLE delta.`{where}` DROP COLUMN rtt_ms")
    spark.sql(f"ALTER TABLE delta.`{where}` ADD COLUMNS (rtt_ms DOUBLE)")  # its physical name is another
    rows = spark.read.format("delta").load(str(where)).withColumn("rtt_ms", F.lit(7.0))
    rows.write.format("delta").mode("append").save(str(where))

    found = GoldReader.of_warehouse(tmp_path).rows("SELECT rtt_ms, leader_id FROM gold.broker_rtt ORDER BY 1")

    assert found == [{"rtt_ms": None, "leader_id": 2}, {"rtt_ms": 7.0, "leader_id": 2}]


def test_instants_are_utc_in_every_zone(tmp_path, monkeypatch):
    made_gold.write(tmp_path, BROKER_RTT, [made_gold.rtt(0, 1, 2)])
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        row = GoldReader.of_warehouse(tmp_path).rows(
            "SELECT window_start, hour(window_start) h FROM gold.broker_rtt"
        )
    finally:
        monkeypatch.undo()
        time.tzset()

    assert [str(one["window_start"]) for one in row] == ["2026-11-21 11:00:00+00:00"]
    assert row[0]["h"] == 11


class VacuumedTable(StoredTable):
    """A table whose files are replaced and deleted between the read of its log and the read of its files."""

    vacuum = None

    def sql(self, since, until):
        """Return the names of the files, and then delete them, once."""
        text = super().sql(since, until)
        if self.vacuum:
            self.vacuum, vacuum = None, self.vacuum
            vacuum()
        return text


def test_files_that_vacuum_deletes_in_between_are_replaced_by_those_of_the_newest_version(tmp_path):
    made_gold.write(tmp_path, BROKER_RTT, [made_gold.rtt(0, 1, 2)])
    table = VacuumedTable(tmp_path, BROKER_RTT)

    def vacuum():
        made_gold.write(tmp_path, BROKER_RTT, [made_gold.rtt(nth, 1, 2) for nth in range(2)])
        delta = DeltaTable(tmp_path / "gold" / "broker_rtt")
        assert delta.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)

    table.vacuum = vacuum

    assert counted(GoldReader({"gold.broker_rtt": table})) == 2


def test_only_files_that_overlap_the_span_are_read(tmp_path):
    for nth in range(3):
        made_gold.write(tmp_path, BROKER_RTT, [made_gold.rtt(nth, 1, 2)], mode="append")
    table = StoredTable(tmp_path, BROKER_RTT)

    files = [table.sql(*span).count(".parquet") for span in ((FIRST, LAST), (at(1), at(2)), (at(9), LAST))]

    assert files == [3, 1, 0]


@pytest.mark.parametrize("table", [REQUESTS, CLIENT_EVENTS, LEADERSHIP_CHANGES], ids=lambda table: table.name)
def test_files_of_large_silver_tables_are_read_by_the_time_of_their_lines(tmp_path, table):
    rows = {
        REQUESTS: lambda nth: [made_gold.fetch_of(nth)[0]],
        CLIENT_EVENTS: lambda nth: made_gold.fetch_of(nth)[1],
        LEADERSHIP_CHANGES: lambda nth: [{"cluster": "east", "logged_at": at(SLOW_FROM + nth / 10)}],
    }
    for nth in (0, 600):
        made_gold.write(tmp_path, table, rows[table](nth), mode="append")
    stored, late = StoredTable(tmp_path, table), at(SLOW_FROM) + timedelta(seconds=300)

    files = [stored.sql(*span).count(".parquet") for span in ((FIRST, LAST), (FIRST, late), (late, LAST))]

    assert files == [2, 1, 1]


def test_without_the_log_of_the_follower_fetches_are_listed_by_leader_local(tmp_path):
    made_gold.write(tmp_path, BROKER_RTT, [made_gold.rtt(0, 1, 2)])
    made_gold.write(tmp_path, REQUESTS, [made_gold.fetch_of(nth)[0] for nth in range(3)])
    of = GoldSelection(gold=GoldReader.of_warehouse(tmp_path), cluster="east", since=at(0), until=at(60))

    rows = slowest(of, SLOW)

    assert [(row["correlation_id"], row["leader_local_ms"], row["true_ms"]) for row in rows] == [
        (2, 3.0, None),
        (1, 2.0, None),
        (0, 1.0, None),
    ]


@pytest.mark.parametrize(("listener", "shown"), [("PEER", 3), ("CLIENT", 0), (None, 3)])
def test_fetches_over_a_listener_of_clients_are_not_listed(tmp_path, listener, shown):
    served = [made_gold.fetch_of(nth)[0] for nth in range(3)]
    day = served[0]["logged_at"].date()
    roles = (("PEER", "follower"), ("CLIENT", "follower"), ("CLIENT", "client"))
    listed = [{"cluster": "east", "listener": name, "role": of, "logged_date": day} for name, of in roles]
    made_gold.write(tmp_path, BROKER_RTT, [made_gold.rtt(0, 1, 2)])
    made_gold.write(tmp_path, REQUESTS, [row | {"listener": listener} for row in served])
    made_gold.write(tmp_path, LISTENERS, listed)
    of = GoldSelection(gold=GoldReader.of_warehouse(tmp_path), cluster="east", since=at(0), until=at(60))

    assert len(slowest(of, SLOW)) == shown


def test_a_fetch_at_the_edge_of_the_span_has_the_lines_of_its_follower(tmp_path):
    served, events = made_gold.fetch_of(0)
    made_gold.write(tmp_path, BROKER_RTT, [made_gold.rtt(0, 1, 2)])
    made_gold.write(tmp_path, REQUESTS, [served, made_gold.fetch_of(5)[0]])
    made_gold.write(tmp_path, CLIENT_EVENTS, events)
    at_once = timedelta(milliseconds=1)
    of = GoldSelection(
        gold=GoldReader.of_warehouse(tmp_path),
        cluster="east",
        since=served["logged_at"],
        until=served["logged_at"] + at_once,
    )

    assert [row["true_ms"] for row in slowest(of, SLOW)] == [21.5]
    # Leader-local times are not compared with true times.
    later = replace(of, until=at(60))
    assert [(row["true_ms"], row["leader_local_ms"]) for row in slowest(later, SLOW)] == [
        (21.5, 1.0),
        (None, 6.0),
    ]


@pytest.mark.parametrize("table", [t for t in GOLD if "cluster" in t.schema.names], ids=lambda t: t.name)
def test_each_table_alone_gives_its_clusters_and_its_windows(table):
    gold = selected({table: [{"cluster": "c", "window_start": at(3)}]}).gold

    assert clusters_of(gold) == ["c"]
    if "window_start" in table.schema.names:
        assert edges(gold, "c") == {"cluster": "c", "oldest": at(3), "newest": at(3), "has_future": False}
