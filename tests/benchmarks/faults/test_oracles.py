"""Each oracle detects the fault that it is meant to detect."""

import hashlib
import json
import shutil
from dataclasses import replace
from datetime import date

import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable, write_deltalake
from deltalake.transaction import Transaction

from benchmarks.faults import oracles
from benchmarks.faults.site import Acked
from engine.delta import tables
from schemas.bronze import BRONZE, CLIENT_LOG, METRICS, PERF_TEST, REQUEST_LOG, STATE_CHANGE
from schemas.gold.data_quality import DATA_QUALITY
from schemas.gold.fetch_latency import FETCH_LATENCY
from schemas.silver.brokers import BROKERS
from schemas.silver.client_events import CLIENT_EVENTS
from schemas.silver.leadership_changes import LEADERSHIP_CHANGES
from schemas.silver.metrics import METRIC_SCRAPES
from schemas.silver.not_kept import QUARANTINE, SKIPPED
from schemas.silver.perf_test import RUNS
from schemas.silver.requests import REQUESTS
from transforms.frames import arrow_of

TOPIC = "t.request-log"
VALUES = [b"one", b"two", b"three", b"four"]
ALL = (REQUEST_LOG, CLIENT_LOG, REQUESTS, CLIENT_EVENTS, QUARANTINE, SKIPPED)


def record(offset):
    return {"topic": TOPIC, "partition": 0, "offset": offset, "position": f"p/{offset}"}


class WarehouseOfFour:
    """Four lines: two kept, one quarantined, one skipped."""

    def __init__(self, root):
        """Write all tables."""
        self.root = root
        self.ledger = [
            Acked(TOPIC, 0, n, f"p/{n}", hashlib.sha256(value).hexdigest()) for n, value in enumerate(VALUES)
        ]
        self.add(REQUEST_LOG, *(record(n) | {"value": value} for n, value in enumerate(VALUES)))
        self.add(REQUESTS, record(0), record(1))
        self.add(QUARANTINE, record(2) | {"kind": "request-log"})
        self.add(SKIPPED, {"kind": "request-log", "lines": 1})
        empty = {"topic": pa.string(), "partition": pa.int64(), "offset": pa.int64(), "position": pa.string()}
        value = {"value": pa.binary()}
        empties = [table for table in BRONZE if table != REQUEST_LOG]
        unheld = [table for tables in oracles.PARSED.values() for table in tables if table != REQUESTS]
        for table, more in (*((table, value) for table in empties), *((table, {}) for table in unheld)):
            write_deltalake(oracles.where(root, table), pa.schema(empty | more).empty_table())

    def add(self, table, *rows, version=0):
        """Append rows as one batch."""
        properties = CommitProperties(app_transactions=[Transaction("app", version)])
        path = oracles.where(self.root, table)
        path.mkdir(parents=True, exist_ok=True)
        write_deltalake(path, pa.Table.from_pylist(list(rows)), mode="append", commit_properties=properties)

    def wrong(self):
        """Return the failures of all oracles that need no twin."""
        return [
            *oracles.lost_or_doubled(self.root, self.ledger),
            *oracles.unbalanced(self.root),
            *oracles.bad_log(self.root, ALL),
        ]


@pytest.fixture
def warehouse(tmp_path):
    there = WarehouseOfFour(tmp_path / "warehouse")
    assert there.wrong() == []
    return there


def test_a_lost_record_is_found(warehouse):
    DeltaTable(str(oracles.where(warehouse.root, REQUEST_LOG))).delete("offset = 3")
    assert "request_log: 1 lost, first ('t.request-log', 0, 3)" in warehouse.wrong()


def test_an_empty_ledger_proves_nothing(warehouse):
    for table in (REQUEST_LOG, REQUESTS, QUARANTINE, SKIPPED):
        DeltaTable(str(oracles.where(warehouse.root, table))).delete()
    warehouse.ledger.clear()
    assert warehouse.wrong() == ["the ledger is empty"]


