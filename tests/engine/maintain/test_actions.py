"""delta-rs merges files and deletes rows while other writers commit: what each reader finds afterwards."""

import json
import os
import subprocess
import sys
import time
from collections import Counter
from datetime import UTC, date, datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake
from deltalake.exceptions import CommitFailedError
from deltalake.transaction import AddAction, RemoveAction

from benchmarks.faults import oracles
from conf.settings import PROJECT
from engine.delta import log_entries, tables
from engine.delta.log_state import LAST_CHECKPOINT, REWRITING, VERSION_FILE
from engine.maintain import actions
from schemas.arrow import arrow_schema
from schemas.gold.data_quality import DATA_QUALITY
from schemas.gold.fetch_latency import FETCH_LATENCY
from schemas.silver.requests import REQUESTS
from tests.engine.delta.test_commit import LINES, LineTable, row

MIB = 1 << 20


@pytest.fixture
def lines(spark, tmp_path):
    return LineTable(spark, tmp_path)


def test_merged_files_hold_the_same_rows_for_every_reader(lines):
    kinds = ["a", "b/c=d e%f", None]
    for n in range(0, 9, 3):
        lines.append(*(row(n + k, kind=kind) for k, kind in enumerate(kinds)), version=n)
        lines.append(row(-n - 1, day=None), version=n + 1)
    before = {found.n: found for found in lines.read().collect()}
    log = DeltaTable(str(lines.where))

    for day in (date(2026, 11, 21), None):
        actions.compact(log, LINES, day, target_bytes=MIB)
        merged = Counter(file.day for file in actions.files_of(log, LINES))
        assert merged[None] == (1 if day is None else 3)

    assert {found.n: found for found in lines.read().collect()} == before
    assert lines.numbers()[0] == lines.numbers()[1] == [-7, -4, *range(-1, 9)]
    files = pa.table(log.get_add_actions(flatten=True)).to_pylist()
    assert {file["partition.kind"]: file["num_records"] for file in files if file["partition.day"]} == (
        dict.fromkeys(kinds, 3)
    )
    assert (log.protocol().min_reader_version, log.protocol().min_writer_version) == (1, 2)
    written = pq.read_metadata(lines.where / log.to_pyarrow_dataset().files[0])
    assert written.row_group(0).column(0).compression == "ZSTD"
    entry = (lines.where / "_delta_log" / f"{log.version():020}.json").read_text().splitlines()
    changes = [next(iter(json.loads(line).items())) for line in entry if "commitInfo" not in line]
    assert {action["dataChange"] for _, action in changes} == {False}


def test_instants_are_found_to_the_microsecond_in_merged_files(lines):
    """delta-rs truncates min and max in the log to milliseconds, as Delta does; readers must allow for it."""
    for n in range(2):
        lines.append(row(n, at=datetime(2026, 11, 21, 12, 0, 0, 123_456 + 400 * n, tzinfo=UTC)), version=n)

    actions.compact(DeltaTable(str(lines.where)), LINES, date(2026, 11, 21), target_bytes=MIB)

    at = datetime(2026, 11, 21, 12, 0, 0, 123_856, tzinfo=UTC)
    for condition, wanted in (("at =", [1]), ("at >=", [1]), ("at <", [0])):
        found = lines.read().filter(f"{condition} TIMESTAMP'{at.isoformat()}'").collect()
        assert [one.n for one in found] == wanted
    dataset = DeltaTable(str(lines.where)).to_pyarrow_dataset()
    assert dataset.to_table(filter=pc.field("at") >= at)["n"].to_pylist() == [1]


