"""Gaps in bronze, and the positions of a query; that they are exact: tests/benchmarks/faults/test_gap.py."""

from unittest.mock import Mock

import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable, write_deltalake
from deltalake.transaction import Transaction

from conf.settings import Settings, WarehouseSettings
from engine.delta import commits, log_entries, tables
from engine.ingest import checkpoints
from engine.ingest.gaps import ends_in_bronze
from engine.ingest.losses import LostError, TopicRecreatedError, TruncatedError
from engine.ingest.positions import (
    accept_gaps,
    check_nothing_lost,
    checkpoint_of,
    finish_if_gone,
    writer_of_query,
)
from engine.ingest.sources import LINES, SCRAPES
from engine.streams.audit.findings import Writer, apply_repairs
from engine.streams.audit.ingest import repairs_of
from engine.streams.log import StreamLog
from engine.streams.note import note_written
from engine.streams.writer_id import writer_id
from schemas.bronze import METRICS, REQUEST_LOG
from schemas.silver.not_kept import GAPS
from schemas.silver.requests import REQUESTS
from tests.transforms.parse.raw_rows import raw
from tests.transforms.parse.records import COMPLETED

TOPIC, APP = "t.request-log", "ingest_request_log-x"
ID = "dKxJ3w_zS8-1b2c3d4e5fA"


@pytest.fixture
def bronze(tmp_path):
    where = tmp_path / "bronze"
    noted = CommitProperties(app_transactions=[Transaction(APP, 0)])
    write_deltalake(where, pa.table({"offset": [1, 2]}), commit_properties=noted)
    return where


@pytest.fixture
def writer(tmp_path, bronze):
    return Writer(
        query_name="ingest_request_log",
        checkpoint=tmp_path / "checkpoint",
        app_id=APP,
        bronze={TOPIC: bronze},
        tables=(bronze,),
    )


def test_a_gap_uses_its_batch_id_in_bronze_once_and_writes_no_row(bronze):
    for _ in range(2):
        commits.note_batch(bronze, txn_app_id=APP, txn_version=1)

    table = DeltaTable(str(bronze))
    assert (table.version(), table.transaction_version(APP), table.count()) == (1, 1, 2)


def test_a_query_without_a_batch_has_read_nothing(writer):
    assert ends_in_bronze(writer) == {}


@pytest.mark.parametrize(
    ("batches", "committed", "end"),
    [
        (1, 1, 10),  # batch 0 is in bronze and in the commit log
        (1, 0, 10),  # batch 0 is in bronze, so its lines are not lost, even if silver lacks it
        (2, 1, 10),  # batch 1 was begun, but it is not in bronze
        (2, 2, 20),  # a committed batch counts; the audit detects a bronze table that was set back
    ],
)
def test_lines_that_bronze_has_count_as_read(writer, batches, committed, end):
    log = StreamLog(writer.checkpoint)
    for batch in range(batches):
        log.write_ends(batch, {(TOPIC, 0): (batch + 1) * 10})
    for batch in range(committed):
        log.write_commit(batch)

    assert ends_in_bronze(writer) == {(TOPIC, 0): end}


class GapWarehouse:
    """A warehouse, checkpoints, and topics with one partition that has the offsets in `held`."""

    def __init__(self, spark, root, monkeypatch):
        """Start with topics that have all records."""
        self.spark = spark
        self.settings = Settings(
            warehouse=WarehouseSettings(root=str(root / "w"), checkpoints=str(root / "c"))
        )
        self.held, self.topic = {0: (0, 1_000)}, ""
        monkeypatch.setattr(checkpoints, "offsets_held", self.offsets_held)
        monkeypatch.setattr(checkpoints, "has_topic", lambda *_: False)
        self.id = ID
        monkeypatch.setattr(checkpoints, "topic_id", self.topic_id)

    def offsets_held(self, _telemetry, topic):
        """Return `held` for the topic of the query under test, all records for the others."""
        return self.held if topic == self.topic else {0: (0, 1_000)}

    def topic_id(self, _telemetry, topic, *_):
        """Return `id` for the topic of the query under test."""
        return self.id if topic == self.topic else ID

    def begun(self, query, *, began=0, end=None):
        """Write the files of a new query, and the begin of batch 0 if `end` is given."""
        self.log = StreamLog(checkpoint_of(self.settings, query))
        self.topic = next(iter(writer_of_query(self.settings, query).bronze))
        writer_id(self.log.folder)
        if began is not None:
            file = self.log.folder / "sources" / "0" / "0"
            file.parent.mkdir(parents=True)
            file.write_text(f'\x00v1\n{{"{self.topic}":{{"0":{began}}}}}')
        if end is not None:
            self.log.write_ends(0, {(self.topic, 0): end})

    def gaps(self):
        """Return the rows of `silver.gaps`."""
        rows = tables.read(self.spark, self.settings.warehouse_root, GAPS).collect()
        return [(row.topic, row.partition, row.first_offset, row.end_offset, row.batch_id) for row in rows]

    def reasons(self):
        """Return the reasons in `silver.gaps`."""
        rows = tables.read(self.spark, self.settings.warehouse_root, GAPS).collect()
        return {row.reason for row in rows}

    def break_off(self, monkeypatch, function):
        """Begin to accept the gaps, and end where a function would be called."""
        of = {"set_aside": "engine.ingest.gaps", "note_batch": "engine.delta.commits"}
        at = of.get(function, "engine.streams.log.StreamLog")
        with monkeypatch.context() as broken:
            broken.setattr(f"{at}.{function}", Mock(side_effect=KeyboardInterrupt))
            with pytest.raises(KeyboardInterrupt):
                accept_gaps(self.spark, self.settings, Mock())

    def accept(self):
        """Accept the gaps; afterwards nothing is lost."""
        accept_gaps(self.spark, self.settings, Mock())
        check_nothing_lost(self.settings)