def test_an_unpublished_record_is_found(warehouse):
    warehouse.add(REQUEST_LOG, record(4) | {"value": b"five"}, version=1)
    assert "request_log: 1 made up, first ('t.request-log', 0, 4)" in warehouse.wrong()


def test_a_doubled_record_is_found(warehouse):
    warehouse.add(REQUEST_LOG, record(1) | {"value": VALUES[1]}, version=1)
    assert "request_log: 1 doubled, first ('t.request-log', 0, 1)" in warehouse.wrong()


def test_changed_bytes_are_found(warehouse):
    DeltaTable(str(oracles.where(warehouse.root, REQUEST_LOG))).update(
        predicate="offset = 0", updates={"value": "X'00'"}
    )
    assert "request_log: 1 with other bytes, first ('t.request-log', 0, 0)" in warehouse.wrong()


def test_a_position_that_was_not_published_is_found(warehouse):
    DeltaTable(str(oracles.where(warehouse.root, REQUEST_LOG))).update(
        predicate="offset = 2", updates={"position": "'p/1'"}
    )
    assert warehouse.wrong() == ["request_log: 1 with another position, first ('t.request-log', 0, 2)"]


def test_a_record_without_a_position_in_the_ledger_may_have_any(warehouse):
    warehouse.ledger[2] = replace(warehouse.ledger[2], position="")
    assert warehouse.wrong() == []


def test_a_line_that_silver_lacks_is_found(warehouse):
    DeltaTable(str(oracles.where(warehouse.root, REQUESTS))).delete("offset = 1")
    assert warehouse.wrong() == ["request-log: 4 read, 1 kept + 1 quarantined + 1 skipped = 3"]


@pytest.mark.parametrize(
    ("bronze", "kind", "silver"),
    [
        (STATE_CHANGE, "state-change", LEADERSHIP_CHANGES),
        (PERF_TEST, "perf-test", RUNS),
        (METRICS, "metrics", METRIC_SCRAPES),
    ],
    ids=["state-change", "perf-test", "metrics"],
)
def test_a_line_about_clients_that_silver_lacks_is_found(warehouse, bronze, kind, silver):
    for n in range(2):
        warehouse.add(bronze, record(n) | {"topic": f"t.{kind}", "value": VALUES[n]}, version=n)
    warehouse.add(silver, record(0) | {"topic": f"t.{kind}"})

    assert oracles.unbalanced(warehouse.root) == [f"{kind}: 2 read, 1 kept + 0 quarantined + 0 skipped = 1"]


def test_a_quarantined_line_of_a_scrape_does_not_count_as_a_line(warehouse):
    scrape = {"topic": "t.metrics", "partition": 0, "offset": 0, "position": "broker-1/scrape/1"}
    warehouse.add(METRICS, scrape | {"value": b"up 1\n}"})
    warehouse.add(METRIC_SCRAPES, scrape)
    warehouse.add(QUARANTINE, scrape | {"position": "broker-1/scrape/1#2", "kind": "metrics"}, version=1)

    assert oracles.unbalanced(warehouse.root) == []


def test_a_line_that_is_kept_and_quarantined_is_found(warehouse):
    warehouse.add(REQUESTS, record(2), version=1)
    assert any("1 lines in silver twice" in found for found in warehouse.wrong())


@pytest.mark.parametrize("table", [REQUESTS, QUARANTINE], ids=lambda table: table.name)
def test_a_line_of_silver_that_bronze_lacks_is_found_although_the_sums_are_right(warehouse, table):
    """Line 1 or 2 is missing, and silver has a line instead that was never read."""
    DeltaTable(str(oracles.where(warehouse.root, table))).delete("offset in (1, 2)")
    warehouse.add(table, record(99) | ({"kind": "request-log"} if table == QUARANTINE else {}), version=1)

    assert warehouse.wrong() == [
        "request-log: 1 lines in silver made up, first ('t.request-log', 0, 99)",
    ]


