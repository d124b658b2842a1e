"""Appends of Spark's files that delta-rs commits, as Spark, Delta and delta-rs read them."""

import json
import os
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta
from unittest.mock import Mock

import pytest
from delta.tables import DeltaTable as DeltaOfSpark
from deltalake import DeltaTable
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    DateType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from engine.delta import appends, commits, log_entries, tables
from schemas.fields import Table, column
from transforms.frames import frame_of

AT = datetime(2026, 11, 21, 12, 0, 0, 123456, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)

LINES = Table(
    layer="silver",
    name="lines",
    about="Lines of a test.",
    key=("n",),
    schema=StructType(
        [
            column("n", LongType(), "number"),
            column("at", TimestampType(), "instant"),
            column("seen", TimestampType(), "an instant that is mostly missing"),
            column("parts", ArrayType(StructType([StructField("id", LongType())])), "nested"),
            column("day", DateType(), "partition"),
            column("kind", StringType(), "partition"),
        ]
    ),
    partition_by=("day", "kind"),
)


def row(n, *, at=AT, kind="a", day=date(2026, 11, 21)):
    return (n, at, None, [(n,)], day, kind)


class LineTable:
    """One table and the two ways to read it."""

    def __init__(self, spark, root):
        """Create the table."""
        self.spark, self.root = spark, root
        tables.ensure(spark, root, LINES)
        self.where = root / "silver" / "lines"

    def append(self, *rows, app="app", version=0):
        """Append rows in at most two files."""
        frame = frame_of(self.spark, rows, LINES.schema).repartition(2)
        return commits.append(frame, self.where, LINES, txn_app_id=app, txn_version=version)

    def read(self):
        """Read the table with Spark."""
        return tables.read(self.spark, self.root, LINES)

    def numbers(self):
        """Return the numbers that Spark reads, and those that delta-rs reads."""
        by_spark = sorted(row.n for row in self.read().select("n").collect())
        return by_spark, sorted(DeltaTable(str(self.where)).to_pyarrow_table(columns=["n"])["n"].to_pylist())

    def folders(self):
        """Return the folders of attempts."""
        return sorted(path.name for path in self.where.iterdir() if path.name != "_delta_log")


@pytest.fixture
def site(spark, tmp_path):
    return LineTable(spark, tmp_path)


def test_spark_and_delta_rs_read_the_same_rows(site):
    kinds = ["a", "b/c=d e%f", None]
    site.append(*(row(n, kind=kind) for n, kind in enumerate(kinds)))

    assert site.numbers() == ([0, 1, 2], [0, 1, 2])
    rows = {found.n: found for found in site.read().collect()}
    assert [rows[n].kind for n in range(3)] == kinds
    assert rows[1].at.replace(tzinfo=UTC) == AT
    assert (rows[1].parts[0].id, rows[1].day) == (1, date(2026, 11, 21))


def test_the_same_version_writes_once(site):
    assert site.append(row(1), version=7)
    before = site.folders()

    assert not site.append(row(1), version=7)
    assert not site.append(row(2), version=6)
    assert site.append(row(1), app="other", version=7)
    assert site.numbers()[0] == [1, 1]
    assert site.folders()[: len(before)] == before


def test_appends_may_alternate_with_commits_of_delta_spark(site):
    site.append(row(1), version=1)
    frame = frame_of(site.spark, [row(2)], LINES.schema)
    tables.append(frame, site.root, LINES, txn_app_id="app", txn_version=2)
    tables.append(frame, site.root, LINES, txn_app_id="app", txn_version=1)
    site.append(row(2), version=2)
    site.append(row(3), version=3)

    assert site.numbers() == ([1, 2, 3], [1, 2, 3])
    DeltaOfSpark.forPath(site.spark, str(site.where)).optimize().executeCompaction()
    assert site.numbers() == ([1, 2, 3], [1, 2, 3])


def test_a_second_driver_on_one_checkpoint_cannot_write_a_batch_again(site, monkeypatch):
    """It read the log before the first driver committed, and commits after it."""
    added = log_entries.added

    def meanwhile(*arguments):
        monkeypatch.setattr(log_entries, "added", added)
        with ThreadPoolExecutor(1) as first:  # the cache of a log is per thread
            assert first.submit(site.append, row(1), version=1).result()
        return added(*arguments)

    monkeypatch.setattr(log_entries, "added", meanwhile)

    assert not site.append(row(1), version=1)
    assert site.numbers() == ([1], [1])


def test_a_failure_after_the_commit_removes_no_committed_file(site, monkeypatch):
    """For example the disk is full during the checkpoint: the batch is retried and exists once."""
    with monkeypatch.context() as full:
        no_space = OSError(28, "No space left on device")
        full.setattr(appends, "checkpoint_when_due", Mock(side_effect=no_space))
        with pytest.raises(OSError, match="No space left"):
            site.append(row(1))
    assert not site.append(row(1))

    assert site.numbers() == ([1], [1])