@pytest.fixture
def site(spark, tmp_path, monkeypatch):
    return GapWarehouse(spark, tmp_path, monkeypatch)


@pytest.mark.parametrize("began", [0, None])
def test_a_first_batch_that_retention_passed_is_reported_and_its_gap_accepted(site, began):
    site.begun(SCRAPES, began=began, end=10)
    site.held = {0: (100, 1_000)}

    with pytest.raises(LostError, match="metrics partition 0: offsets 0 to 99;"):
        check_nothing_lost(site.settings)
    site.accept()

    assert site.gaps() == [(site.topic, 0, 0, 100, 0)]
    assert (site.log.ends(0), site.log.commits) == ({(site.topic, 0): 100}, [0])
    bronze = DeltaTable(tables.path(site.settings.warehouse_root, METRICS))
    assert bronze.transaction_version(writer_of_query(site.settings, SCRAPES).id) == 0


def test_a_stream_that_lost_its_first_offsets_before_its_first_batch_can_continue(site):
    """It stored its first offsets and stopped; its id is lost too, but it had written nothing."""
    site.begun(SCRAPES, began=40)
    (site.log.folder / "plumbline-writer-id").unlink()
    site.held = {0: (100, 1_000)}

    with pytest.raises(LostError, match="metrics partition 0: offsets 40 to 99;"):
        check_nothing_lost(site.settings)
    site.accept()

    assert site.gaps() == [(site.topic, 0, 40, 100, 0)]
    bronze = DeltaTable(tables.path(site.settings.warehouse_root, METRICS))
    assert bronze.transaction_version(writer_of_query(site.settings, SCRAPES).id) == 0


def test_a_later_partition_that_lost_its_first_offsets_is_reported_and_its_gap_accepted(site):
    site.begun(SCRAPES, end=10)
    site.log.write_commit(0)
    site.held = {0: (0, 1_000), 2: (50, 80)}

    with pytest.raises(LostError, match="metrics partition 2: offsets 0 to 49;"):
        check_nothing_lost(site.settings)
    site.accept()

    assert site.gaps() == [(site.topic, 2, 0, 50, 1)]
    assert site.log.ends(1) == {(site.topic, 0): 10, (site.topic, 2): 50}


@pytest.mark.parametrize("broke_off_at", ["set_aside", "write_ends", "note_batch", "write_commit"])
def test_an_accepted_first_batch_that_was_interrupted_is_recorded_once(site, monkeypatch, broke_off_at):
    """Only the batch's own file has its offsets; it is not set aside before the gap is recorded."""
    site.begun(SCRAPES, began=None, end=10)
    site.held = {0: (100, 1_000)}
    site.break_off(monkeypatch, broke_off_at)
    apply_repairs(repairs_of([writer_of_query(site.settings, SCRAPES)]), Mock())
    site.accept()

    assert site.gaps() == [(site.topic, 0, 0, 100, 0)]


@pytest.mark.parametrize(
    ("broke_off_at", "is_begun"),
    [
        ("set_aside", True),
        *(
            (function, is_begun)
            for function in ("write_ends", "note_batch", "write_commit")
            for is_begun in (True, False)
        ),
    ],
)
def test_an_accepted_later_batch_that_was_interrupted_is_recorded_once(
    site, monkeypatch, broke_off_at, is_begun
):
    """`silver.gaps` has the batch before the checkpoint does, and the audit of the next start allows it."""
    site.begun(SCRAPES, end=10)
    writer = writer_of_query(site.settings, SCRAPES)
    (site.log.folder / "metadata").write_text('{"id":"d4110d41-a810-4184-8eb7-6ddf0261c033"}')
    tables.make(site.settings.warehouse_root, METRICS)
    commits.note_batch(writer.tables[0], txn_app_id=writer.id, txn_version=0)
    site.log.write_commit(0)
    if is_begun:
        site.log.write_ends(1, {(site.topic, 0): 20})
    site.held = {0: (100, 1_000)}
    site.break_off(monkeypatch, broke_off_at)
    apply_repairs(repairs_of([writer]), Mock())
    site.accept()

    assert site.gaps() == [(site.topic, 0, 10, 100, 1)]
    assert site.log.ends(1) == {(site.topic, 0): 100}
    # Without the commit, Spark retries a batch that is empty.
    assert site.log.commits == ([0] if broke_off_at == "write_commit" else [0, 1])
    assert repairs_of([writer]) == []


