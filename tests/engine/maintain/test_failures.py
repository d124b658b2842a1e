"""Maintenance that is killed, locked out, or finds damage: one error line, and nothing lost."""

import shutil

import pytest
from deltalake.exceptions import DeltaError
from typer.testing import CliRunner

from benchmarks.faults import oracles
from engine.maintain.table import TableMaintenance
from engine.process.lease import MAINTENANCE, lease
from schemas.bronze import REQUEST_LOG
from schemas.gold.data_quality import DATA_QUALITY
from schemas.silver.requests import REQUESTS
from tests.engine.maintain.made_tables import app, days_ago

DELTA_OF_FULL_DISK = DeltaError("Generic LocalFileSystem error\n\nNo space left on device (os error 28)")


@pytest.mark.parametrize("point", ["optimize-begun:1+5", "optimize-committed", "retention-noted"])
def test_killed_anywhere_it_loses_nothing_and_can_be_repeated(warehouse, point):
    warehouse.append(REQUESTS, days_ago(40), days_ago(1), days_ago(0))

    killed = warehouse.maintain_elsewhere(fail_at=point)

    assert killed.returncode == -9, killed.stderr
    assert oracles.bad_log(warehouse.root, [REQUESTS]) == []
    assert warehouse.days(REQUESTS).items() >= {days_ago(1): 2, days_ago(0): 2}.items()
    assert warehouse.noted(REQUESTS) == f"{days_ago(30)}T00:00:00Z"
    if point == "retention-noted":
        assert warehouse.days(REQUESTS)[days_ago(40)] == 2
    again = warehouse.maintain_elsewhere()
    assert again.returncode == 0, again.stderr
    assert oracles.bad_log(warehouse.root, [REQUESTS]) == []
    assert warehouse.days(REQUESTS) == {days_ago(1): 2, days_ago(0): 2}
    assert warehouse.files(REQUESTS) == {days_ago(1): 1, days_ago(0): 2}


def test_two_runs_exclude_each_other(warehouse):
    with lease(warehouse.root, MAINTENANCE, timeout_s=1):
        result = warehouse.maintain()

    assert result.exit_code == 4
    assert "holds the maintenance lease of" in result.stderr


def test_it_maintains_the_tables_of_a_running_writer(warehouse):
    """delta-rs never overwrites a log entry, so two may commit to a table at the same time."""
    warehouse.append(REQUESTS, days_ago(1))

    with lease(warehouse.root, "silver", timeout_s=1):
        result = warehouse.maintain("--only", "silver.requests")

    assert result.exit_code == 0, result.stderr
    assert warehouse.files(REQUESTS) == {days_ago(1): 1}


def test_a_wrong_root_is_reported_and_not_created(warehouse):
    """The folder does not exist; it has no tables; the chosen table does not exist."""
    elsewhere = warehouse.root.parent / "elsewhere"
    warehouse.conf.write_text(f'[warehouse]\nroot = "{elsewhere}"\n')
    nowhere = warehouse.maintain()
    was_created = elsewhere.exists()
    elsewhere.mkdir()
    empty = warehouse.maintain("--dry-run")
    warehouse.configure()
    shutil.rmtree(warehouse.where(REQUESTS))
    gone = warehouse.maintain("--only", "silver.requests")

    wrong = f"at {elsewhere}, the [warehouse] root: correct the setting, or run the ingest first"
    assert [(result.exit_code, wrong in result.stderr) for result in (nowhere, empty)] == [(2, True)] * 2
    assert (was_created, list(elsewhere.iterdir())) == (False, [])
    assert (gone.exit_code, "no table silver.requests at" in gone.stderr) == (2, True)