def test_files_of_a_killed_attempt_are_not_read(site, monkeypatch):
    with monkeypatch.context() as killed:
        killed.setattr(log_entries, "added", lambda *_args: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            site.append(row(1))
    assert len(site.folders()) == 1

    site.append(row(1))

    assert site.numbers() == ([1], [1])
    assert len(site.folders()) == 2


def test_readers_skip_files_by_exact_instants(site):
    site.append(row(1, at=AT))
    site.append(row(2, at=AT + timedelta(seconds=1)), version=1)

    actions = DeltaTable(str(site.where)).get_add_actions(flatten=True)
    assert sorted(actions["min.at"].to_pylist()) == [AT, AT + timedelta(seconds=1)]
    assert set(actions["null_count.seen"].to_pylist()) == {1}
    for instant, wanted in ((AT, [1]), (AT + MICROSECOND, []), (AT - MICROSECOND, [])):
        assert [found.n for found in site.read().filter(F.col("at") == F.lit(instant)).collect()] == wanted


def test_a_frame_with_other_columns_is_refused(site):
    frame = site.read().drop("seen")

    with pytest.raises(ValueError, match=r"silver\.lines has the schema struct<n:bigint,"):
        commits.append(frame, site.where, LINES, txn_app_id="app", txn_version=0)
    assert site.folders() == []


def test_nothing_to_write_is_still_a_version(site):
    site.append(version=3)

    assert DeltaTable(str(site.where)).transaction_version("app") == 3
    log = site.where / "_delta_log" / f"{1:020}.json"
    assert any("txn" in json.loads(line) for line in log.read_text().splitlines())


def checkpoints(site):
    """Return the versions that have a checkpoint."""
    return sorted(int(path.name[:20]) for path in (site.where / "_delta_log").glob("*.checkpoint.parquet"))


def test_a_checkpoint_is_written_when_it_is_due_and_again_when_it_failed(site, monkeypatch):
    DeltaTable(str(site.where)).alter.set_table_properties({"delta.checkpointInterval": "3"})  # version 1
    site.append(row(2), version=2)
    with monkeypatch.context() as full:
        full.setattr(DeltaTable, "create_checkpoint", lambda _log: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            site.append(row(3), version=3)
    assert not site.append(row(3), version=3)
    assert checkpoints(site) == []

    for n in range(4, 8):
        site.append(row(n), version=n)

    assert checkpoints(site) == [4, 7]
    assert site.numbers() == ([*range(2, 8)],) * 2


def test_of_many_checkpoints_the_newest_stay_and_one_in_four_hours(site):
    """Each contains the removed files of two days; those of a day would be larger than the table."""
    for n in range(1, 9):
        site.append(row(n), version=n)
        DeltaTable(str(site.where)).create_checkpoint()
        made = site.where / "_delta_log" / f"{n:020}.checkpoint.parquet"
        span = (n > 3) * log_entries.CHECKPOINT_KEPT_EVERY_S
        os.utime(made, (1e9 + span + n * log_entries.READ_WITHIN_S,) * 2)

    log_entries.thin_checkpoints(site.where)

    assert checkpoints(site) == [1, 4, 6, 7, 8]
    assert DeltaTable(str(site.where), version=5).to_pyarrow_table().num_rows == 5
    assert site.numbers() == ([*range(1, 9)],) * 2


def test_a_checkpoint_stays_for_ten_minutes_however_many_come_after_it(site):
    """A reader may have begun with it. Here `maintain` was run by hand, again and again."""
    for n in range(1, 9):
        site.append(row(n), version=n)
        DeltaTable(str(site.where)).create_checkpoint()
        made = site.where / "_delta_log" / f"{n:020}.checkpoint.parquet"
        os.utime(made, (1e9 + n * log_entries.READ_WITHIN_S / 6,) * 2)

    log_entries.thin_checkpoints(site.where)

    assert checkpoints(site) == [1, 3, 4, 5, 6, 7, 8]


def test_a_draft_of_a_checkpoint_and_a_torn_hint_stop_nothing(site):
    DeltaTable(str(site.where)).alter.set_table_properties({"delta.checkpointInterval": "3"})
    for n in (2, 3):
        site.append(row(n), version=n)
    vars(log_entries._held).clear()  # as in a new process
    log = site.where / "_delta_log"
    (log / f"{3:020}.checkpoint.parquet#1").write_bytes(b"PAR1")  # renamed once it is whole
    (log / "_last_checkpoint").write_bytes(b"{")

    site.append(row(4), version=4)

    assert site.numbers() == ([2, 3, 4], [2, 3, 4])
    assert checkpoints(site) == [3, 4]