def test_a_first_batch_that_bronze_has_and_the_topic_no_longer_is_finished_from_bronze(site):
    """Spark would retry the batch and fail at every start."""
    site.begun(LINES, end=1)
    root, writer = site.settings.warehouse_root, writer_of_query(site.settings, LINES)
    tables.ensure(site.spark, root, REQUEST_LOG)
    rows = [{"value": COMPLETED, "topic": site.topic, "partition": 0, "offset": 0}]
    line = raw(site.spark, rows, kind="request-log").select(*REQUEST_LOG.schema.names)
    tables.append(line, root, REQUEST_LOG, txn_app_id=writer.id, txn_version=0)
    site.held = {0: (100, 1_000)}
    finish_if_gone(site.spark, site.settings, LINES)

    silver = tables.read(site.spark, root, REQUESTS)
    assert (silver.count(), site.log.commits) == (1, [0])


@pytest.mark.parametrize("how", ["torn", "gone"])
def test_a_gap_whose_record_is_lost_is_recorded_again(site, how):
    site.begun(SCRAPES, end=10)
    site.held = {0: (100, 1_000)}
    site.accept()
    newest = max((site.settings.warehouse_root / "silver" / "gaps" / "_delta_log").glob("*.json"))
    newest.write_text("{") if how == "torn" else newest.unlink()
    vars(log_entries._held).clear()  # as in a new process

    apply_repairs(repairs_of([writer_of_query(site.settings, SCRAPES)]), Mock())
    assert (site.gaps(), site.log.commits) == ([], [])
    finish_if_gone(site.spark, site.settings, SCRAPES)

    assert (site.gaps(), site.log.commits) == ([(site.topic, 0, 0, 100, 0)], [0])
    assert repairs_of([writer_of_query(site.settings, SCRAPES)]) == []


def test_a_batch_with_offsets_that_had_no_record_is_recorded_again_if_silver_gaps_lost_them(site):
    """Bronze has the batch, so its rows show which offsets had a record, whatever the topic has now."""
    site.begun(LINES, end=4)
    root, writer = site.settings.warehouse_root, writer_of_query(site.settings, LINES)
    tables.ensure(site.spark, root, REQUEST_LOG)
    rows = [{"value": COMPLETED, "topic": site.topic, "partition": 0, "offset": at} for at in (0, 2)]
    lines = raw(site.spark, rows, kind="request-log").select(*REQUEST_LOG.schema.names)
    tables.append(lines, root, REQUEST_LOG, txn_app_id=writer.id, txn_version=0)
    note_written(site.log.folder, ["bronze.request_log", "silver.gaps"], 0)
    site.held = {0: (100, 1_000)}
    finish_if_gone(site.spark, site.settings, LINES)

    assert sorted(site.gaps()) == [(site.topic, 0, 1, 2, 0), (site.topic, 0, 3, 4, 0)]
    assert site.reasons() == {"compaction"}


@pytest.mark.parametrize(
    ("topic_id", "error", "reason", "partitions"),
    [
        ("AAxJ3w_zS8-1b2c3d4e5fA", TopicRecreatedError, "topic_recreation", [0, 1]),
        (None, TruncatedError, "unclean_leader_election", [1]),
    ],
)
def test_a_loss_after_which_ingest_cannot_continue_is_recorded_once(
    site, topic_id, error, reason, partitions
):
    """How many records were lost is unknown: the log that had them is gone."""
    site.held = {0: (0, 10), 1: (0, 20)}
    site.begun(SCRAPES)
    site.log.write_ends(0, {(site.topic, 0): 10, (site.topic, 1): 20})
    site.log.write_commit(0)
    check_nothing_lost(site.settings)
    site.id = topic_id or site.id
    site.held = {0: (0, 10), 1: (0, 12)}

    for _ in range(2):
        with pytest.raises(error):
            check_nothing_lost(site.settings)
        with pytest.raises(error):
            accept_gaps(site.spark, site.settings, Mock())

    read = {0: 10, 1: 20}
    assert sorted(site.gaps()) == [(site.topic, place, read[place], None, None) for place in partitions]
    assert site.reasons() == {reason}