def test_old_entries_go_up_to_an_old_checkpoint_and_the_rest_stays_readable(lines):
    """The checksum files that Hadoop writes for entries of Delta Spark go with them."""
    entries = lines.where / "_delta_log"
    for n in range(6):
        lines.append(row(n), version=n)
        if n in {2, 4}:
            DeltaTable(str(lines.where)).create_checkpoint()
        (entries / f".{n:020}.json.crc").write_bytes(b"crc\x00")
    for file in entries.iterdir():
        match = VERSION_FILE.match(file.name)
        hours = 30 if match and int(match[1]) <= 4 else 1
        os.utime(file, (time.time() - hours * 3_600,) * 2)

    assert actions.tidy_log(DeltaTable(str(lines.where)), hours=48) == 0
    assert actions.tidy_log(DeltaTable(str(lines.where)), hours=24) == 3

    versions = sorted(int(file.stem) for file in entries.glob("*.json"))
    assert versions == [3, 4, 5, 6]
    assert sorted(int(file.name[1:21]) for file in entries.glob(".*.crc")) == [3, 4, 5]
    assert sorted(DeltaTable(str(lines.where), version=3).to_pyarrow_table()["n"].to_pylist()) == [0, 1, 2]
    assert lines.numbers()[0] == lines.numbers()[1] == [0, 1, 2, 3, 4, 5]


def test_a_log_whose_last_checkpoint_was_set_aside_is_tidied(lines):
    """The newest version has a checkpoint, so delta-rs does not write `_last_checkpoint` again."""
    lines.append(row(0), version=0)
    DeltaTable(str(lines.where)).create_checkpoint()
    (lines.where / "_delta_log" / LAST_CHECKPOINT).unlink()

    assert actions.tidy_log(DeltaTable(str(lines.where)), hours=24) == 0
    assert lines.numbers()[0] == [0]


def test_a_checkpoint_that_a_stream_removes_at_the_same_time_is_no_failure(lines):
    lines.append(row(0), version=0)
    gone = lines.where / "_delta_log" / f"{0:020}.checkpoint.parquet"
    gone.symlink_to(lines.where / "gone")  # it is in the listing, and its time cannot be read

    assert actions.tidy_log(DeltaTable(str(lines.where)), hours=24) == 0


@pytest.mark.parametrize(("kept_hours", "named"), [(48, 1), (200, 2)])
def test_the_log_has_removed_files_for_as_long_as_vacuum_keeps_them(lines, kept_hours, named):
    """By default a checkpoint would contain the removed files of a week, 160 bytes each."""
    for n in range(3):
        lines.append(row(n), version=n)
    log = DeltaTable(str(lines.where))
    for hours, path in zip((100, 1), log.file_uris()[:2], strict=True):
        at = int((time.time() - hours * 3_600) * 1_000)
        gone = RemoveAction(path.removeprefix(f"{lines.where}/"), data_change=True, deletion_timestamp=at)
        log_entries.commit(log, lines.where, [gone])
        log.update_incremental()

    actions.keep_named(log, kept_hours)
    log.create_checkpoint()

    checkpoint = max((lines.where / "_delta_log").glob("*.checkpoint.parquet"))
    assert sum(removed is not None for removed in pq.read_table(checkpoint)["remove"].to_pylist()) == named
    assert DeltaTable(str(lines.where)).metadata().configuration["delta.logRetentionDuration"] == (
        f"interval {kept_hours} hours"
    )


def test_rows_of_gold_are_deleted_by_window_to_the_microsecond(tmp_path):
    """Gold has no date partitions, so a file with old and new rows is rewritten."""
    midnight = datetime(2026, 10, 11, tzinfo=UTC)
    starts = [midnight - timedelta(microseconds=1), midnight, midnight + timedelta(days=1)]
    column = pa.array(starts, pa.timestamp("us", tz="UTC"))
    for rows in (column, column[1:]):
        write_deltalake(tmp_path, pa.table({"window_start": rows}), mode="append")
    log = DeltaTable(tmp_path)
    files = actions.files_of(log, FETCH_LATENCY)

    assert len(actions.outdated(files, FETCH_LATENCY, midnight.date())) == 1
    actions.delete_before(log, FETCH_LATENCY, midnight.date())
    assert Counter(log.to_pyarrow_table()["window_start"].to_pylist()) == dict.fromkeys(starts[1:], 2)
    assert actions.outdated(files, DATA_QUALITY, midnight.date()) == []