def test_a_second_copy_of_a_line_does_not_count_as_a_skipped_line(warehouse):
    """Bronze has line 0 twice and lacks line 3, so no line remains that could be skipped."""
    DeltaTable(str(oracles.where(warehouse.root, REQUEST_LOG))).delete("offset = 3")
    warehouse.add(REQUEST_LOG, record(0) | {"value": VALUES[0]}, version=1)

    assert oracles.unbalanced(warehouse.root) == [
        "request-log: 3 read, 2 kept + 1 quarantined + 1 skipped = 4"
    ]


def test_a_batch_that_was_committed_twice_is_found(warehouse):
    log = oracles.where(warehouse.root, REQUESTS) / "_delta_log"
    actions = [json.loads(line) for line in (log / f"{0:020}.json").read_text().splitlines()]
    repeated = [action for action in actions if "txn" in action or "commitInfo" in action]
    (log / f"{1:020}.json").write_text("\n".join(map(json.dumps, repeated)))
    assert "requests: ('app', 0) was committed 2 times" in warehouse.wrong()


def test_a_missing_version_is_found(warehouse):
    warehouse.add(SKIPPED, {"kind": "other", "lines": 1}, version=1)
    warehouse.add(SKIPPED, {"kind": "other", "lines": 1}, version=2)
    table = DeltaTable(str(oracles.where(warehouse.root, SKIPPED)))
    table.create_checkpoint()
    log = oracles.where(warehouse.root, SKIPPED) / "_delta_log"
    (log / f"{1:020}.json").unlink()
    assert "skipped: versions [0, 2] have a hole" in warehouse.wrong()
    assert oracles.bad_log(warehouse.root, [SKIPPED], is_tidied=True) == []


def test_a_missing_table_is_found(warehouse):
    shutil.rmtree(oracles.where(warehouse.root, SKIPPED))
    assert oracles.bad_log(warehouse.root, ALL) == ["skipped: there is no log"]


def test_a_torn_entry_that_no_reader_needs_is_found(warehouse):
    """It is below a checkpoint, so that the table can still be opened."""
    where = oracles.where(warehouse.root, REQUESTS)
    DeltaTable(where).create_checkpoint()
    entry = where / "_delta_log" / f"{0:020}.json"
    entry.write_bytes(entry.read_bytes()[:-20])

    (wrong,) = oracles.bad_log(warehouse.root, [REQUESTS])

    assert wrong.startswith("requests: version 0 of ")


@pytest.mark.parametrize("damage", ["gone", "torn", "other"])
def test_a_missing_or_incomplete_file_is_found(warehouse, damage):
    path = oracles.where(warehouse.root, REQUESTS)
    file = next(path.glob("*.parquet"))
    if damage == "gone":
        file.unlink()
    elif damage == "torn":
        file.write_bytes(file.read_bytes()[:50])
    else:
        shutil.copy(next(oracles.where(warehouse.root, QUARANTINE).glob("*.parquet")), file)

    assert any(file.name in found for found in oracles.bad_log(warehouse.root, ALL))


def test_a_row_that_differs_from_the_twin_s_is_found(tmp_path):
    ours, theirs = WarehouseOfFour(tmp_path / "ours"), WarehouseOfFour(tmp_path / "theirs")
    columns = [*oracles.RECORD, "position"]
    assert oracles.rows_that_differ(ours.root, theirs.root, REQUESTS, columns) == ""
    ours.add(REQUESTS, record(9), version=1)

    assert oracles.rows_that_differ(ours.root, theirs.root, REQUESTS, columns).startswith(
        "silver.requests: 0 rows missing, 1 too many, as"
    )


@pytest.mark.parametrize(
    ("table", "row", "column", "failure"),
    [
        (REQUESTS, record(9), "position", "1 rows missing, 1 too many"),
        (SKIPPED, {"kind": "client-log", "lines": 1}, "lines", "6 rows missing, 0 too many"),
        (FETCH_LATENCY, {"leader_id": 1, "n": 1}, "n", "1 rows missing, 1 too many"),
    ],
    ids=["silver", "skipped", "gold"],
)
def test_a_value_that_differs_from_the_twin_s_is_found(tmp_path, table, row, column, failure):
    ours, theirs = WarehouseOfFour(tmp_path / "ours"), WarehouseOfFour(tmp_path / "theirs")
    for side, more in ((ours, {}), (theirs, {column: type(row[column])(7)})):
        side.add(table, row | more, version=1)

    assert oracles.rows_that_differ(ours.root, theirs.root, table, list(row)).startswith(
        f"{table.layer}.{table.name}: {failure}, as"
    )