@pytest.mark.parametrize(
    ("options", "settings", "message"),
    [
        (["--only", "silver.request"], {}, "no such table; known are bronze.request_log"),
        ([], {"vacuum_retention_hours": 0}, "vacuum_retention_hours = 0: must be at least 24"),
        ([], {"silver_days": -1}, "silver_days = -1: must be at least 0"),
    ],
)
def test_a_wrong_option_is_reported_in_one_line(tmp_path, options, settings, message):
    conf = tmp_path / "my.toml"
    lines = "".join(f"{key} = {value}\n" for key, value in settings.items())
    conf.write_text(f'[warehouse]\nroot = "{tmp_path}"\n[maintain]\n{lines}')

    result = CliRunner().invoke(app, ["--conf", str(conf), *options])

    assert result.exit_code == 2
    assert message in result.stderr


def test_a_table_that_cannot_be_read_does_not_stop_the_others(warehouse):
    warehouse.append(REQUESTS, days_ago(1))
    broken = warehouse.where(REQUEST_LOG) / "_delta_log" / f"{0:020}.json"
    broken.write_text("{")

    result = warehouse.maintain()

    assert result.exit_code == 1
    assert "bronze.request_log failed: " in result.stderr
    assert warehouse.files(REQUESTS) == {days_ago(1): 1}


def test_a_full_disk_is_named_and_does_not_stop_the_other_tables(warehouse, monkeypatch):
    """Unused files of another table may free space; delta-rs names the cause in its last line."""
    warehouse.append(REQUESTS, days_ago(1))
    compact = TableMaintenance.compact

    def full(one):
        if one._table is REQUEST_LOG:
            raise DELTA_OF_FULL_DISK
        compact(one)

    monkeypatch.setattr(TableMaintenance, "compact", full)
    result = warehouse.maintain()

    assert result.exit_code == 1
    assert f"bronze.request_log failed: the disk is full: {warehouse.root} (warehouse, " in result.stderr
    assert warehouse.files(REQUESTS) == {days_ago(1): 1}


def emptied(entry):
    """Truncate an entry to 0 bytes, as a power cut does."""
    entry.write_text("")


def lost(entry):
    """Remove an entry but keep its checksum file."""
    entry.rename(entry.with_suffix(".crc"))


@pytest.mark.parametrize("damage", [emptied, lost])
@pytest.mark.parametrize(
    ("table", "repair"), [(REQUEST_LOG, "plumbline ingest"), (DATA_QUALITY, "plumbline build-gold")]
)
def test_a_table_whose_log_is_damaged_is_left_to_its_writer(warehouse, table, repair, damage):
    """delta-rs would commit after the torn entry, which then could not be repaired."""
    warehouse.configure(bronze_days=0)
    warehouse.append(REQUESTS, days_ago(1))
    log = warehouse.where(table) / "_delta_log"
    if table is REQUEST_LOG:
        warehouse.append(table, days_ago(1), times=3)
    else:
        (log / f"{1:020}.json").write_text('{"commitInfo":{}}')
    newest = max(log.glob("*.json"))
    damage(newest)
    before = sorted(log.iterdir())

    result = warehouse.maintain()

    assert result.exit_code == 1
    assert f"{table.layer}.{table.name} failed: reading the log: {newest.with_suffix('')}" in result.stderr
    assert f"run `{repair}`" in result.stderr
    assert sorted(log.iterdir()) == before
    assert warehouse.files(REQUESTS) == {days_ago(1): 1}


def test_a_full_disk_is_reported_in_one_line(warehouse):
    holder = warehouse.root / "_maintenance.holder.json"
    holder.symlink_to("/dev/full")

    result = warehouse.maintain()

    assert not holder.is_symlink()
    assert (result.exit_code, result.stderr.count("\n")) == (6, 1)
    assert "maintain stopped: the disk is full: /" in result.stderr


def test_a_warehouse_that_is_a_file_is_reported_in_one_line(tmp_path):
    root, conf = tmp_path / "warehouse", tmp_path / "my.toml"
    root.touch()
    conf.write_text(f'[warehouse]\nroot = "{root}"\n')

    result = CliRunner().invoke(app, ["--conf", str(conf)])

    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert f"no table at {root}, the [warehouse] root" in result.stderr