class AgedTable:
    """A table of an earlier release, whose log has checkpoints and entries of last week."""

    def __init__(self, root, table, properties=None):
        """Append twelve rows, four a day."""
        self.where = root / table.layer / table.name
        tables.make(root, table)
        log = DeltaTable(self.where)
        log.alter.set_table_properties(
            {"delta.enableExpiredLogCleanup": "true", log_entries.CHECKPOINT_INTERVAL: "5"}
            | (properties or {})
        )
        at = actions.instant_column(table) or "logged_at"
        midnight = datetime(2026, 1, 1, tzinfo=UTC)
        for nth in range(12):
            instant = midnight + timedelta(days=nth // 4)
            values = {at: instant, "logged_date": instant.date()}
            schema = pa.schema([field.with_nullable(True) for field in arrow_schema(table)])
            rows = pa.table([pa.array([values.get(f.name)], f.type) for f in schema], schema)
            tables.append_rows(rows, root, table, txn_app_id="ingest", txn_version=nth)
        for file in (self.where / "_delta_log").iterdir():
            os.utime(file, (time.time() - 7 * 24 * 3_600,) * 2)
        self.log = DeltaTable(self.where)

    def entries(self):
        """Return the versions that have an entry."""
        return [int(file.stem) for file in sorted((self.where / "_delta_log").glob("*.json"))]


def merge(log):
    """Merge the files of a day as the job does."""
    actions.keep_named(log, 48)
    actions.compact(log, REQUESTS, date(2026, 1, 1), target_bytes=MIB)


COMMITS = {
    "a merge": (REQUESTS, merge),
    "a property": (REQUESTS, lambda log: actions.keep_named(log, 100)),
    "days deleted": (REQUESTS, lambda log: actions.delete_before(log, REQUESTS, date(2026, 1, 2))),
    "rows deleted": (
        FETCH_LATENCY,
        lambda log: actions.delete_before(log, FETCH_LATENCY, date(2026, 1, 2)),
    ),
}


@pytest.mark.parametrize(("table", "commit"), COMMITS.values(), ids=COMMITS)
def test_no_commit_of_maintenance_removes_entries_of_the_log(tmp_path, table, commit):
    """delta-rs would, and does not know which of them a stopped stream still needs."""
    aged = AgedTable(tmp_path, table)
    before = aged.entries()

    commit(aged.log)

    assert aged.entries()[: len(before)] == before
    assert len(aged.entries()) > len(before)


def test_a_checkpoint_of_delta_rs_is_on_disk_when_the_marker_goes(tmp_path, monkeypatch):
    """Entries below it are removed later, and then nothing else has the rows."""
    aged, synced = AgedTable(tmp_path, REQUESTS, {log_entries.CHECKPOINT_INTERVAL: "1"}), []

    def sync(path):
        synced.append((path.name, (aged.where / REWRITING).exists()))

    monkeypatch.setattr(log_entries, "sync", sync)
    actions.compact(aged.log, REQUESTS, date(2026, 1, 1), target_bytes=MIB)

    newest = f"{aged.log.version():020}.checkpoint.parquet"
    assert (aged.where / "_delta_log" / newest).exists()
    assert (newest, True) in synced


APPENDER = """
import sys, time
from pathlib import Path
import pyarrow as pa, pyarrow.parquet as pq
from deltalake.transaction import Transaction
from engine.delta import appends, log_entries
from tests.engine.delta.test_commit import LINES

where, app, day, times = Path(sys.argv[1]), *sys.argv[2:]
for n in range(int(times)):
    attempt = where / f"{app}-{n}"
    file = attempt / f"day={day}" / "kind=a" / "part-0.parquet"
    file.parent.mkdir(parents=True)
    pq.write_table(pa.table({"n": pa.array([n], pa.int64())}), file)
    adds = list(log_entries.added(where, attempt, LINES))
    appends.append(where, adds, Transaction(app, n))
    time.sleep(0.02)  # a hundred times the rate of a stream
"""


def test_an_appender_and_maintenance_lose_none_of_each_other_s_rows(lines):
    """Both commit to the same day, with retention notes and deletes, at a higher rate than in production."""
    wanted, day, rounds = 100, date(2026, 11, 21), 0
    command = [sys.executable, "-c", APPENDER, str(lines.where)]
    appenders = [
        subprocess.Popen([*command, *arguments], cwd=PROJECT, stderr=subprocess.PIPE, text=True)
        for arguments in (("new", str(day), str(wanted)), ("old", "2026-01-01", "1000000"))
    ]
    try:
        while appenders[0].poll() is None:
            rounds += 1
            log = DeltaTable(str(lines.where))
            actions.delete_before(log, LINES, date(2026, 2, 1) + timedelta(days=rounds % 100))
            actions.compact(log, LINES, day, target_bytes=MIB)
            time.sleep(0.2)  # at ten times this rate an append runs out of attempts in one run of ten
        is_running = appenders[1].poll() is None
    finally:
        for appender in appenders:
            appender.terminate()
        errors = [appender.communicate()[1] for appender in appenders]

    assert is_running, errors
    assert appenders[0].returncode == 0, errors
    actions.delete_before(DeltaTable(str(lines.where)), LINES, day)
    assert lines.numbers() == (list(range(wanted)), list(range(wanted)))
    assert rounds > 3
    assert oracles.bad_log(lines.root, [LINES]) == []


def test_old_days_are_deleted_at_the_first_try_after_an_append_to_them(lines, monkeypatch):
    old, outdated = date(2026, 1, 1), actions.outdated
    lines.append(row(1, day=old))

    def meanwhile(*arguments):
        files = outdated(*arguments)
        assert lines.append(row(2, day=old), version=1)
        return files

    monkeypatch.setattr(actions, "outdated", meanwhile)
    monkeypatch.setattr(actions, "TRIES", 1)

    actions.delete_before(DeltaTable(str(lines.where)), LINES, date(2026, 2, 1))

    assert lines.numbers() == ([2], [2])


def test_rows_that_were_replaced_while_they_were_merged_do_not_come_back(tmp_path):
    """A guarantee of delta-rs for the windows of gold: the second commit is refused."""
    for n in range(3):
        write_deltalake(tmp_path, pa.table({"n": pa.array([n], pa.int64())}), mode="append")
    merging, replacing = DeltaTable(tmp_path), DeltaTable(tmp_path)
    [old] = [file["path"] for file in pa.table(replacing.get_add_actions(flatten=True)).to_pylist()[:1]]
    pq.write_table(pa.table({"n": pa.array([9], pa.int64())}), tmp_path / "new.parquet")
    new = AddAction("new.parquet", (tmp_path / "new.parquet").stat().st_size, {}, 0, True, '{"numRecords":1}')
    log_entries.commit(replacing, tmp_path, [new, RemoveAction(old, True, 0)])

    with pytest.raises(CommitFailedError):
        merging.optimize.compact(target_size=MIB)

    assert sorted(DeltaTable(tmp_path).to_pyarrow_table()["n"].to_pylist()) in ([0, 1, 9], [1, 2, 9])


def test_an_append_that_began_before_a_day_was_deleted_is_committed_after_it(lines, monkeypatch):
    lines.append(row(1, day=date(2026, 1, 1)))
    write = log_entries.added

    def meanwhile(*arguments):
        actions.delete_before(DeltaTable(str(lines.where)), LINES, date(2026, 2, 1))
        return write(*arguments)

    monkeypatch.setattr(log_entries, "added", meanwhile)

    assert lines.append(row(2), version=1)
    assert lines.numbers() == ([2], [2])
