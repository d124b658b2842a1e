"""Maintenance while streams run: rows stay, old days go, no job fails, and a killed run can be repeated."""

import os
import time

from deltalake import DeltaTable

from benchmarks.faults import oracles
from conf.settings import Settings
from engine.delta import tables
from engine.delta.log_state import entry_file
from engine.gold.data_quality import rebuild_data_quality
from engine.ingest.positions import checkpoint_of
from engine.ingest.sources import LINES
from engine.streams.log import StreamLog
from engine.streams.writer_id import writer_id
from schemas.bronze import REQUEST_LOG
from schemas.gold.data_quality import DATA_QUALITY
from schemas.silver.not_kept import QUARANTINE, SKIPPED
from schemas.silver.requests import REQUESTS
from tests.engine.maintain.made_tables import HOUR_S, Tables, days_ago


def test_days_go_after_the_retention_of_each_layer_and_the_table_records_it(warehouse):
    for table in (REQUEST_LOG, REQUESTS, QUARANTINE):
        warehouse.append(table, *map(days_ago, (40, 31, 30, 8, 7, 0)), times=1)

    result = warehouse.maintain("--yes")

    assert result.exit_code == 0, result.stderr
    assert sorted(warehouse.days(REQUEST_LOG)) == [days_ago(7), days_ago(0)]
    for table in (REQUESTS, QUARANTINE):
        assert sorted(warehouse.days(table)) == [*map(days_ago, (30, 8, 7, 0))]
    assert warehouse.noted(REQUESTS) == f"{days_ago(30)}T00:00:00Z"
    assert warehouse.noted(REQUEST_LOG) == f"{days_ago(7)}T00:00:00Z"
    assert f"deleted rows from before {days_ago(30)}: 2 files" in result.stderr
    assert "4 quarantined lines from before" in result.stderr


def test_a_warehouse_can_have_any_name(spark, tmp_path, made):
    """delta-rs names the folder of a table by its URL."""
    odd = tmp_path / "it's [a] ware*house, ü"
    odd.mkdir()
    warehouse = Tables(spark, odd, made)
    warehouse.append(REQUESTS, *map(days_ago, (40, 5, 1, 0)))

    result = warehouse.maintain("--only", "silver.requests")

    assert result.exit_code == 0, result.stderr
    assert warehouse.files(REQUESTS) == {days_ago(5): 1, days_ago(1): 1, days_ago(0): 2}


def test_line_counts_balance_for_the_days_that_bronze_still_has(warehouse):
    """Bronze keeps a week, silver a month: the counts must show neither lost nor extra lines."""
    offset = 0
    for day in map(days_ago, (40, 20, 3)):
        for table in (REQUESTS, QUARANTINE, SKIPPED):
            offset += 1
            same = {"topic": "t", "partition": 0, "offset": offset, "position": f"p{offset}", "cluster": "c"}
            for one in (REQUEST_LOG, table):
                warehouse.append(one, day, times=1, lines=1, **same)
    assert warehouse.maintain("--yes").exit_code == 0

    rebuild_data_quality(warehouse.root)

    [counts] = tables.read(warehouse.spark, warehouse.root, DATA_QUALITY).collect()
    assert (counts.lines_read, counts.kept, counts.quarantined, counts.skipped) == (3, 1, 1, 1)
    assert counts.duplicates == 0
    assert counts.is_balanced
    assert len(warehouse.days(REQUESTS)) == len(warehouse.days(SKIPPED)) == 2


def test_zero_days_keep_everything(warehouse):
    warehouse.configure(bronze_days=0, silver_days=0)
    warehouse.append(REQUESTS, days_ago(4_000), times=1)

    assert warehouse.maintain().exit_code == 0
    assert warehouse.days(REQUESTS) == {days_ago(4_000): 1}
    assert warehouse.noted(REQUESTS) is None


def test_a_dry_run_prints_what_it_would_do_and_writes_nothing(warehouse):
    warehouse.append(REQUESTS, days_ago(40), days_ago(1))
    before = sorted(warehouse.root.rglob("*"))

    result = warehouse.maintain("--dry-run", "--only", "silver.requests")

    assert f"silver.requests: would delete rows from before {days_ago(31)}: 2 files" in result.stderr
    assert f"silver.requests: would merge {days_ago(1)}: 2 files" in result.stderr
    assert f"merge {days_ago(40)}" not in result.stderr
    assert [p for p in sorted(warehouse.root.rglob("*")) if "_maintenance" not in p.name] == before


def test_today_is_not_merged_until_there_are_many_files(warehouse):
    warehouse.configure(compact_from_files=4)
    warehouse.append(REQUESTS, days_ago(0), times=3)
    assert warehouse.maintain().exit_code == 0
    assert warehouse.files(REQUESTS) == {days_ago(0): 3}

    warehouse.append(REQUESTS, days_ago(0), times=1)

    assert warehouse.maintain().exit_code == 0
    assert warehouse.files(REQUESTS) == {days_ago(0): 1}
    assert warehouse.days(REQUESTS) == {days_ago(0): 4}