def test_two_empty_tables_prove_nothing_unless_they_may_be_empty(tmp_path):
    ours, theirs = WarehouseOfFour(tmp_path / "ours").root, WarehouseOfFour(tmp_path / "theirs").root
    columns = [*oracles.RECORD, "position"]

    assert oracles.rows_that_differ(ours, theirs, CLIENT_EVENTS, columns, may_be_empty=True) == ""
    assert oracles.rows_that_differ(ours, theirs, CLIENT_EVENTS, columns) == (
        "silver.client_events: no row in it, and none in the twin's"
    )


def test_every_table_is_compared_with_the_twin_s_and_only_named_tables_may_be_empty(monkeypatch):
    compared = {}

    def differs(_root, _twin, table, columns, **options):
        compared[table] = options["may_be_empty"]
        assert {*columns} == {*table.schema.names} - {"ingested_at", "batch_id", "first_at"}
        return ""

    monkeypatch.setattr(oracles, "rows_that_differ", differs)
    oracles.other_than_twin("ours", "theirs", [REQUESTS, METRICS], may_be_empty=[METRICS])

    assert compared == {REQUESTS: False, METRICS: True}


def test_rows_of_the_first_line_that_was_read_are_compared_by_their_key(tmp_path):
    """Which line was read first depends on the batches; the rack that it names does not."""
    row = {"cluster": "c", "broker_id": 1, "rack": "a", "logged_date": date(2026, 11, 21)}
    for name, more in (("ours", {}), ("later", {"position": "p/2"}), ("other", {"rack": "b"})):
        tables.make(tmp_path / name, BROKERS)
        rows = arrow_of([{"position": "p/1"} | row | more], BROKERS.schema)
        write_deltalake(oracles.where(tmp_path / name, BROKERS), rows, mode="append")

    assert oracles.other_than_twin(tmp_path / "ours", tmp_path / "later", [BROKERS]) == []
    assert oracles.other_than_twin(tmp_path / "ours", tmp_path / "other", [BROKERS])[0].startswith(
        "silver.brokers: 1 rows missing, 1 too many, as "
    )


def test_only_the_twin_may_have_rows_of_deleted_records(tmp_path):
    ours, theirs = WarehouseOfFour(tmp_path / "ours"), WarehouseOfFour(tmp_path / "theirs")
    theirs.add(REQUESTS, record(7), record(8), version=1)
    failures = [
        oracles.rows_that_differ(
            ours.root, theirs.root, REQUESTS, [*oracles.RECORD], gone={(TOPIC, 0, offset) for offset in gone}
        )
        for gone in ((7, 8), (7,))
    ]

    assert [line[:33] for line in failures] == ["", "silver.requests: 1 rows missing, "]


@pytest.mark.parametrize(
    ("books", "failures"),
    [
        ([True, True], []),
        ([True, False], ["gold.data_quality: 1 rows not balanced, first ('broker-1', 'log/1')"]),
        ([True, None], ["gold.data_quality: 1 rows not balanced, first ('broker-1', 'log/1')"]),
        ([], ["gold.data_quality: no row in it"]),
    ],
    ids=["balanced", "not", "unknown", "none"],
)
def test_an_unbalanced_row_of_data_quality_is_found(tmp_path, books, failures):
    columns = {"node": pa.string(), "source": pa.string(), "is_balanced": pa.bool_()}
    rows = [
        {"node": "broker-1", "source": f"log/{i}", "is_balanced": is_balanced}
        for i, is_balanced in enumerate(books)
    ]
    where = oracles.where(tmp_path, DATA_QUALITY)
    where.mkdir(parents=True)
    write_deltalake(where, pa.Table.from_pylist(rows, schema=pa.schema(columns)))

    assert oracles.unbalanced_books(tmp_path) == failures