def test_uncommitted_files_go_once_they_are_old_and_never_before(warehouse):
    """Files of a running attempt are young; files of a killed attempt grow old."""
    warehouse.append(REQUESTS, days_ago(1))
    folder = warehouse.where(REQUESTS)
    for name, hours in (("killed", 200), ("running", 1)):
        for below in (
            f"logged_date={days_ago(1)}/part-0.parquet",
            "_temporary/0/_temporary/a/part-1.parquet",
        ):
            file = folder / f"{name}-1-abcd" / below
            file.parent.mkdir(parents=True)
            file.write_bytes(b"x" * 100)
            for one in (file, folder / f"{name}-1-abcd" / "_temporary"):
                if one.exists():
                    os.utime(one, (time.time() - hours * HOUR_S,) * 2)

    result = warehouse.maintain()

    assert "silver.requests: removed 2 files of 200 B, unused for 48 h" in result.stderr
    assert not (folder / "killed-1-abcd").exists()
    assert len([*(folder / "running-1-abcd").rglob("*.parquet")]) == 2
    assert oracles.bad_log(warehouse.root, [REQUESTS]) == []


def test_a_file_that_is_not_committed_yet_stays_if_the_clock_was_set_forward(warehouse):
    """The ingest has written it, the machine sleeps for ten days or NTP steps, and `maintain` comes first."""
    warehouse.append(REQUEST_LOG, days_ago(1))
    folder = warehouse.where(REQUEST_LOG)
    (folder / "running-1-abcd").mkdir()
    running, old = folder / "running-1-abcd" / "part-0.parquet", folder / "part-of-a-killed-batch.parquet"
    for file, days in ((running, 10), (old, 13)):
        file.write_bytes(b"x" * 100)
        for one in (file, *((folder / "_delta_log").iterdir() if file == running else ())):
            os.utime(one, (time.time() - days * 24 * HOUR_S,) * 2)

    result = warehouse.maintain("--only", "bronze.request_log")

    assert "removed 1 files of 100 B, unused for 288 h" in result.stderr
    assert running.exists()
    assert not old.exists()


def test_entries_of_the_log_stay_for_a_reader_if_the_clock_was_set_forward(warehouse):
    """A stopped build-gold has the list of files, and goes on with the checkpoint of that version."""
    log = warehouse.where(REQUEST_LOG) / "_delta_log"
    for day in (1, 0):
        warehouse.append(REQUEST_LOG, days_ago(day))
        assert warehouse.maintain("--only", "bronze.request_log").exit_code == 0
    entries = {file.name for file in log.glob("0*.*")}
    for file in log.iterdir():
        os.utime(file, (time.time() - 8 * 24 * HOUR_S,) * 2)

    warehouse.maintain("--only", "bronze.request_log")
    assert entries <= {file.name for file in log.iterdir()}

    warehouse.append(REQUEST_LOG, days_ago(0))
    assert "expired entries of the log" in warehouse.maintain("--only", "bronze.request_log").stderr


def test_days_of_an_unfinished_batch_stay_in_bronze(warehouse):
    """Silver may lack its lines, and the topic may have deleted them."""
    checkpoint = checkpoint_of(Settings.load(warehouse.conf), LINES)
    log, app_id = StreamLog(checkpoint), f"{LINES.name}-{writer_id(checkpoint)}"
    for batch, days in enumerate(([20, 9], [9, 0])):
        log.write_ends(batch, {("telemetry.request-log", 0): batch + 1})
        warehouse.append(REQUEST_LOG, *map(days_ago, days), times=1, txn=(app_id, batch))
    log.write_commit(0)

    result = warehouse.maintain("--only", "bronze")
    assert sorted(warehouse.days(REQUEST_LOG)) == [days_ago(9), days_ago(0)]
    assert f"rows from {days_ago(9)} on are kept, because the ingest has an unfinished batch" in result.stderr

    log.write_commit(1)
    assert "was begun" not in warehouse.maintain("--only", "bronze", "--yes").stderr
    assert sorted(warehouse.days(REQUEST_LOG)) == [days_ago(0)]


def test_nothing_is_deleted_when_the_log_no_longer_has_the_batch_in_flight(warehouse):
    checkpoint = checkpoint_of(Settings.load(warehouse.conf), LINES)
    log, app_id = StreamLog(checkpoint), f"{LINES.name}-{writer_id(checkpoint)}"
    log.write_ends(0, {("telemetry.request-log", 0): 1})
    warehouse.append(REQUEST_LOG, days_ago(20), times=1, txn=(app_id, 0))
    warehouse.append(REQUEST_LOG, days_ago(20), times=1)
    table = DeltaTable(str(warehouse.where(REQUEST_LOG)))
    table.create_checkpoint()
    entry_file(warehouse.where(REQUEST_LOG) / "_delta_log", table.version() - 1).unlink()

    result = warehouse.maintain("--only", "bronze")

    assert "nothing is deleted, because the ingest has an unfinished batch" in result.stderr
    assert list(warehouse.days(REQUEST_LOG)) == [days_ago(20)]
